"""Time until one can start: imports and the command line's help, each in a fresh interpreter."""

import os
import resource
import subprocess
import sys
from pathlib import Path

# The names of sarlearn are imported when first asked for, so the bare import says little.
IMPORTS = [
    "import sklearn.linear_model",
    "import sarlearn",
    "from sarlearn import SAREMClassifier",
]


def import_seconds(statement: str) -> float:
    """CPU seconds of one import statement."""
    code = f"import time; t = time.process_time(); {statement}; print(time.process_time() - t)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def help_seconds() -> float:
    """CPU seconds of ``sarlearn --help``, interpreter and all."""
    command = Path(sys.executable).with_name("sarlearn")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([command, "--help"], capture_output=True, check=True, env=os.environ)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(rounds: int) -> list[dict]:
    """The best of several rounds, taken in turn so that a busy moment hits all alike."""
    what = {line: lambda line=line: import_seconds(line) for line in IMPORTS}
    what["sarlearn --help"] = help_seconds
    best: dict[str, float] = {}
    note: dict[str, str] = {}
    for _ in range(rounds):
        for name, once in what.items():
            try:
                best[name] = min(best.get(name, float("inf")), once())
            except (OSError, subprocess.CalledProcessError) as error:
                note[name] = f"failed: {type(error).__name__}"
    return [{"what": n, "cpu": best.get(n, ""), "note": note.get(n, "")} for n in what]
