"""Class-prior estimators, one file each."""
