"""The cross-fit: its verdict on fresh seeds, on all rows, where every column is told, and ideas."""
