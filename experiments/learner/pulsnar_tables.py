"""Tables of the PULSNAR paper's data sets, from the folder that SARLEARN_DATA names."""

import os
from pathlib import Path

import numpy as np


def load(title: str) -> tuple[np.ndarray, np.ndarray]:
    """Columns as numbers and a class, by the name of a table."""
    if title == "letter":
        frame = read("letter")
        return _numbers(frame, ["lettr"]), frame["lettr"].isin(list("ABCDEF")).to_numpy()
    if title == "dry bean":
        frame = read("dry_bean")
        positive = frame["Class"].isin(["SIRA", "SEKER", "BOMBAY"]).to_numpy()
        return _numbers(frame, ["Class"]), positive
    if title == "anuran":
        frame = read("anuran")
        left_out = ["Family", "Genus", "Species", "RecordID"]
        return _numbers(frame, left_out), (frame["Family"] == "Hylidae").to_numpy()
    if title == "room":
        frame = read("room_occupancy_estimation")
        positive = frame["Room_Occupancy_Count"].to_numpy() > 0
        return _numbers(frame, ["Date", "Time", "Room_Occupancy_Count"]), positive
    if title == "shuttle":
        frame = read("shuttle_trn")
        return _numbers(frame, ["class"]), frame["class"].to_numpy() != 1
    if title == "wilt":
        frame = read("wilt")
        return _numbers(frame, ["class"]), (frame["class"] == "w").to_numpy()
    if title == "grid":
        frame = read("electrical_grid")
        return _numbers(frame, ["stab", "stabf"]), (frame["stabf"] == "unstable").to_numpy()
    if title == "mice":
        frame = read("mice_protein")
        proteins = frame.iloc[:, 1:78].astype(float)
        return proteins.fillna(proteins.median()).to_numpy(), (
            frame["class"].str.startswith("t").to_numpy()
        )
    if title == "presence":
        frame = read("occupancy_detection_datatest2")
        return _numbers(frame, ["id", "date", "Occupancy"]), frame["Occupancy"].to_numpy() == 1
    raise ValueError(f"There is no table {title!r}.")


def read(name: str):
    """A file of the folder as it is."""
    import pandas as pd

    return pd.read_csv(Path(os.environ["SARLEARN_DATA"]) / "pulsnar" / f"{name}.csv.gz")


def _numbers(frame, left_out: list[str]) -> np.ndarray:
    return frame.drop(columns=left_out).to_numpy(dtype=float)
