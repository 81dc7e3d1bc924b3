"""The data sets of Bekker and Davis (2018), preprocessed as they say, and those of other studies.

Upstream files are looked for in the directory SARLEARN_DATA, in subdirectories named after the data
sets, then in the cache (SARLEARN_CACHE, by default ``~/.cache/sarlearn``), and otherwise downloaded
into the cache, by pooch. Whatever their source, their sha256 is checked. Parsed data is kept in the
cache. SARLEARN_DATA is never written to.
"""

from experiments.data_sets.loaders import (
    load_adult,
    load_breast_cancer_wisconsin,
    load_covtype,
    load_ijcnn,
    load_mushroom,
    load_newsgroups,
)
from experiments.data_sets.outside import load_spambase, load_uci

__all__ = [
    "load_adult",
    "load_breast_cancer_wisconsin",
    "load_covtype",
    "load_ijcnn",
    "load_mushroom",
    "load_newsgroups",
    "load_spambase",
    "load_uci",
]
