"""Old spelling of :mod:`sarlearn.labelling`."""

from sarlearn._moved import moved

_NAMES = ("Constant", "Geometric", "Logistic", "OneAttribute", "Product")

__getattr__ = moved(
    __name__,
    "sarlearn.labelling",
    {"label": "label", **{f"{name}Labeling": f"{name}Labelling" for name in _NAMES}},
)
