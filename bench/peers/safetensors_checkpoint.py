"""safetensors' side of bench/checkpoint.ts."""

import safetensors
from safetensors.numpy import save_file

from protocol import serve
from saving import saving

serve(
    lambda: f"{safetensors.__version__}, save_file of NumPy arrays",
    saving(save_file, "original.safetensors"),
)
