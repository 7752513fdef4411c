"""What every Python peer of the bench shares: the line protocol and the numbers that stand for data.

One JSON object a line comes in, one goes out. Case functions take the case's parameters and give
(run, check): run(n) does the work n times and waits for the results; check is a number that the same work gives in
every implementation, or None. Where samples are asked for instead of times, run(index) gives the sample.
"""

import json
import os
import sys
import time

import numpy as np


class Seconds(float):
    """What a run gives that times itself: the seconds that count, instead of all it took."""


def numbers(seed, shape, scale=1.0):
    """Numbers in [-scale, scale) that depend on the seed and the position alone, the same in bench/engine/data.ts."""
    h = np.arange(int(np.prod(shape)), dtype=np.uint32) + np.uint32((seed * 0x9E3779B9) & 0xFFFFFFFF)
    h ^= h >> np.uint32(16)
    h *= np.uint32(0x21F0AAAD)
    h ^= h >> np.uint32(15)
    h *= np.uint32(0x735A2D97)
    h ^= h >> np.uint32(15)
    return ((h / 2**31 - 1) * scale).astype(np.float32).reshape(shape)


def mlp_numbers(sizes):
    """Weights and biases of each layer."""
    return [(numbers(i, (m, n), m**-0.5), np.zeros(n, np.float32)) for i, (m, n) in enumerate(zip(sizes, sizes[1:]))]


def mlp_batch(sizes, batch):
    return numbers(100, (batch, sizes[0])), numbers(101, (batch, sizes[-1]))


def serve(describe, cases):
    """Answers requests until the input ends. What libraries print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    run = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["do"] == "describe":
                reply = {"text": describe()}
            elif request["do"] == "setup":
                run = None
                run, check = cases[request["case"]](**request["params"])
                reply = {} if check is None else {"check": check}
            elif request["do"] == "sample":
                reply = {"sample": run(request["index"])}
            elif request["do"] == "drop":
                run, reply = None, {}
            else:
                start = time.perf_counter()
                result = run(request["steps"])
                took = time.perf_counter() - start
                reply = {"seconds": result if isinstance(result, Seconds) else took}
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), file=answers, flush=True)
