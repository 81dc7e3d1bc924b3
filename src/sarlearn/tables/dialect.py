"""How a text file is written: encoding, separator, decimal sign, and lines of unequal length."""

import codecs
import csv
import gzip
import io
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Lines that are looked at to find the decimal sign.
_LOOK = 500
_COMMA = re.compile(r"[+\-]?(?:\d+|\d{1,3}(?:[. ]\d{3})+),\d+")
_POINT = re.compile(r"[+\-]?\d*\.(?:\d{1,2}|\d{4,})")  # 1.234 may be a little or a thousand
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")
_EXCEL_LINE = re.compile(r"sep=(.)\s*", re.IGNORECASE)


@dataclass
class Source:
    """Where a table comes from: a file, or the bytes of standard input."""

    name: str
    path: Path | None = None
    data: bytes = b""

    def open(self):
        """Its bytes, unpacked."""
        if self.path is None:
            return io.BytesIO(self.data)
        packed = self.path.suffix.lower() == ".gz"
        return gzip.open(self.path, "rb") if packed else self.path.open("rb")

    @property
    def handle(self):
        """What a data frame library can read."""
        return str(self.path) if self.path is not None else io.BytesIO(self.data)


@dataclass
class Dialect:
    """How a text file is written, and what is worth saying about it."""

    header: list[str]
    separator: str
    decimal: str | None
    encoding: str
    skip: int = 0
    notes: list[str] = field(default_factory=list)


def find_dialect(
    source: Source,
    *,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> Dialect:
    """How a text file is written; what is given is not looked for."""
    notes: list[str] = []
    if encoding is None:
        encoding, note = _encoding_of(source)
        notes += note
    with io.TextIOWrapper(source.open(), encoding=encoding, newline="") as stream:
        lines = list(itertools.islice(stream, _LOOK))
    if not lines:
        raise ValueError(f"{source.name} is empty.")
    skip = 0
    if found := _EXCEL_LINE.fullmatch(lines[0].removeprefix("\ufeff")):
        separator, skip = separator or found[1], 1
        lines = lines[1:]
    if separator is None and (start := _title_lines(lines)):
        raise ValueError(
            f"{source.name}: the column names seem to stand in line {start + skip + 1}, below a "
            "title or remarks. Remove what stands above them; in a shell: "
            f"tail -n +{start + skip + 1} FILE"
        )
    separator = separator or _separator_of(lines[0] if lines else "")
    records = list(csv.reader(lines, delimiter=separator))
    header = [name.removeprefix("\ufeff") for name in records[0]] if records else []
    if any(_CONTROL.search(name) for name in header):
        raise ValueError(
            f"{source.name} holds bytes that are no text. If it is a table in another encoding, "
            "such as utf-16, name it with --encoding."
        )
    if not any(name.strip() for name in header):
        raise ValueError(f"{source.name} has no header line with column names.")
    if decimal is None and separator != ",":
        decimal = _decimal_of(records[1:])
    return Dialect(header, separator, decimal, encoding, skip, notes)


def _encoding_of(source: Source) -> tuple[str, list[str]]:
    """UTF-8, or what a byte order mark says; else the encoding of western Windows, with a note."""
    with source.open() as stream:
        start = stream.read(4)
        for mark, name in _BYTE_ORDER_MARKS:
            if start.startswith(mark):
                return name, []
        decoder = codecs.getincrementaldecoder("utf-8")()
        line = 1
        block = start
        while block:
            try:
                decoder.decode(block)
            except UnicodeDecodeError as error:
                line += block.count(b"\n", 0, error.start)
                break
            line += block.count(b"\n")
            block = stream.read(2**20)
        else:
            return "utf-8", []
    with source.open() as stream:
        try:
            for block in iter(lambda: stream.read(2**20), b""):
                block.decode("cp1252")
            name, spoken = "cp1252", "Windows-1252 (Latin-1)"
        except UnicodeDecodeError:
            name, spoken = "latin-1", "Latin-1"
    note = (
        f"{source.name} is not UTF-8 text (line {line}) and was read as {spoken}; name another "
        "encoding with --encoding if its letters come out wrong."
    )
    return name, [note]


def _title_lines(lines: list[str]) -> int:
    """How many lines without a separator stand above lines that all have the same number of them.

    0 where the first line has separators, or the others differ.
    """
    if _n_fields(lines[0] if lines else "") > 1:
        return 0
    for start, line in enumerate(lines):
        if (width := _n_fields(line)) > 1:
            below = [text for text in lines[start:] if text.strip()]
            alike = sum(_n_fields(text) == width for text in below)
            return start if width > 2 and alike >= max(2, 0.9 * len(below)) else 0
    return 0


def _n_fields(line: str) -> int:
    return len(next(csv.reader([line], delimiter=_separator_of(line)), []))


def _separator_of(line: str) -> str:
    counts = {mark: len(next(csv.reader([line], delimiter=mark), [])) for mark in ",;\t|"}
    return max(counts, key=lambda mark: counts[mark])  # the first, a comma, wins a tie


def _decimal_of(records: list[list[str]]) -> str | None:
    """A comma where cells show it and none shows a point; None where that cannot be told."""
    cells = [cell.strip() for record in records for cell in record]
    comma = any(map(_COMMA.fullmatch, cells))
    return "," if comma and not any(map(_POINT.fullmatch, cells)) else None


def lines_of(source: Source, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of each record after the header that is not empty."""
    with io.TextIOWrapper(source.open(), encoding=dialect.encoding, newline="") as stream:
        reader = csv.reader(stream, delimiter=dialect.separator)
        for _ in range(dialect.skip + 1):
            next(reader, None)
        first = reader.line_num + 1
        for record in reader:
            if record:
                yield first, record
            first = reader.line_num + 1


def ends_in_newline(source: Source) -> bool:
    """Whether the last line of a file is complete."""
    if source.path is None:
        return source.data.endswith((b"\n", b"\r"))
    if source.path.suffix.lower() == ".gz":
        last = b""
        with source.open() as stream:
            for block in iter(lambda: stream.read(2**20), b""):
                last = block[-2:]
        return last.endswith((b"\n", b"\r", b"\n\0"))
    with source.path.open("rb") as stream:
        stream.seek(max(source.path.stat().st_size - 2, 0))
        return stream.read().endswith((b"\n", b"\r", b"\n\0"))
