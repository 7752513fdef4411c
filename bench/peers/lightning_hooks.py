"""Lightning's side of bench/hooks.ts, on a CPU: what its trainer costs a batch by itself."""

import logging
import time
import warnings

import pytorch_lightning as lightning
import torch

from protocol import Seconds, serve

warnings.filterwarnings("ignore")
logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
torch.set_num_threads(2)


class Idle(lightning.LightningModule):
    """A step that does nothing. Optimization is left to it, so that Lightning does not even run an optimizer."""

    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.weight = torch.nn.Parameter(torch.zeros(1))

    def training_step(self, batch, index):
        pass

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class NoOp(lightning.Callback):
    def on_train_batch_end(self, trainer, module, outputs, batch, index):
        pass


class Timed(lightning.Callback):
    """From the first batch to the end of the last: without what starting and ending a fit takes."""

    def on_train_epoch_start(self, trainer, module):
        self.start = time.perf_counter()

    def on_train_epoch_end(self, trainer, module):
        self.took = time.perf_counter() - self.start


class Batches:
    """The same batch so many times, in no time."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __iter__(self):
        batch = torch.zeros(1)
        for _ in range(self.count):
            yield batch


def own_cost(callbacks):
    """Batches through its trainer with these many callbacks that do nothing, less the same steps in a bare loop."""

    def run(steps):
        timed, module = Timed(), Idle()
        trainer = lightning.Trainer(
            max_epochs=1,
            accelerator="cpu",
            devices=1,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            callbacks=[*(NoOp() for _ in range(callbacks)), timed],
        )
        trainer.fit(module, Batches(steps))
        start = time.perf_counter()
        for index, batch in enumerate(Batches(steps)):
            module.training_step(batch, index)
        return Seconds(timed.took - (time.perf_counter() - start))

    return run, None


serve(
    lambda: f"{lightning.__version__} with PyTorch {torch.__version__} on cpu, {torch.get_num_threads()} threads",
    {"own-cost": own_cost},
)
