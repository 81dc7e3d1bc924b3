"""For the tests of data sets: where the real data are, and a small file that is known."""

import hashlib
import os

from experiments.data_sets.files import DataFile

DATA = os.environ.get("SARLEARN_DATA")
CONTENT = b"one,two,three\n" * 20_000
DIGEST = hashlib.sha256(CONTENT).hexdigest()
TEXT = DataFile("set", "set.data", ("http://127.0.0.1:9/set.data",), ((DIGEST, len(CONTENT)),))
