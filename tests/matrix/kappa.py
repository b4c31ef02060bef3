"""Writes kappa.json: Cohen's kappa and its interval by statsmodels, checked against scikit-learn.

pip install statsmodels scikit-learn; python3 tests/matrix/kappa.py
"""

import json
import pathlib
import random

import numpy as np
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa

random.seed(7)
rows = []
while len(rows) < 200:
    table = [random.randint(0, random.choice([3, 20, 400])) for _ in range(4)]
    both_pass, only_judge, only_label, both_fail = table
    judge = [1] * (both_pass + only_judge) + [0] * (only_label + both_fail)
    label = [1] * both_pass + [0] * only_judge + [1] * only_label + [0] * both_fail
    if not judge or len(set(judge)) == 1 or len(set(label)) == 1:
        continue
    found = cohens_kappa(np.array([[both_pass, only_judge], [only_label, both_fail]]))
    assert abs(found.kappa - cohen_kappa_score(judge, label)) < 1e-12
    agreement = (both_pass + both_fail) / sum(table)
    rows.append({"table": table, "agreement": agreement, "kappa": found.kappa, "low": found.kappa_low, "high": found.kappa_upp})
path = pathlib.Path(__file__).with_name("kappa.json")
path.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
