"""PyTorch's side of bench/checkpoint.ts."""

import torch

from protocol import serve
from saving import saving

serve(lambda: f"{torch.__version__}, torch.save", saving(torch.save, "torch.pt", torch.from_numpy))
