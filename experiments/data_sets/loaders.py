"""The loaders: parsed arrays, kept in the cache, made into the matrices of the experiments.

Each gives ``X``, float64 in [0, 1]; ``y``, 1 the positive class; ``feature_names``;
``target_names``; ``binary_features``, a mask of the columns that are 0 or 1;
``propensity_features``, the indices of the columns eligible as propensity attributes: binary ones
with a frequency strictly between 0.3 and 0.7, and numeric ones with a mean there and a standard
deviation of at least 0.2; ``n_attributes`` and ``attribute_names``, before categories became
columns; ``DESCR``.
"""

import dataclasses
import functools
import hashlib
import io
import zipfile

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from experiments.data_sets.catalog import CATALOG, DataSet, PaperRow, paper_pair
from experiments.data_sets.files import cache_dir, keep, obtain
from experiments.data_sets.newsgroups import FAMILIES, N_WORDS
from experiments.data_sets.parse import Arrays

# Raised when a parser changes, so that arrays in a cache made by an older one are not used.
PARSER_VERSION = 1
# Attributes sure to have an impact on the labelling (Bekker and Davis, 2018). A numeric one needs
# spread as well, or every row gets about the same propensity; a uniform one has 0.29.
ELIGIBLE = (0.3, 0.7)
ELIGIBLE_SPREAD = 0.2


def load_breast_cancer_wisconsin(*, download_if_missing: bool = True) -> Bunch:
    """Breast Cancer Wisconsin (Original): 683 rows, 9 attributes, malignant is positive."""
    return _load_table("breast_cancer_wisconsin", download_if_missing)


def load_mushroom(*, download_if_missing: bool = True) -> Bunch:
    """Mushroom: 8,124 rows, 21 attributes, poisonous is positive."""
    return _load_table("mushroom", download_if_missing)


def load_adult(*, download_if_missing: bool = True) -> Bunch:
    """Adult (Census Income): 48,842 rows, 14 attributes, ``<=50K`` is positive."""
    return _load_table("adult", download_if_missing)


def load_ijcnn(*, download_if_missing: bool = True) -> Bunch:
    """IJCNN 2001: 141,691 rows, 22 attributes, +1 is positive."""
    return _load_table("ijcnn", download_if_missing)


def load_covtype(*, download_if_missing: bool = True) -> Bunch:
    """Cover Type: 581,012 rows (the paper 536,301), 54 attributes, type 2 is positive."""
    return _load_table("covtype", download_if_missing)


def load_newsgroups(negative: str, positive: str, *, download_if_missing: bool = True) -> Bunch:
    """20 newsgroups, two families: which of their 200 most frequent words a post contains.

    The paper's "Talk-Comp" is ``load_newsgroups("talk", "comp")``. Both directions of a pair have
    the same rows and columns. ``X`` is a CSR array.
    """
    for given in (negative, positive):
        if given not in FAMILIES:
            raise ValueError(f"{given!r} is not a family; there are {', '.join(FAMILIES)}.")
    if negative == positive:
        raise ValueError(f"negative and positive must differ; both are {negative!r}.")
    arrays = _parsed("newsgroups", download_if_missing)
    family = np.char.partition(arrays["groups"], ".")[:, 0]
    chosen = np.flatnonzero((family == negative) | (family == positive))
    shape = (len(family), len(arrays["words"]))
    ones = np.ones(len(arrays["rows"]))
    occurs = sparse.csr_array((ones, (arrays["rows"], arrays["columns"])), shape=shape)[chosen]
    in_posts = occurs.sum(axis=0)
    # Stable: words in equally many posts stay in alphabetical order.
    most = np.sort(np.argsort(-in_posts, kind="stable")[:N_WORDS])
    X = sparse.csr_array(occurs[:, most])
    X.sort_indices()
    data_set = dataclasses.replace(
        CATALOG["newsgroups"],
        title=f"20 newsgroups, {negative} - {positive}",
        target_names=(negative, positive),
        paper=paper_pair(negative, positive),
    )
    return _bunch(
        data_set,
        X,
        (family[chosen] == positive).astype(int),
        feature_names=arrays["words"][most],
        attribute_names=arrays["words"][most],
        binary=np.ones(len(most), dtype=bool),
    )


