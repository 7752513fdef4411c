"""PyTorch's side of bench/supervised/whole-run.ts: a bare training loop over tensors in memory, and nothing beside it."""

import torch

from protocol import numbers, serve

torch.set_num_threads(2)


def trained(net, shape, images, held, epochs, batch):
    kept = images - held
    x = torch.from_numpy(numbers(0, (images, 64)))
    y = torch.floor(x[:, 0] * 5 + 5).long()[:kept]
    x = x.reshape(images, *shape)[:kept]
    start = {name: value.clone() for name, value in net.state_dict().items()}

    def run(steps):
        for _ in range(steps):
            net.load_state_dict(start)
            optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
            # Ours is timed after its first epoch.
            for _ in range(epochs - 1):
                order = torch.randperm(kept)
                for rows in order.split(batch):
                    optimizer.zero_grad()
                    loss = torch.nn.functional.cross_entropy(net(x[rows]), y[rows])
                    loss.backward()
                    optimizer.step()
            loss.item()

    run(1)
    return run, None


def mlp(images, held, size, classes, epochs, batch):
    nn = torch.nn
    net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, classes))
    return trained(net, (64,), images, held, epochs, batch)


def conv(images, held, size, classes, epochs, batch):
    nn = torch.nn
    net = nn.Sequential(
        nn.Conv2d(1, 16, 3), nn.ReLU(), nn.Conv2d(16, 32, 3), nn.ReLU(), nn.Flatten(),
        nn.Linear(32 * (size - 4) ** 2, 64), nn.ReLU(), nn.Linear(64, classes),
    )
    return trained(net, (1, size, size), images, held, epochs, batch)


serve(
    lambda: f"{torch.__version__} on cpu, {torch.get_num_threads()} threads",
    {"mlp": mlp, "conv": conv},
)
