"""SummaryWriter.add_scalar for every value, and a row of SQLite for every value: the other side of bench/logging.ts."""

import os
import shutil
import sqlite3
import time

import torch
from torch.utils.tensorboard import SummaryWriter

from protocol import Seconds, serve


def values(metrics, steps, folder):
    names = [f"train/metric{i}" for i in range(metrics)]

    def once():
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        start = time.perf_counter()
        writer = SummaryWriter(folder)
        database = sqlite3.connect(os.path.join(folder, "stats.db"))
        database.execute("create table metrics (name text, step integer, value real)")
        for step in range(1, steps + 1):
            rows = [(name, step, step / (i + 1)) for i, name in enumerate(names)]
            for name, at, value in rows:
                writer.add_scalar(name, value, at)
            database.executemany("insert into metrics values (?, ?, ?)", rows)
            if step % 100 == 0:
                database.commit()
        database.commit()
        writer.close()
        took = time.perf_counter() - start
        count = database.execute("select count(*) from metrics").fetchone()[0]
        database.close()
        return took, count

    _, count = once() if steps <= 200 else (0.0, metrics * steps)

    def run(times):
        return Seconds(sum(once()[0] for _ in range(times)))

    return run, float(count)


serve(lambda: f"{torch.__version__}, SummaryWriter and sqlite3", {"values": values})
