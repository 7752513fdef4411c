"""PyTorch's side of bench/engine.ts, in two threads."""

import torch

from protocol import mlp_batch, mlp_numbers, serve

torch.set_num_threads(2)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def adam(sizes, batch):
    """One Adam step of an MLP, waiting for the loss."""
    layers = []
    for w, b in mlp_numbers(sizes):
        linear = torch.nn.Linear(*w.shape)
        with torch.no_grad():
            linear.weight.copy_(torch.from_numpy(w.T.copy()))
            linear.bias.copy_(torch.from_numpy(b))
        layers += [linear, torch.nn.Tanh()]
    net = torch.nn.Sequential(*layers[:-1]).to(DEVICE)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    x, y = (torch.from_numpy(part).to(DEVICE) for part in mlp_batch(sizes, batch))

    def run(steps):
        for _ in range(steps):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(net(x), y)
            loss.backward()
            optimizer.step()
            last = loss.item()
        return last

    return run, run(10)


serve(
    lambda: f"{torch.__version__} on {DEVICE}, {torch.get_num_threads()} threads",
    {"adam": adam},
)
