"""Blocks of Python and of commands on the first pages run, in the order in which they stand.

Python blocks share their names, as in a notebook; all blocks share a folder, empty at first.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import sarlearn

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "docs" / "user_guide"
PAGES = [ROOT / "README.md", ROOT / "docs" / "start.md", GUIDE / "command_line.md"]
# Commands that set up a machine; the rest is run.
NOT_RUN = ("pip", "make", "git", "conda", "uv")


def blocks(text):
    """Kind and content of each fenced block of Python or of commands, and what it prints."""
    fence = re.compile(
        r"^```(python|console)\n(.*?)^```$\n?(?:\n((?:    [^\n]*\n)+))?", re.M | re.S
    )
    return [found.groups() for found in fence.finditer(text)]


def commands(block):
    """Each command of a console block, with the lines that it is said to print."""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append([line[2:], []])
        elif found and _goes_on(found[-1][0]) and not found[-1][1]:
            found[-1][0] += "\n" + line
        elif found:
            found[-1][1].append(line)
    return [(command, lines) for command, lines in found]


def _goes_on(command):
    try:
        shlex.split(command)
    except ValueError:  # a quote is open
        return True
    return command.endswith("\\")


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """Run a command in an empty folder, where ``sarlearn`` and ``python`` are those under test."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, call in (("sarlearn", f"{sys.executable} -m sarlearn"), ("python", sys.executable)):
        (programs / name).write_text(f'#!/bin/sh\nexec {call} "$@"\n')
        (programs / name).chmod(0o755)
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    source = str(Path(sarlearn.__file__).parents[1])
    env = {**os.environ, "PYTHONPATH": source, "PATH": f"{programs}:{os.environ['PATH']}"}

    def run(command):
        return subprocess.run(command, shell=True, capture_output=True, text=True, env=env)

    return run


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_all_blocks_run_in_the_order_in_which_they_stand(page, shell):
    found = blocks(page.read_text(encoding="utf-8"))
    assert {"python", "console"} <= {kind for kind, _, _ in found}
    names = {"__name__": "__main__"}
    for kind, content, shown in found:
        if kind == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(content, page.name, "exec"), names)
            if shown is not None:
                expected = [line.removeprefix("    ") for line in shown.splitlines()]
                assert printed.getvalue().splitlines() == expected
            continue
        for command, lines in commands(content):
            if shlex.split(command)[0] in NOT_RUN:
                continue
            done = shell(command)
            refused = bool(lines) and lines[0].startswith("Error: ")
            assert (done.returncode != 0) == refused, f"{command}\n{done.stderr}"
            if refused:
                assert done.stderr.splitlines()[-1] == lines[0]


def test_commands_over_several_lines_are_one_command():
    text = "$ python -c \"\nprint('a')\"\na\n$ sarlearn --help \\\n  -h\nUsage\n"
    assert commands(text) == [
        ("python -c \"\nprint('a')\"", ["a"]),
        ("sarlearn --help \\\n  -h", ["Usage"]),
    ]
