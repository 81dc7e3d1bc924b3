"""A report on a fitted model and its table, for people who decide."""

import json
import os
from collections.abc import Sequence
from html import escape
from typing import Any

from sarlearn.reporting.render import render
from sarlearn.reporting.summarize import summarize
from sarlearn.tables.write import write_atomically

__all__ = ["report"]


class Report:
    """A finished report: its numbers, and the page made from them.

    Parameters
    ----------
    summary : dict
        As :func:`summarize` gives it.

    See Also
    --------
    sarlearn.report : The report as a page.
    """

    def __init__(self, summary: dict[str, Any]):
        self._summary = summary
        self._page: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Every number and sentence of the report, as plain values."""
        return json.loads(json.dumps(self._summary))

    def to_html(self) -> str:
        """The page, complete in itself."""
        if self._page is None:
            self._page = render(self._summary)
        return self._page

    def save(self, path: str | os.PathLike) -> None:
        """Write the page to a file, whole or not at all."""
        page = self.to_html()
        with write_atomically(path) as temporary:
            temporary.write_text(page, encoding="utf-8")

    def _repr_html_(self) -> str:
        """For notebooks: the page in a frame of its own, so that styles do not mix."""
        return (
            f'<iframe srcdoc="{escape(self.to_html())}" sandbox title="Report" '
            'style="width: 100%; height: 80vh; border: 0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<Report: {self._summary['text']['headline']}>"


def report(
    model,
    X,
    s,
    *,
    ids: Sequence[Any] | None = None,
    feature_names: Sequence[str] | None = None,
    top: int = 20,
    noun: str = "rows",
    positive_noun: str = "positive",
    sample_weight=None,
    **names: Any,
) -> Report:
    """Report on a fitted model: who is positive, who gets labelled, and how sure that is.

    Parameters
    ----------
    model : fitted classifier with ``predict_propensity``, or a pipeline that ends in one
        What to report on.
    X : table or matrix of shape (n_rows, n_features)
        The rows, as the model takes them.
    s : array-like of shape (n_rows,)
        Observed labels.
    ids : sequence, optional
        What to call each row; by default its number, from 1.
    feature_names : sequence of str, optional
        What to call the columns of a matrix that has no names.
    top : int, default=20
        How many of the most probable hidden positives to list.
    noun, positive_noun : str
        What the rows are, and what the positive ones are, for the text: "patients" and "ill".
    sample_weight : array-like of shape (n_rows,), optional
        What each row counts, where ``fit`` was given it.
    **names : str
        ``source``, ``label`` and ``id_name``: names of the file, the label column and the
        identifier, for the text.

    Returns
    -------
    Report
        With ``save(path)``, ``to_dict()``, ``to_html()``, and shown in notebooks.

    See Also
    --------
    sarlearn.reporting.summarize : What a report says, as plain values.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn import SARClassifier
    >>> from sarlearn.reporting import report
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3))
    >>> y = 3 * X[:, 0] + X[:, 1] > 0
    >>> s = y & (rng.random(2000) < 1 / (1 + np.exp(-2 * X[:, 2])))
    >>> model = SARClassifier(propensity_features=[2]).fit(X, s)
    >>> report(model, X, s)
    <Report: About ... of the 1,516 unlabelled rows (...%) are estimated to be positive; ...>
    """
    names |= {"noun": noun, "positive_noun": positive_noun, "weight": sample_weight}
    return Report(summarize(model, X, s, ids=ids, feature_names=feature_names, top=top, **names))
