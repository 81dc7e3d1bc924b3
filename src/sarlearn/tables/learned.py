"""What the last step of a table pipeline learned, on the pipeline itself."""

import numpy as np


def _of_the_last_step(name: str) -> property:
    def read(self):
        return getattr(self[-1], name)

    return property(read, doc=f"``{name}`` of the last step.")


class LearnedAttributes:
    """Gives a pipeline the attributes of its last step, and ``summary``.

    An attribute that the last step does not have, the pipeline does not have either.
    """

    class_prior_ = _of_the_last_step("class_prior_")
    class_prior_range_ = _of_the_last_step("class_prior_range_")
    certainty_ = _of_the_last_step("certainty_")
    identification_width_ = _of_the_last_step("identification_width_")
    label_frequency_ = _of_the_last_step("label_frequency_")
    n_iter_ = _of_the_last_step("n_iter_")
    converged_ = _of_the_last_step("converged_")
    history_ = _of_the_last_step("history_")

    def summary(self) -> str:
        """What was learned, in words; columns are named as in the table.

        Returns
        -------
        str
            A sentence per line; ``print`` it.

        Examples
        --------
        >>> import pandas as pd
        >>> from sarlearn.tables import make_table_classifier
        >>> table = pd.DataFrame({"age": range(200), "dose": [i % 7 for i in range(200)]})
        >>> labels = [i % 4 == 3 for i in range(200)]
        >>> model = make_table_classifier(["age"]).fit(table, labels)
        >>> print(model.summary())
        SAREMClassifier: an estimated ...% of the rows are positive (class prior); ...
        Who gets labelled:
          age: One standard deviation more of age multiplies the odds of being labelled by ...
        """
        return self[-1].summary(odds=self._table_odds())  # type: ignore[index]

    def _table_odds(self) -> list[dict]:
        """Odds ratios of being labelled, one per encoded propensity column, in its words."""
        from sarlearn.tables import TableEncoder
        from sarlearn.tables.names import origin

        final, encoder = self[-1], self[0]  # type: ignore[index]
        coef = np.ravel(getattr(final, "propensity_coef_", ()))
        columns = getattr(final, "propensity_features_", ())
        if not isinstance(encoder, TableEncoder) or len(coef) != len(columns):
            return final._propensity_odds()
        names = [encoder.feature_names_out_[j] for j in columns]
        values = [encoder.category_of_output(j) for j in columns]
        rows: list[dict] = []
        for name, value, slope in zip(names, values, np.clip(coef, -700, 700), strict=True):
            column = origin(name)
            if value is None:
                scale = " on its logarithmic scale" if column in encoder.log_units_ else ""
                row: dict = {
                    "level": column,
                    "step": f"One standard deviation more of {column}{scale}",
                }
                change = slope
            else:
                siblings = [c for n, c in zip(names, coef, strict=True) if origin(n) == column]
                several = len(siblings) > 1
                change = slope - (np.mean(siblings) if several else 0.0)
                against = "the average of its values" if several else "all other values"
                row = {"level": f"{column} = {value}", "against": against, "numeric": False}  # type: ignore[dict-item]
            rows.append(row | {"odds_ratio": float(np.exp(change))})
        return rows
