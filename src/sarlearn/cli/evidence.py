"""Options that bring more evidence than labels: audits, and a class prior from elsewhere."""

import re
from pathlib import Path

import numpy as np

from sarlearn.cli.common import check_columns
from sarlearn.tables.audits import parse_audited, read_answers
from sarlearn.tables.columns import as_frame, numbers
from sarlearn.tables.read import read_table


def audit_columns(audited: str | None, probability: str | None) -> list[str]:
    """Columns of the table that hold audits, and are not to be learned from."""
    if audited is None and probability is not None:
        raise ValueError("--audit-probability belongs to --audited.")
    if audited is None or is_file(audited):
        if probability is not None:
            raise ValueError(
                "--audit-probability is for --audited COLUMN; a file of 'sarlearn audit' has its "
                "own."
            )
        return []
    return [audited, *([probability] if probability else [])]


def is_file(audited: str) -> bool:
    return Path(audited).is_file()


def read_audits(
    audited: str | None, probability: str | None, frame, id_column: str | None
) -> dict[str, np.ndarray]:
    """What ``fit`` takes about audits: from a file, or from columns of the table."""
    if audited is None:
        return {}
    if is_file(audited):
        return read_answers(read_filled(audited, id_column), frame, id_column)
    check_audit_columns(frame, audited, probability)
    found = {"audited": parse_audited(frame[audited], audited)}
    if probability is not None:
        found["audit_probability"] = numbers(as_frame(frame), [probability])[:, 0]
    return found


def read_filled(audited: str, id_column: str | None):
    """A file of rows to check, with answers."""
    return read_table(audited, text_columns=[id_column] if id_column else [])


def check_audit_columns(frame, audited: str, probability: str | None) -> None:
    if Path(audited).suffix and audited not in list(frame.columns):
        raise ValueError(f"--audited {audited!r} is neither a file nor a column of the table.")
    check_columns(frame, "--audited", [audited])
    check_columns(frame, "--audit-probability", [probability])


def parse_class_prior(text: str | None):
    """``0.12``, ``0.08,0.15`` or ``0.12+-0.02`` as the learners take it."""
    if text is None:
        return None
    number = r"\s*(\d*\.?\d+(?:[eE][-+]?\d+)?)\s*"
    if match := re.fullmatch(number, text):
        return float(match[1])
    if match := re.fullmatch(number + "," + number, text):
        return float(match[1]), float(match[2])
    if match := re.fullmatch(number + r"(?:\+-|±)" + number, text):
        return {"mean": float(match[1]), "standard_error": float(match[2])}
    raise ValueError(
        f"--class-prior {text!r} is not understood; accepted are a share (0.12), bounds "
        "(0.08,0.15), or a mean and its standard error (0.12+-0.02)."
    )
