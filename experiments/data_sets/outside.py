"""Data of other published studies: fifteen UCI sets."""

import io
from typing import NamedTuple

import numpy as np
from sklearn.utils import Bunch

from experiments.data_sets.files import DataFile, obtain

_PREPARED = (
    "https://raw.githubusercontent.com/TimoM99/PUBiasCalibration/"
    "ae378c1f764995aa1efb1c377cbabdcca76c37ff/data/datasets"
)


_SPAMBASE = DataFile(
    "spambase",
    "spambase.data",
    (
        "https://raw.githubusercontent.com/theengineeringworld/Python-data-science/"
        "9f743e9bf2293b657518463ef0d89b4645081f97/spambase.data",
    ),
    (("33624f324f5afc4697dae0d47f71a9d7b2012b57a127105b0299f68179a8f36a", 702_940),),
)


class _Table(NamedTuple):
    """A UCI set: checksum and size of its file, what is positive, and the code it has there."""

    sha256: str
    size: int
    negative: str
    positive: str
    code: int = 1


UCI = {
    "Abalone": _Table(
        "c9382bd055cd1f0a6744889b16c6d75d90cae914f6e86e2abc82f80087ffd626",
        208_051, "another number of rings", "9 rings", 8,
    ),
    "Banknote-authentication": _Table(
        "a44092ce44d8d6d6f746fbccd5c077e3f9918a4a923998b0c0729e5b76a49023",
        47_781, "genuine", "forged",
    ),
    "Breast-w": _Table(
        "d6aebcfff6d6ca6b8da2480f9ff5885ee3c7d4b07fb5669afa672372608563e2",
        70_965, "benign", "malignant",
    ),
    "Diabetes": _Table(
        "b82903410f5e8a6ff8f2e83636aa26ab23100fb2d7d4655ec724528da3a9a039",
        108_847, "tested negative", "tested positive",
    ),
    "Haberman": _Table(
        "ceb1048eee84daaa7808a57421fab6caa57129f2ba8b0c642dbc2bc9ac2b24de",
        16_300, "survived five years", "died within five years",
    ),
    "Heart-statlog": _Table(
        "c4084d37e9d85aa197ff8a1db4df33648d2cc9454444517b879b5c79c891bf5b",
        37_420, "absent", "present",
    ),
    "Ionosphere": _Table(
        "a4cf923357127fd8bdd88c9d06ff79b9283817d653ce44fa706c68c44ad5b355",
        101_420, "bad", "good",
    ),
    "Kc1": _Table(
        "9ff86541de623231a92b82f6399c16a05bef96881ed738decd0107949f792396",
        901_382, "no defects", "defects",
    ),
    "Semeion": _Table(
        "c5bc48e45c5ff687577ab46d0f76604930ecedb540df8c5e73c36cabc7b2a514",
        823_175, "another digit", "the most frequent digit", 2,
    ),
    "Sonar": _Table(
        "0c348b10db20d799b0f9c17c7c351acc3e585f995a8aa4f3784a17eea380b39e",
        87_312, "rock", "mine",
    ),
    "Vehicle": _Table(
        "c7b18ae36ce034e726835245199710c80e37b15b4a9f9a61e4d1c1ce4212f42e",
        303_231, "another vehicle", "bus", 0,
    ),
    "Waveform-5000": _Table(
        "6b2855002857f17236c7f99e36083d2d95330ccc4d1947d776cfe80cac90de0a",
        1_068_236, "another wave", "the first wave", 0,
    ),
    "Wdbc": _Table(
        "ab366b225ca42eafa08947d266063e5b08548f83c41d673a9d9af6f23308cb0b",
        339_543, "benign", "malignant",
    ),
    "Yeast": _Table(
        "dc5c1bf9e27fabf04cbfe8e30088e5a572b71e9b49e9bd9354be9447cc4dcec7",
        61_579, "elsewhere in the cell", "cytosolic", 0,
    ),
}  # fmt: skip


def load_uci(name: str, *, download_if_missing: bool = True) -> Bunch:
    """One of fourteen UCI sets as prepared for published studies of biased labels.

    The positive class is that of the studies (Teisseyre et al., ECAI 2023 and 2024; AISTATS 2025):
    the class coded 1 where there are two, otherwise the most frequent one. The files' own column
    ``BinClass`` is another choice, and is left out. ``X`` has the units of the prepared files:
    [0, 1] in most, standard deviations or raw in others.
    """
    if name not in UCI:
        raise ValueError(f"name must be one of {', '.join(UCI)}; got {name!r}.")
    table = UCI[name]
    file = DataFile(
        "uci", f"{name}.csv", (f"{_PREPARED}/{name}.csv",), ((table.sha256, table.size),)
    )
    names, values = _read(file, download_if_missing)
    columns = [column for column in names if column not in ("Class", "BinClass")]
    X = np.ascontiguousarray(values[:, [names.index(column) for column in columns]])
    y = (values[:, names.index("Class")] == table.code).astype(int)
    description = (
        f"{name}: {len(y):,} rows, {X.shape[1]} columns, P(y=1) = {y.mean():.3f}\n\n"
        f"Positive: {table.positive}; negative: {table.negative}.\n\n"
        "Source: UCI Machine Learning Repository, CC BY 4.0, as prepared by the authors of "
        "PUBiasCalibration (GitHub TimoM99/PUBiasCalibration, data/datasets, commit ae378c1f).\n"
    )
    return Bunch(
        X=X,
        y=y,
        feature_names=columns,
        target_names=[table.negative, table.positive],
        DESCR=description,
    )


def load_spambase() -> tuple[np.ndarray, np.ndarray]:
    """Columns of UCI's Spambase, 4,601 mails, and whether a mail is spam."""
    (content,) = obtain([_SPAMBASE], download=True)
    values = np.genfromtxt(io.BytesIO(content), delimiter=",")
    return values[:, :-1], values[:, -1] == 1


def _read(file: DataFile, download: bool) -> tuple[list[str], np.ndarray]:
    """The header and the numbers of a CSV file, after its checksum; an empty field is NaN."""
    (content,) = obtain([file], download=download)
    lines = content.decode("utf-8").splitlines()
    names = [name.strip('"') for name in lines[0].split(",")]
    values = np.genfromtxt(io.StringIO("\n".join(lines[1:])), delimiter=",", dtype=float)
    return names, values
