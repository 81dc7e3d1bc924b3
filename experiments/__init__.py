"""Measurements of the library: one folder per study, all run by one harness.

``python -m experiments run GRID.toml`` measures the missing cells of a grid, and
``python -m experiments report STUDY`` writes the study's report and figures from its tables.
"""
