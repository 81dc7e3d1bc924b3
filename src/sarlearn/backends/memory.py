"""How much memory there is to work in."""

import contextlib
import math
import os
from pathlib import Path


def free_memory() -> float:
    """Bytes that this process may still take: of the machine, and of its container if that is less.

    Infinite where neither is known.
    """
    return max(min(_of_machine(), *map(_of_group, GROUPS)), 0.0)


# Folder, limit and use of a control group: version 2, then version 1.
GROUPS = [
    ("/sys/fs/cgroup", "memory.max", "memory.current"),
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
]


def _of_group(group: tuple[str, str, str]) -> float:
    folder, limit, used = group
    with contextlib.suppress(OSError, ValueError):  # no such group; "max" is no number
        left = int(Path(folder, limit).read_text()) - int(Path(folder, used).read_text())
        stat = dict(line.split() for line in Path(folder, "memory.stat").read_text().splitlines())
        return float(left + int(stat.get("inactive_file", 0)))  # files in the cache make way
    return math.inf


def _of_machine() -> float:
    with contextlib.suppress(OSError, IndexError, ValueError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        (line,) = [line for line in lines if line.startswith("MemAvailable:")]
        return 1024.0 * int(line.split()[1])
    with contextlib.suppress(AttributeError, ValueError, OSError):
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES"))
    return math.inf
