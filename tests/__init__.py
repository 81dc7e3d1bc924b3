"""A package so that ``python -m tests.house`` finds this one, not one that others installed."""
