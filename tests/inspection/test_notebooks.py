"""Results as notebooks show them: run in a real kernel, seen in a real page."""

import pytest

from sarlearn._view.notebook import table_html

SETUP = """
import numpy as np, warnings
warnings.simplefilter("ignore")
from sarlearn import SAREMClassifier
from sarlearn.inspection import bootstrap, scar_test, sensitivity
rng = np.random.default_rng(0)
X = rng.normal(size=(400, 3))
y = rng.random(400) < 1 / (1 + np.exp(-4 * X[:, 0]))
s = y & (rng.random(400) < 1 / (1 + np.exp(-X[:, 2])))
model = SAREMClassifier([2]).fit(X, s)
"""
CELLS = {
    "bootstrap": "bootstrap(model, X, s, n_resamples=20, random_state=0)",
    "scar_test": "scar_test(X, s, [2], n_draws=19, random_state=0)",
    "sensitivity": "sensitivity(model, X, s)",
}


@pytest.fixture(scope="module")
def outputs():
    """What each cell shows, by name, from a notebook that was run."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    from traitlets.config import Config

    code = [SETUP, *CELLS.values()]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in code])
    # The kernel is spoken to by files, not by ports that another program may take first.
    settings = {"config": Config(KernelManager={"transport": "ipc"}), "kernel_name": "python3"}
    nbclient.NotebookClient(notebook, timeout=600, **settings).execute()
    return dict(zip(CELLS, (cell.outputs for cell in notebook.cells[1:]), strict=True))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", CELLS)
def test_a_result_is_a_table_and_a_figure(outputs, name):
    shown = [o for o in outputs[name] if o.output_type == "execute_result"]
    html = shown[0]["data"]["text/html"]
    assert html.count("<table") == 1
    assert html.count("<svg") == 1
    assert "array([" not in html
    assert "#2b2b2c" not in html  # text takes the colour of the notebook, light or dark


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_progress_needs_no_widgets(outputs):
    said = "".join(o.text for o in outputs["bootstrap"] if o.output_type == "stream")
    assert "Bootstrap: 30 of 30" in said
    assert "ipywidgets" not in said


def test_text_of_the_user_stays_text():
    html = table_html(("<b>",), [("<script>x</script>",)])
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
