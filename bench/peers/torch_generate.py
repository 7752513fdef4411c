"""Text from a small transformer by PyTorch, eager, with a cache of keys and values: what bench/supervised/generate.ts is
in ours.

The blocks have norms before their parts, as GPT-2 and nn.transformer. The cache is allocated once and written in place;
attention is torch's own fused kernel; samples are drawn at temperature 1 from all tokens.
"""

import torch
from torch import nn
from torch.nn import functional as F

from protocol import serve


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, cache, at):
        batch, time, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, time, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        keys, values = cache
        keys[:, :, at : at + time] = k
        values[:, :, at : at + time] = v
        seen = F.scaled_dot_product_attention(
            q, keys[:, :, : at + time], values[:, :, : at + time], is_causal=time > 1
        )
        x = x + self.out(seen.transpose(1, 2).reshape(batch, time, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Transformer(nn.Module):
    def __init__(self, layers, width, heads, vocabulary, context):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens, caches, at):
        x = self.tokens(tokens) + self.positions.weight[at : at + tokens.shape[1]]
        for block, cache in zip(self.blocks, caches):
            x = block(x, cache, at)
        return self.head(self.norm(x[:, -1]))


def generate(batch, layers, width, heads, vocabulary, prompt, length):
    torch.manual_seed(0)
    context = prompt + length
    model = Transformer(layers, width, heads, vocabulary, context).eval()
    start = torch.randint(0, vocabulary, (batch, prompt))

    @torch.inference_mode()
    def once():
        shape = (batch, heads, context, width // heads)
        caches = [(torch.zeros(shape), torch.zeros(shape)) for _ in range(layers)]
        tokens, made, at = start, [], 0
        for _ in range(length):
            logits = model(tokens, caches, at)
            at += tokens.shape[1]
            tokens = torch.multinomial(torch.softmax(logits, -1), 1)
            made.append(tokens)
        return torch.cat(made, 1)

    def run(steps):
        for _ in range(steps):
            once()

    run(1)
    return run, None


serve(lambda: f"{torch.__version__}, {torch.get_num_threads()} threads", {"generate": generate})
