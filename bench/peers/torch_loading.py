"""PyTorch's DataLoader, for bench/supervised.ts: rows in memory, and images on worker processes."""

import glob

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, TensorDataset

from protocol import numbers, serve


def memory(rows, width, batch):
    x = torch.from_numpy(numbers(0, (rows, width)))
    data = TensorDataset(x, torch.arange(rows) % 10)
    loader = DataLoader(data, batch_size=batch, shuffle=True)
    batches = iter(loader)

    def run(steps):
        nonlocal batches
        for _ in range(steps):
            if next(batches, None) is None:
                batches = iter(loader)
                next(batches)

    return run, float(x[: 100 * batch].double().sum())


class Images(Dataset):
    """As an ImageFolder with ToTensor, without its pipeline of functions."""

    def __init__(self, root):
        self.files = [(path, int(path.split("/")[-2])) for path in sorted(glob.glob(f"{root}/*/*.jpg"))]

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        path, label = self.files[index]
        with Image.open(path) as image:
            pixels = np.array(image.convert("RGB"))
        return torch.from_numpy(pixels).float().div_(255), label


def images(root, batch, workers):
    # Workers stay from epoch to epoch, as ours do.
    loader = DataLoader(Images(root), batch_size=batch, shuffle=True, num_workers=workers, persistent_workers=True)

    def run(_):
        total = 0.0
        for x, _y in loader:
            total += float(x[0, 0, 0, 0])
        assert total > 0

    return run, None


serve(lambda: f"{torch.__version__} on cpu", {"memory": memory, "images": images})
