"""PyTorch's side of bench/checkpoint.ts: torch.save of as many bytes, as users call it, and with fsync after it."""

import os
import time

import torch

from protocol import Seconds, numbers, serve


def save(sides, folder, fsync):
    noise = torch.from_numpy(numbers(7, (max(sides) ** 2,)))
    tensors = {f"tensor{i}": noise[: side * side].reshape(side, side).clone() for i, side in enumerate(sides)}
    path = os.path.join(folder, "torch.pt")

    def run(times):
        took = 0.0
        for _ in range(times):
            start = time.perf_counter()
            torch.save(tensors, path)
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


serve(lambda: f"{torch.__version__}, torch.save", {"save": save})
