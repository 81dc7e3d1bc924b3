"""The ``sarlearn`` command. Importing it costs next to nothing; each command imports its own."""

import errno
import gc
import os
import re
import shlex
import sys

# What messages of the library say, and what a command calls it.
_OPTIONS = {
    r"fit\([^()]*\b(\w+)=\.\.\.\)": r"--\1",
    r"\b(max_iter|class_prior)\b(?!_)": r"--\1",
    r"\bpropensity_features\b": "--propensity",
    r"\bsample_weight\b": "--weight",
    r"\bcheck some rows \(an audit\)": "check some rows ('sarlearn audit')",
    r"\buse SARClassifier\b": "use --method sar",
}


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 2 bad usage or data, 1 a fault of the program."""
    gc.set_threshold(100_000)  # imports make many objects and hardly any garbage
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and give the exit code; a problem is reported in one sentence."""
    try:
        import click

        from sarlearn.cli.app import app
    except ModuleNotFoundError as error:
        print(
            f"Error: the command line needs {error.name}: pip install click rich.",
            file=sys.stderr,
        )
        return 2
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a name may hold what the terminal cannot show
    try:
        arguments = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
        command = shlex.join(["sarlearn", *arguments])
        result = app.main(args=arguments, prog_name="sarlearn", standalone_mode=False, obj=command)
        return result if isinstance(result, int) else 0
    except click.exceptions.Abort:
        return _tell("stopped.", 130)
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx is not None else "sarlearn"
        message = error.format_message()
        ending = "" if message.endswith((".", "?", "!")) else "."
        return _tell(f"{message}{ending} See '{command} --help'.", 2)
    except click.ClickException as error:
        return _tell(error.format_message(), 2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ValueError, OSError, ImportError) as error:
        return _tell(_sentence(error), 2)
    except MemoryError:
        return _tell("there is not enough memory for this table; try fewer rows, or --batches.", 2)
    except Exception as error:
        if os.environ.get("SARLEARN_TRACEBACK"):
            raise
        fault = f"{type(error).__name__}: {error}"
        return _tell(
            f"the program failed ({' '.join(fault.split())[:300]}); set SARLEARN_TRACEBACK=1 to "
            "see where, and please report it.",
            1,
        )


def _sentence(error: Exception) -> str:
    """The message of an error on one line."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}."
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:  # files say it with their names
        return "There is no space left for standard output; what was written is incomplete."
    return " ".join(str(error).split()) or type(error).__name__


def _tell(sentence: str, code: int) -> int:
    print(f"Error: {in_command_words(sentence)}", file=sys.stderr)
    return code


def in_command_words(sentence: str) -> str:
    """A message of the library as a command would say it: options for parameters."""
    for pattern, words in _OPTIONS.items():
        sentence = re.sub(pattern, words, sentence)
    return re.sub(r"--\w+", lambda option: option.group().replace("_", "-"), sentence)
