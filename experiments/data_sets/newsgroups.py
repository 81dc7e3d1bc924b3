"""The newsgroups: from the archive of posts to which word occurs in which post."""

import io
import re
import tarfile
from collections.abc import Iterator, Sequence

import numpy as np

from experiments.data_sets.parse import Arrays

FAMILIES = ("comp", "rec", "sci", "talk")
N_WORDS = 200
# Words in fewer posts than this are not kept: the 200th word of any pair is in more than 260.
MIN_POSTS = 100

# Training posts that the word-count ("Matlab/Octave") version of the collection lacks. The pair
# sizes in Bekker and Davis (2018) are those of that version. Found from its vocabulary: posts with
# at most one word in it, and uuencoded files whose words are not.
NOT_IN_WORD_COUNT_VERSION = {
    "comp.graphics": "37928 37940 38234",
    "comp.os.ms-windows.misc": "9542 9543 9544 9813 9972 9976 9977 9978 9979 9980 9981 "
    "9982 9983 9984 9985 9986 9987 9988 9990",
    "comp.sys.ibm.pc.hardware": "60353 60360 60581",
    "comp.sys.mac.hardware": "51522 51541 51839",
    "comp.windows.x": "67032",
    "rec.autos": "101675 102995",
    "rec.motorcycles": "103233 104934",
    "rec.sport.baseball": "104518 104547 104905",
    "rec.sport.hockey": "52654 53968",
    "sci.crypt": "15545",
    "talk.politics.guns": "54380",
    "talk.politics.misc": "176966",
    "talk.religion.misc": "83677",
}


def parse_newsgroups(contents: Sequence[bytes]) -> Arrays:
    """Which word occurs in which training post of the four families.

    A post is what follows its first empty line; a word is a run of at least two letters, in lower
    case, that is not one of NLTK's stop words.
    """
    archive, stop_words = contents
    stop = set(stop_words.decode("utf-8").split())
    columns: dict[str, int] = {}
    groups: list[str] = []
    indices: list[int] = []
    lengths: list[int] = []
    for group, text in _posts(archive):
        words = set(re.findall(r"[a-z]{2,}", text.lower())) - stop
        groups.append(group)
        indices.extend(columns.setdefault(word, len(columns)) for word in words)
        lengths.append(len(words))
    all_words = np.array(list(columns), dtype=object)
    occurrences = np.array(indices)
    in_posts = np.bincount(occurrences, minlength=len(columns))
    kept = np.flatnonzero(in_posts >= MIN_POSTS)
    kept = kept[np.argsort(all_words[kept])]  # alphabetical, whatever order a set came in
    place = np.full(len(columns), -1)
    place[kept] = np.arange(len(kept))
    rows = np.repeat(np.arange(len(groups)), lengths)
    known = place[occurrences] >= 0
    return {
        "groups": np.array(groups),
        "words": all_words[kept].astype(np.str_),
        "rows": rows[known].astype(np.int32),
        "columns": place[occurrences[known]].astype(np.int32),
    }


def _posts(archive: bytes) -> Iterator[tuple[str, str]]:
    """Group and body of each training post of the word-count version, by group and number."""
    dropped = {
        (group, number)
        for group, numbers in NOT_IN_WORD_COUNT_VERSION.items()
        for number in numbers.split()
    }
    posts = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            part, _, post = member.name.partition("/")
            group, _, number = post.partition("/")
            wanted = part == "20news-bydate-train" and group.split(".")[0] in FAMILIES
            if wanted and member.isfile() and (group, number) not in dropped:
                stream = tar.extractfile(member)
                assert stream is not None  # isfile() says so
                posts[group, int(number)] = stream.read().decode("latin-1")
    for (group, _), text in sorted(posts.items()):
        # Some copies of the collection have lost their carriage returns.
        yield group, text.replace("\r", "").partition("\n\n")[2]
