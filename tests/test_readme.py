"""The README's first example, run as written, prints what the README shows."""

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_first_example_prints_what_is_shown():
    text = README.read_text(encoding="utf-8")
    code, shown = re.search(r"```python\n(.*?)```\n\n((?:    [^\n]*\n)+)", text, re.S).groups()
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    expected = [line.removeprefix("    ") for line in shown.splitlines()]
    assert run.stdout.splitlines() == expected