def _load_table(name: str, download: bool) -> Bunch:
    arrays = _parsed(name, download)
    widths = np.ones(len(arrays["names"]), dtype=int)
    n_categories = arrays["n_categories"]
    widths[arrays["is_categorical"]] = np.where(n_categories > 2, n_categories, 1)
    X = np.empty((len(arrays["y"]), widths.sum()))
    feature_names: list[str] = []
    categories = np.split(arrays["categories"], np.cumsum(n_categories)[:-1])
    coded = iter(zip(arrays["codes"].T, categories, strict=False))
    numeric = iter(arrays["numbers"].T)
    for attribute, is_categorical in zip(arrays["names"], arrays["is_categorical"], strict=True):
        j = len(feature_names)
        if not is_categorical:
            values = next(numeric).astype(np.float64)
            X[:, j] = (values - values.min()) / (values.max() - values.min())
            feature_names.append(str(attribute))
            continue
        codes, values = next(coded)
        if len(values) == 2:  # one column says it all
            X[:, j] = codes
            is_indicator = values.tolist() == ["0", "1"]
            feature_names.append(str(attribute) if is_indicator else f"{attribute}={values[1]}")
        else:
            for k, value in enumerate(values):
                X[:, j + k] = codes == k
                feature_names.append(f"{attribute}={value}")
    return _bunch(
        CATALOG[name],
        X,
        arrays["y"].astype(int),
        feature_names=np.array(feature_names),
        attribute_names=arrays["names"],
        binary=np.repeat(arrays["is_categorical"], widths),
    )


def _bunch(
    data_set: DataSet,
    X,
    y: np.ndarray,
    *,
    feature_names: np.ndarray,
    attribute_names: np.ndarray,
    binary: np.ndarray,
) -> Bunch:
    low, high = ELIGIBLE
    means = np.asarray(X.mean(axis=0)).ravel()
    eligible = (means > low) & (means < high)
    for j in np.flatnonzero(eligible & ~binary):
        eligible[j] = X[:, j].std() >= ELIGIBLE_SPREAD
    description = _describe(data_set, PaperRow(X.shape[0], len(attribute_names), y.mean()), X.shape)
    return Bunch(
        X=X,
        y=y,
        feature_names=feature_names.tolist(),
        target_names=list(data_set.target_names),
        binary_features=binary,
        propensity_features=np.flatnonzero(eligible),
        n_attributes=len(attribute_names),
        attribute_names=attribute_names.tolist(),
        DESCR=description,
    )


def _describe(data_set: DataSet, here: PaperRow, shape: tuple[int, int]) -> str:
    def line(row: PaperRow) -> str:
        return f"{row.rows:,} rows, {row.attributes} attributes, P(y=1) = {row.prior:.3f}"

    assert data_set.paper is not None
    paper = line(data_set.paper)
    equal = paper == line(here)
    return (
        f"{data_set.title}\n\n"
        f"{line(here)}; {shape[1]} columns.\n\n"
        f"Source: {data_set.source}\n\n"
        f"Here: {data_set.preprocessing}\n\n"
        f"In Bekker and Davis (2018): {paper}: {'equal' if equal else 'NOT equal'}. "
        f"{data_set.remark}".rstrip()
        + "\n"
    )


@functools.lru_cache(maxsize=8)
def _parsed(name: str, download: bool) -> Arrays:
    """The parsed arrays of a data set: from this process, from the cache, or from its files.

    The key holds the checksums of the files, so what is in the cache is what they would give.
    """
    data_set = CATALOG[name]
    accepted = [digest for file in data_set.files for digest, _ in file.contents]
    key = hashlib.sha256(" ".join([str(PARSER_VERSION), *accepted]).encode()).hexdigest()[:16]
    path = cache_dir() / "parsed" / f"{name}-{key}.npz"
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            return {field: stored[field] for field in stored.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        pass  # absent or damaged: parse again
    arrays = data_set.parse(obtain(data_set.files, download=download))
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    keep(path, buffer.getvalue())
    return arrays
