"""The experiments of Bekker and Davis (2018), rerun with the library's public estimators."""
