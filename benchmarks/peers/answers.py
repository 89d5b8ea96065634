"""What errorbars says of each data set: run in the environment of the peers, JSON in and out."""

import json
import sys

import errorbars
import numpy as np


def interval(values):
    """Return the ends of its interval of a mean, or why there are none."""
    try:
        found = errorbars.mean_ci_clt(np.array(values, float), 0.95)
        return [found.ci_low, found.ci_high]
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def wilson(values):
    """Return the ends of its Wilson interval of a pass rate."""
    found = errorbars.wilson_ci(int(sum(values)), len(values), 0.95)
    return [found.ci_low, found.ci_high]


def clustered(values, clusters):
    """Return its standard error of a clustered mean, or why there is none."""
    try:
        return errorbars.cluster_robust_se(np.array(values, float), np.array(clusters))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


asked = json.load(sys.stdin)
print(
    json.dumps(
        {
            "means": [interval(values) for values in asked["means"]],
            "rates": [wilson(values) for values in asked["rates"]],
            "clusters": [clustered(*each) for each in asked["clusters"]],
            "icc": [
                errorbars.intraclass_correlation(np.array(v, float), np.array(c)) for v, c in asked["icc"]
            ],
        }
    )
)
