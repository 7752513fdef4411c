"""What W&B's own reader finds in `.wandb` files, as JSON. Made with wandb 0.31.0.

    python scripts/readers/wandb_files.py FILE [FILE...]    prints a list of records for each, as one line
    python scripts/readers/wandb_files.py                   does the same for each line of input: a JSON list of files

The reader is that of `wandb leet inspect --json` and `wandb sync`, which W&B has in a program of its own since the
Python package reads no files any more. Numbers that JSON does not have are texts: "NaN", "Infinity", "-Infinity".
"""

import json
import os
import subprocess
import sys

from wandb.util import get_core_path


def read(path):
    directory = os.path.dirname(os.path.dirname(os.path.abspath(path)))
    command = [get_core_path(), "leet", "inspect", "--no-observability", "--json", "--run-file", path, directory]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def answer(paths):
    print(json.dumps([read(path) for path in paths], allow_nan=False), flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        answer(sys.argv[1:])
    else:
        for line in sys.stdin:
            try:
                answer(json.loads(line))
            except Exception as error:
                print(json.dumps({"error": repr(error)}), flush=True)
