"""safetensors' side of bench/checkpoint.ts: save_file of as many bytes, as users call it, and with fsync after it."""

import os
import time

import safetensors
from safetensors.numpy import save_file

from protocol import Seconds, numbers, serve


def save(sides, folder, fsync):
    noise = numbers(7, (max(sides) ** 2,))
    tensors = {f"tensor{i}": noise[: side * side].reshape(side, side).copy() for i, side in enumerate(sides)}
    path = os.path.join(folder, "original.safetensors")

    def run(times):
        took = 0.0
        for _ in range(times):
            start = time.perf_counter()
            save_file(tensors, path)
            if fsync:
                with open(path, "rb") as file:
                    os.fsync(file.fileno())
            took += time.perf_counter() - start
            os.remove(path)
            settled(folder)
        return Seconds(took)

    return run, float(sum(tensor.nbytes for tensor in tensors.values()))


def settled(folder):
    """Waits until the disk is done with what was removed."""
    directory = os.open(folder, os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)


serve(lambda: f"{safetensors.__version__}, save_file of NumPy arrays", {"save": save})
