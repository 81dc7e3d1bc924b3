"""How good is my classifier, and which settings are best, when no true class is known?

With propensities, known or estimated, held-out labels give honest scores of any classifier, and
scikit-learn's searches can tune on them.

Run:  python examples/score_without_true_classes.py
"""

import numpy as np
import sklearn
from scipy.special import expit
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, train_test_split

from sarlearn import SAREMClassifier
from sarlearn.metrics import ipw_scorer, ipw_scores
from sarlearn.model_selection import PropensityStratifiedKFold


def simulate(n_rows=4000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    y = rng.random(n_rows) < expit(3 * X[:, 0] + X[:, 1] - 1)
    e = 0.2 + 0.6 * expit(2 * X[:, 2])
    return X, y, e, y & (rng.random(n_rows) < e)


def main():
    X, y, e, s = simulate()
    X_train, X_test, s_train, s_test, e_train, e_test, _, y_test = train_test_split(
        X, s, e, y, random_state=0, stratify=s
    )
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            SAREMClassifier([2]),
            {"C": [0.1, 1.0, 10.0], "decay": [0.8, 0.9, 1.0]},
            scoring=ipw_scorer("f1"),
            cv=PropensityStratifiedKFold([2], random_state=0),
        )
        search.fit(X_train, s_train, propensity=e_train)
    model = search.best_estimator_
    print(f"Best settings by labels alone: {search.best_params_}")
    p = model.predict_proba(X_test)[:, 1]
    print(f"\nWith the true propensities:\n{ipw_scores(s_test, p, e_test)}")
    print(f"\nWith estimated ones:\n{ipw_scores(s_test, p, model.predict_propensity(X_test))}")
    print(f"\nThe F1 that the true classes give: {f1_score(y_test, p > 0.5):.3f}")


if __name__ == "__main__":
    main()
