"""PyTorch's side of bench/parts.ts, in two threads on a CPU: training steps with AdamW, waiting for the loss."""

import torch

from protocol import numbers, serve

torch.set_num_threads(2)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def adamw(net, loss_of):
    net = net.to(DEVICE)
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-4, weight_decay=0.01)

    def run(steps):
        for _ in range(steps):
            optimizer.zero_grad()
            loss = loss_of(net)
            loss.backward()
            optimizer.step()
            loss.item()

    run(2)
    return run, None


def lstm(width, layers, length, batch):
    x, y = (torch.from_numpy(numbers(seed, (batch, length, width))).to(DEVICE) for seed in (0, 1))
    net = torch.nn.LSTM(width, width, layers, batch_first=True)
    return adamw(net, lambda net: torch.nn.functional.mse_loss(net(x)[0], y))


class Transformer(torch.nn.Module):
    def __init__(self, layers, width, heads, context, vocabulary):
        super().__init__()
        self.tokens = torch.nn.Embedding(vocabulary, width)
        self.positions = torch.nn.Embedding(context, width)
        block = torch.nn.TransformerEncoderLayer(
            width, heads, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.blocks = torch.nn.TransformerEncoder(block, layers, enable_nested_tensor=False)
        self.norm = torch.nn.LayerNorm(width)
        self.head = torch.nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        length = tokens.shape[1]
        x = self.tokens(tokens) + self.positions(torch.arange(length, device=tokens.device))
        mask = torch.nn.Transformer.generate_square_subsequent_mask(length, device=tokens.device)
        return self.head(self.norm(self.blocks(x, mask=mask, is_causal=True)))


def transformer(layers, width, heads, context, batch, vocabulary):
    tokens = (torch.arange(batch * context) * 31 % vocabulary).reshape(batch, context).to(DEVICE)
    net = Transformer(layers, width, heads, context, vocabulary)
    return adamw(net, lambda net: torch.nn.functional.cross_entropy(net(tokens).flatten(0, 1), tokens.flatten()))


def conv(size, channels, dense, classes, batch):
    layers, left = [], size
    for m, n in zip([1, *channels], channels):
        layers += [torch.nn.Conv2d(m, n, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2)]
        left = (left - 2) // 2
    layers += [torch.nn.Flatten(), torch.nn.Linear(left * left * channels[-1], dense), torch.nn.ReLU()]
    net = torch.nn.Sequential(*layers, torch.nn.Linear(dense, classes))
    x = torch.from_numpy(numbers(0, (batch, 1, size, size))).to(DEVICE)
    y = (torch.arange(batch) % classes).to(DEVICE)
    return adamw(net, lambda net: torch.nn.functional.cross_entropy(net(x), y))


serve(
    lambda: f"{torch.__version__} on {DEVICE}, {torch.get_num_threads()} threads",
    {"lstm": lstm, "transformer": transformer, "conv": conv},
)
