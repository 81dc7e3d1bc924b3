"""``sarlearn compile``: the compiled functions, before the first fit wants them."""

import importlib.util
import time

from sarlearn.cli.common import print_text
from sarlearn.cli.progress import progress


def compile_functions() -> None:
    """Fill numba's cache, so that no fit waits for a compiler."""
    if importlib.util.find_spec("numba") is None:
        raise ImportError("Compiled functions need numba: pip install 'sarlearn[fast]'.")
    from sarlearn._engine.on_demand import cache_folder, compile_all

    start = time.process_time()
    with progress("Compiling") as show:
        n_new = compile_all(show)
    folder = cache_folder()
    if folder is None:
        raise OSError(
            "numba finds no folder that its cache could be written to; name one with "
            "NUMBA_CACHE_DIR, here and where models are fitted."
        )
    print_text(
        f"Compiled {n_new} functions in {time.process_time() - start:.0f} CPU seconds; they are "
        f"kept in {folder}."
        if n_new
        else f"Every function was compiled already; they are kept in {folder}."
    )
