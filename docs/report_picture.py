"""Make ``_static/report.png``, the head of a report, anew: ``python docs/report_picture.py``.

The table is scikit-learn's breast cancer data with diagnoses drawn by clinic. Needs chromium.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

import sarlearn
from sarlearn.labelling import ProductLabelling, label

PICTURE = Path(__file__).parent / "_static" / "report.png"
OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
OPTIONS += ["--force-device-scale-factor=1.5", "--window-size=1000,815"]


def main() -> None:
    table = load_breast_cancer(as_frame=True).frame
    malignant = 1 - table.pop("target")
    table = table.iloc[:, :10]
    city = np.random.default_rng(0).random(len(table)) < 0.5
    how = ProductLabelling(0, high=0.85, low=0.25)
    diagnosed, _ = label(city[:, None], malignant, how, random_state=0)
    table["clinic"] = np.where(city, "city", "village")
    model = sarlearn.SARClassifier(["clinic"]).fit(table, diagnosed)
    page = sarlearn.report(model, table, diagnosed, source="tumours.csv", label="diagnosed")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        page.save(path)
        command = [shutil.which("chromium") or "chromium", *OPTIONS, f"--screenshot={PICTURE}"]
        subprocess.run([*command, path.as_uri()], check=True, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
