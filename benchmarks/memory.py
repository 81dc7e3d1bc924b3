"""Memory of this process: what it holds now, and the most it held since."""

import ctypes
import re
import resource
import sys
from pathlib import Path


def memory_now() -> int:
    """Bytes in use; what was freed is given back and the high-water mark reset where possible."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
        return _status("VmRSS")
    except (OSError, AttributeError):
        return memory_peak()


def memory_peak() -> int:
    try:
        return _status("VmHWM")
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _status(field: str) -> int:
    text = Path("/proc/self/status").read_text()
    found = re.search(rf"^{field}:\s+(\d+) kB", text, flags=re.MULTILINE)
    assert found is not None
    return int(found.group(1)) * 1024
