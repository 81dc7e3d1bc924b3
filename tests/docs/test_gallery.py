"""Examples and tutorials: a question each, in an order, with a figure and the right answer.

``make docs`` runs them; what they printed is read from their pages.
"""

import ast
import html
import re

import pytest

from site_tools import DOCS, ROOT, SITE

FOLDERS = {"gallery": ROOT / "examples", "tutorials": DOCS / "tutorials"}
SCRIPTS = {path: name for name, folder in FOLDERS.items() for path in sorted(folder.glob("*.py"))}


def title_of(path) -> str:
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").splitlines()[0]


def test_titles_are_questions_and_differ():
    titles = [title_of(path) for path in SCRIPTS]
    assert len(set(titles)) == len(titles)
    assert all("?" in title_of(path) for path, name in SCRIPTS.items() if name == "gallery")


@pytest.mark.parametrize("name", FOLDERS)
def test_the_order_names_every_script(name):
    order = (FOLDERS[name] / "ORDER").read_text(encoding="utf-8").split()
    assert sorted(order) == sorted(path.name for path in FOLDERS[name].glob("*.py"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_has_text_and_draws(path):
    text = path.read_text(encoding="utf-8")
    assert text.count("# %%") >= 2
    assert re.search(r"\bplot\(|from_estimator\(|subplots\(", text)


def page_of(path) -> str:
    page = SITE / "generated" / SCRIPTS[path] / f"{path.stem}.html"
    if not page.exists():
        pytest.skip("the site is not built: make docs")
    return page.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_the_built_page_has_a_figure(path):
    assert "sphx-glr-single-img" in page_of(path)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_the_answer_is_right(path):
    outputs = re.findall(r"(?s)sphx-glr-script-out.*?<pre>(.*?)</pre>", page_of(path))
    out = html.unescape(re.sub("<[^>]*>", "", "\n".join(outputs)))
    assert " object at 0x" not in out
    assert str(ROOT) not in out
    ANSWERS[path.stem](out)


def numbers(pattern: str, text: str) -> list[float]:
    """The numbers in the place of every # of a pattern, where it first occurs."""
    found = re.search(pattern.replace("#", r"([-+]?[\d.]*\d)"), text)
    assert found, f"{pattern!r} is not in what was printed:\n{text}"
    return [float(number) for number in found.groups()]


def a_share_from_a_survey(out):
    (truth,) = numbers("in truth +#%", out)
    low, high = numbers("alone +[^,]*, between #% and #%", out)
    surveyed = numbers("survey: 37% ± 2% [^,]*, between #% and #%", out)
    assert low < surveyed[0] < truth < surveyed[1] < high


def classes_that_are_not_linear(out):
    linear, default = (
        numbers(f"{name}: class prior #, .*AUC #", out) for name in ("linear", "default")
    )
    assert default[1] > linear[1] + 0.1
    low, high, truth = numbers("default: class prior [^,]*, between # and # .truth #", out)
    assert low < truth < high
    assert "Nothing in the labels contradicts the model" in out


def how_many_are_hidden(out):
    (hidden,) = numbers("diagnosed, # ill", out)
    low, high = numbers("are hidden, between # and #", out)
    assert low < hidden < high
    assert "The labels determine this not at all." in out


def how_many_positives(out):
    low, high, truth = numbers("compatible with # to #. In truth # are", out)
    assert low < truth < high


def how_sure(out):
    (truth,) = numbers("in truth #% are positive", out)
    low, high = numbers("compatible with the data: #% to #%", out)
    narrow = numbers("Share of positives: [^,]*, between #% and #%", out)
    assert low < narrow[0] < truth < narrow[1] < high


def more_rows_than_memory(out):
    (labelled,) = numbers("#% of the rows are labelled", out)
    estimate, truth = numbers("Estimated to be positive: #%; in truth #%", out)
    assert abs(estimate - truth) < (truth - labelled) / 2


def score_without_true_classes(out):
    (estimate,) = numbers("f1 #", out)
    by_label, truth = numbers("F1 against the labels: #, against the classes #", out)
    assert abs(estimate - truth) < abs(by_label - truth) / 2


def several_visits(out):
    seen, truth = numbers("Seen on #% of the sites; in truth it lives on #%", out)
    low, high = numbers("By three visits: [^,]*, between #% and #%", out)
    assert seen < low < truth < high
    low, high = numbers("By hours of search: [^,]*, between #% and #%", out)
    assert low < truth < high


def table_to_report(out):
    labelled, positive = numbers("Labelled # of # positives", out)
    (hidden,) = numbers("About # of the .* unlabelled rows", out)
    assert abs(hidden - (positive - labelled)) < 0.25 * (positive - labelled)
    assert "is the class prior of page and terminal alike" in out


def what_bias_does_to_learners(out):
    scar, sar = (numbers(rf"{name} +F1 from # to #", out) for name in ("SCAR", "SAR"))
    assert scar[1] < scar[0] - 0.1
    assert abs(sar[1] - sar[0]) < 0.05


def which_attributes_to_name(out):
    chosen, truth = numbers(r"distance, insured +#, .*\(truth #", out)
    assert abs(chosen - truth) < abs(numbers("none +#", out)[0] - truth) / 2
    assert "Labelling may follow distance" in out
    assert "tested: The labels speak clearly against" in out
    assert "at random: The labels do not contradict" in out


def which_rows_to_check(out):
    low, high = narrowing(out, [r"\n50 rows", "100 rows", "150 rows"])
    assert low < numbers("In truth #%", out)[0] < high


def why_is_it_hard(out):
    truth, low, high = numbers(
        "truth: #%. Estimated: [^,]*, compatible with the data: #% to #%", out
    )
    assert low < truth < high


def who_to_look_at_first(out):
    by_posterior, by_label = (numbers(f"{n}: # of 600", out)[0] for n in ("posterior", "healthy"))
    assert by_posterior > by_label + 50


def fraud_audits(out):
    narrowing(out, ["day 1", "day 2", "day 3"])


def under_diagnosis(out):
    by_posterior, by_look = (numbers(f"by {n}: # of 60", out)[0] for n in ("posterior", "resemb.*"))
    assert by_posterior > by_look
    assert "TrustWarning: referrals gives the label away" in out


def narrowing(out, steps):
    ends = [numbers(f"{step}[^,]*, between #% and #%", out) for step in steps]
    widths = [high - low for low, high in ends]
    assert widths == sorted(widths, reverse=True)
    return ends[-1]


ANSWERS = {path.stem: globals()[path.stem] for path in SCRIPTS}
