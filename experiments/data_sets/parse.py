"""From the upstream text to compact arrays, one function per data set.

Each gives a dictionary of arrays that is kept as it is in the cache:

``names``, ``is_categorical``
    the attributes in upstream's order;
``numbers``
    the numeric attributes as upstream has them, one column each;
``codes``, ``categories``, ``n_categories``
    the categorical attributes: column ``j`` of ``codes`` points into the ``j``-th run of
    ``categories``;
``y``
    1 for the positive class.
"""

import io
from collections.abc import Iterable, Sequence

import numpy as np
from sklearn.datasets import load_svmlight_file

Arrays = dict[str, np.ndarray]

BREAST_CANCER_ATTRIBUTES = [
    "clump_thickness",
    "uniformity_of_cell_size",
    "uniformity_of_cell_shape",
    "marginal_adhesion",
    "single_epithelial_cell_size",
    "bare_nuclei",
    "bland_chromatin",
    "normal_nucleoli",
    "mitoses",
]

MUSHROOM_ATTRIBUTES = [
    "cap-shape",
    "cap-surface",
    "cap-color",
    "bruises",
    "odor",
    "gill-attachment",
    "gill-spacing",
    "gill-size",
    "gill-color",
    "stalk-shape",
    "stalk-root",
    "stalk-surface-above-ring",
    "stalk-surface-below-ring",
    "stalk-color-above-ring",
    "stalk-color-below-ring",
    "veil-type",
    "veil-color",
    "ring-number",
    "ring-type",
    "spore-print-color",
    "population",
    "habitat",
]

ADULT_ATTRIBUTES = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
]
ADULT_NUMERIC = {
    "age",
    "fnlwgt",
    "education-num",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
}

COVTYPE_NUMERIC = [
    "Elevation",
    "Aspect",
    "Slope",
    "Horizontal_Distance_To_Hydrology",
    "Vertical_Distance_To_Hydrology",
    "Horizontal_Distance_To_Roadways",
    "Hillshade_9am",
    "Hillshade_Noon",
    "Hillshade_3pm",
    "Horizontal_Distance_To_Fire_Points",
]
COVTYPE_BINARY = [f"Wilderness_Area_{i}" for i in range(1, 5)]
COVTYPE_BINARY += [f"Soil_Type_{i}" for i in range(1, 41)]

IJCNN_ATTRIBUTES = [f"x{i}" for i in range(1, 23)]
IJCNN_N_BINARY = 10


def parse_breast_cancer(contents: Sequence[bytes]) -> Arrays:
    """Without the id and the 16 rows that lack "bare nuclei"; malignant (4) is positive."""
    rows = [row for row in _rows(contents[0], ",") if "?" not in row]
    table = np.array(rows, dtype=np.int64)
    return _arrays(BREAST_CANCER_ATTRIBUTES, table[:, 1:-1].astype(np.int8).T, table[:, -1] == 4)


def parse_mushroom(contents: Sequence[bytes]) -> Arrays:
    """Without the constant "veil-type"; ``?`` is a value like any other; poisonous is positive."""
    table = np.array(_rows(contents[0], ","))
    columns = dict(zip(MUSHROOM_ATTRIBUTES, table[:, 1:].T, strict=True))
    del columns["veil-type"]
    return _arrays(list(columns), columns.values(), table[:, 0] == "p")


def parse_adult(contents: Sequence[bytes]) -> Arrays:
    """Training and test rows; ``?`` is a value like any other; ``<=50K`` is positive."""
    rows = [row for content in contents for row in _rows(content, ", ")]
    *attributes, income = map(np.array, zip(*rows, strict=True))
    columns = [
        column.astype(np.int32) if name in ADULT_NUMERIC else column
        for name, column in zip(ADULT_ATTRIBUTES, attributes, strict=True)
    ]
    # In the test part the class ends in a full stop.
    return _arrays(ADULT_ATTRIBUTES, columns, np.char.startswith(income, "<=50K"))


def parse_ijcnn(contents: Sequence[bytes]) -> Arrays:
    """Training (with validation) and test rows; +1 is positive; attributes 1 to 10 are 0 or 1."""
    parts = [load_svmlight_file(io.BytesIO(content), n_features=22) for content in contents]
    X = np.vstack([part.toarray() for part, _ in parts])
    y = np.concatenate([labels for _, labels in parts])
    columns = [*X[:, :IJCNN_N_BINARY].astype(bool).T, *X[:, IJCNN_N_BINARY:].T]
    return _arrays(IJCNN_ATTRIBUTES, columns, y > 0)


def parse_covtype(contents: Sequence[bytes]) -> Arrays:
    """All rows; cover type 2 (lodgepole pine) is positive."""
    table = np.loadtxt(io.BytesIO(contents[0]), dtype=np.int16, delimiter=",")
    n_numeric = len(COVTYPE_NUMERIC)
    columns = [*table[:, :n_numeric].T, *table[:, n_numeric:-1].astype(bool).T]
    return _arrays(COVTYPE_NUMERIC + COVTYPE_BINARY, columns, table[:, -1] == 2)


def _rows(content: bytes, separator: str) -> list[list[str]]:
    lines = content.decode("ascii").splitlines()
    return [line.split(separator) for line in lines if line and not line.startswith("|")]


def _arrays(names: Sequence[str], columns: Iterable[np.ndarray], positive: np.ndarray) -> Arrays:
    """Text columns become codes, boolean ones codes of ``0`` and ``1``, others are numeric."""
    is_categorical, numbers, codes, n_categories = [], [], [], []
    categories: list[str] = []
    for column in columns:
        is_categorical.append(column.dtype.kind in "Ub")
        if not is_categorical[-1]:
            numbers.append(column)
            continue
        if column.dtype.kind == "b":
            values, code = ["0", "1"], column
        else:
            found, code = np.unique(column, return_inverse=True)
            values = found.tolist()
        codes.append(code.astype(np.uint8))
        categories += values
        n_categories.append(len(values))
    n_rows = len(positive)
    return {
        "names": np.array(names),
        "is_categorical": np.array(is_categorical),
        "numbers": np.column_stack(numbers) if numbers else np.empty((n_rows, 0)),
        "codes": np.column_stack(codes) if codes else np.empty((n_rows, 0), dtype=np.uint8),
        "categories": np.array(categories, dtype=np.str_),
        "n_categories": np.array(n_categories, dtype=np.int64),
        "y": positive.astype(np.uint8),
    }
