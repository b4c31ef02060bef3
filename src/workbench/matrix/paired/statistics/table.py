"""Writes table.json: random tables with the values of scipy and statsmodels. Run once: python table.py > table.json

Needs scipy and statsmodels. `pairs` has no function there: it is the formula of Connor (1987), computed with scipy's quantiles.
"""

import json
import math
import random

import numpy as np
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

random.seed(7)
tables = [(0, 0), (1, 0), (0, 5), (6, 6), (600, 500), (3000, 2800)]
tables += [(random.randint(0, 60), random.randint(0, 60)) for _ in range(60)]
out = {"mcnemar": [], "holm": [], "wilson": [], "pairs": [], "bootstrap": []}
for gained, lost in tables:
    p = mcnemar([[3, gained], [lost, 4]], exact=True).pvalue if gained + lost else 1.0
    out["mcnemar"].append([gained, lost, min(1.0, float(p))])
for size in (1, 2, 3, 8, 30):
    for _ in range(4):
        ps = [round(random.random() ** 3, 6) for _ in range(size)]
        out["holm"].append([ps, [float(x) for x in multipletests(ps, method="holm")[1]]])
for _ in range(60):
    n = random.randint(1, 500)
    k = random.randint(0, n)
    low, high = proportion_confint(k, n, method="wilson")
    out["wilson"].append([k, n, float(low), float(high)])
za, zb = stats.norm.ppf(0.975), stats.norm.ppf(0.8)
for _ in range(40):
    n = random.randint(5, 400)
    gained = random.randint(0, n // 2)
    lost = random.randint(0, n // 2)
    if gained == lost:
        continue
    pd, d = (gained + lost) / n, (gained - lost) / n
    need = math.ceil(((za * math.sqrt(pd) + zb * math.sqrt(max(0.0, pd - d * d))) / d) ** 2)
    out["pairs"].append([gained, lost, n, need])
rng = np.random.default_rng(7)
for size in (5, 20, 60, 200):
    for values in (rng.choice([-1.0, 0.0, 0.0, 1.0], size), rng.normal(0.2, 1.0, size), rng.exponential(0.01, size)):
        values = [round(float(v), 6) for v in values]
        ci = stats.bootstrap((values,), np.mean, n_resamples=20000, method="percentile", random_state=1, vectorized=True)
        interval = ci.confidence_interval
        out["bootstrap"].append([values, float(np.mean(values)), float(interval.low), float(interval.high)])
print(json.dumps(out))
