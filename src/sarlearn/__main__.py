"""``python -m sarlearn`` is the ``sarlearn`` command."""

from sarlearn.cli import main

if __name__ == "__main__":
    main()
