"""The experiments of Bekker and Davis (2018), rerun with the library's public estimators.

Four steps that run apart, each a command (``python -m experiments STEP``): ``run`` measures cells,
``analyse`` makes the tables, ``plot`` the figures, ``write`` the write-up ``RESULTS.md``.
"""
