"""What each data set consists of: its files, its parser, and the story told to the user."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from experiments.data_sets.files import DataFile
from experiments.data_sets.newsgroups import parse_newsgroups
from experiments.data_sets.parse import (
    Arrays,
    parse_adult,
    parse_breast_cancer,
    parse_covtype,
    parse_ijcnn,
    parse_mushroom,
)

_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary"
_TICK = "https://raw.githubusercontent.com/X-DataInitiative/tick-datasets/master/binary/ijcnn1"
_NLTK = (
    "https://raw.githubusercontent.com/nltk/nltk_data/29abe1efc8c25ac54e32397441010784f2c5a465"
    "/packages/corpora/stopwords.zip"
)


class PaperRow(NamedTuple):
    """A line of the table of data sets in Bekker and Davis (2018)."""

    rows: int
    attributes: int
    prior: float


@dataclass(frozen=True)
class DataSet:
    title: str
    files: tuple[DataFile, ...]
    parse: Callable[[Sequence[bytes]], Arrays]
    target_names: tuple[str, str]
    source: str
    preprocessing: str
    paper: PaperRow | None
    remark: str = ""


CATALOG = {
    "breast_cancer_wisconsin": DataSet(
        title="Breast Cancer Wisconsin (Original)",
        files=(
            DataFile(
                "breast_cancer_wisconsin",
                "breast-cancer-wisconsin.data",
                (f"{_UCI}/breast-cancer-wisconsin/breast-cancer-wisconsin.data",),
                (("402c585309c399237740f635ef9919dc512cca12cbeb20de5e563a4593f22b64", 19_889),),
            ),
        ),
        parse=parse_breast_cancer,
        target_names=("benign", "malignant"),
        source="W. H. Wolberg; UCI Machine Learning Repository, doi 10.24432/C5HP4Z, CC BY 4.0. "
        "Not the Diagnostic set of sklearn.datasets.load_breast_cancer.",
        preprocessing="The 16 rows with a missing value left out; nine integer attributes scaled "
        "from 1..10 to [0, 1].",
        paper=PaperRow(683, 9, 0.350),
    ),
    "mushroom": DataSet(
        title="Mushroom",
        files=(
            DataFile(
                "mushroom",
                "agaricus-lepiota.data",
                (f"{_UCI}/mushroom/agaricus-lepiota.data",),
                (("e65d082030501a3ebcbcd7c9f7c71aa9d28fdfff463bf4cf4716a3fe13ac360e", 373_704),),
            ),
        ),
        parse=parse_mushroom,
        target_names=("edible", "poisonous"),
        source="J. Schlimmer; UCI Machine Learning Repository, doi 10.24432/C5959T, CC BY 4.0.",
        preprocessing="The constant veil-type left out; each attribute of more than two values one "
        "column per value, a missing value (?) being one of them.",
        paper=PaperRow(8_124, 21, 0.482),
    ),
    "adult": DataSet(
        title="Adult (Census Income)",
        files=(
            DataFile(
                "adult",
                "adult.data",
                (f"{_UCI}/adult/adult.data",),
                (("5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d", 3_974_305),),
            ),
            DataFile(
                "adult",
                "adult.test",
                (f"{_UCI}/adult/adult.test",),
                (("a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05", 2_003_153),),
            ),
        ),
        parse=parse_adult,
        target_names=(">50K", "<=50K"),
        source="B. Becker and R. Kohavi; UCI Machine Learning Repository, doi 10.24432/C5XW20, "
        "CC BY 4.0.",
        preprocessing="Training and test rows together; numeric attributes scaled to [0, 1]; each "
        "attribute of more than two values one column per value, a missing value (?) being one of "
        "them. The paper's prior makes <=50K the positive class.",
        paper=PaperRow(48_842, 14, 0.761),
    ),
    "ijcnn": DataSet(
        title="IJCNN 2001 neural network competition",
        files=(
            DataFile(
                "ijcnn1",
                "ijcnn1.bz2",
                (f"{_LIBSVM}/ijcnn1.bz2", f"{_TICK}/ijcnn1.trn.bz2"),
                (("7fe291672c3fefe6a7e3c51529becd23f0e985ba05ffb8d53c9c648c1e91cc19", 7_844_877),),
                other_names=("ijcnn1",),
            ),
            DataFile(
                "ijcnn1",
                "ijcnn1.t.bz2",
                (f"{_LIBSVM}/ijcnn1.t.bz2", f"{_TICK}/ijcnn1.tst.bz2"),
                (
                    (
                        "e7b0bbd518641980dc322746c6bc59d019d3153934e6258e48f9d8cfae2c4bb8",
                        14_213_968,
                    ),
                ),
                other_names=("ijcnn1.t",),
            ),
        ),
        parse=parse_ijcnn,
        target_names=("-1", "+1"),
        source="D. Prokhorov; in the winner's transformation (C.-C. Chang and C.-J. Lin, IJCNN "
        "2001) from the LIBSVM data page; no licence stated there.",
        preprocessing="Training and test rows together; attributes 1 to 10 are 0 or 1, the others "
        "scaled to [0, 1].",
        paper=PaperRow(141_691, 22, 0.096),
    ),
    "covtype": DataSet(
        title="Cover Type",
        files=(
            DataFile(
                "covtype",
                "covtype.data.gz",
                (
                    f"{_UCI}/covtype/covtype.data.gz",
                    "https://ndownloader.figshare.com/files/5976039",
                ),
                (
                    (
                        "0a9371cef7c964b5475d6053cc3e0894a5aa6f65ad1ed3ecb01c45aa96217945",
                        75_169_317,
                    ),
                ),
                other_names=("covtype.data",),
            ),
        ),
        parse=parse_covtype,
        target_names=("other types", "type 2 (lodgepole pine)"),
        source="J. Blackard, Colorado State University; UCI Machine Learning Repository, doi "
        "10.24432/C50K5N, CC BY 4.0.",
        preprocessing="Cover type 2 against the rest; ten numeric attributes scaled to [0, 1], 44 "
        "indicators as they are.",
        paper=PaperRow(536_301, 54, 0.495),
        remark="The paper's selection of rows could not be derived, so all rows are here.",
    ),
    "newsgroups": DataSet(
        title="20 newsgroups",
        files=(
            DataFile(
                "20newsgroups",
                "20news-bydate.tar.gz",
                ("https://ndownloader.figshare.com/files/5975967",),
                (
                    # As the upstream page packed it, and the same posts packed again.
                    ("8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610", None),
                    (
                        "3b8bbb686e5f6fea604c20ad0852e81374f90b454ccedbb8bbbefdb2d91bb447",
                        14_387_473,
                    ),
                ),
                is_archive=True,
            ),
            DataFile(
                "20newsgroups",
                "stopwords.zip",
                (_NLTK,),
                (("019f104ba2ed07436d05f9cdd3383034ad66014edc27fc651f837e1a038b6451", 936),),
                other_names=("nltk_stopwords_english.txt",),
                zip_member="stopwords/english",
            ),
        ),
        parse=parse_newsgroups,
        target_names=("", ""),
        source="K. Lang; the bydate version of J. Rennie, public Usenet posts. Stop words: NLTK, "
        "English, as of 2018.",
        preprocessing="Training posts that the word-count version of the collection has; what "
        "follows the first empty line; does a word occur in the post, for the 200 words that occur "
        "in most posts of the two families, stop words left out.",
        paper=None,  # one for each pair, below
    ),
}

# The second family is the positive one.
PAPER_PAIRS = {
    ("comp", "rec"): PaperRow(5_287, 200, 0.450),
    ("comp", "sci"): PaperRow(5_279, 200, 0.450),
    ("comp", "talk"): PaperRow(4_856, 200, 0.401),
    ("rec", "sci"): PaperRow(4_752, 200, 0.499),
    ("rec", "talk"): PaperRow(4_329, 200, 0.450),
    ("sci", "talk"): PaperRow(4_321, 200, 0.451),
}


def paper_pair(negative: str, positive: str) -> PaperRow:
    """The paper's line for two families, its prior turned round where it has the other order."""
    if (negative, positive) in PAPER_PAIRS:
        return PAPER_PAIRS[negative, positive]
    row = PAPER_PAIRS[positive, negative]
    return row._replace(prior=1 - row.prior)
