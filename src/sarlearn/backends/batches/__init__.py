"""Tables larger than memory, without a cluster: read in batches, worked on chunk by chunk."""

from sarlearn.backends.batches.rows import read_rows
from sarlearn.backends.batches.source import Batches

__all__ = ["Batches", "read_rows"]
