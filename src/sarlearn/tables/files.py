"""For branches that have not moved on yet."""

from sarlearn.tables.formats import nearest, table_kind  # noqa: F401
from sarlearn.tables.labels import Labels, parse_labels  # noqa: F401
from sarlearn.tables.read import read_table, table_backend  # noqa: F401
from sarlearn.tables.write import write_atomically, write_table  # noqa: F401
