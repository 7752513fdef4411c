"""What the peers of bench/checkpoint.ts share: tensors of as many bytes, saved again and again."""

import os
import time

from protocol import Seconds, numbers


def saving(write, file_name, tensor_of=lambda array: array):
    """The case `save`: `write(tensors, path)` as users call it, and with fsync after it where that is asked for."""

    def save(sides, folder, fsync):
        noise = numbers(7, (max(sides) ** 2,))
        arrays = {f"tensor{i}": noise[: side * side].reshape(side, side).copy() for i, side in enumerate(sides)}
        tensors = {name: tensor_of(array) for name, array in arrays.items()}
        path = os.path.join(folder, file_name)

        def run(times):
            took = 0.0
            for _ in range(times):
                start = time.perf_counter()
                write(tensors, path)
                if fsync:
                    sync(path)
                took += time.perf_counter() - start
                os.remove(path)
                # Until the disk is done with what was removed.
                sync(folder)
            return Seconds(took)

        return run, float(sum(array.nbytes for array in arrays.values()))

    return {"save": save}


def sync(path):
    opened = os.open(path, os.O_RDONLY)
    os.fsync(opened)
    os.close(opened)
