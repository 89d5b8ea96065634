"""The figures of the explanation pages: each is computed by the library, from a world that its page names."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import fields, replace
from math import sqrt
from pathlib import Path

import numpy as np
import pandas as pd

from evalstats import stats
from evalstats.report.canvas import Figure
from evalstats.report.forest import forest
from evalstats.report.operating import operating_curve
from evalstats.stats import Estimate, Rule, World, diagnose
from evalstats.stats.worlds import Sample, draw

# Fifty yes/no prompts of three trials, .6 without the skill and .8 with it: the world of the older gate.
PROMPTS = World(cases=50, trials=3, mean=0.6, effect=0.2, correlation=0.5, pairing=0.7)
HISTORY = 28
DROPS = np.linspace(0.0, 0.3, 13)
NIGHTS, DRAWS = 4000, 500  # draws of an unchanged night, which is what counts; of anything else


@functools.cache
def every() -> dict[str, str]:
    """Return every figure as SVG, by its path in the documentation."""
    made = (coverage(), medians(), judge_floor(), gates(), sizes())
    return {f"figures/{figure.name}.svg": figure.wide.svg for figure in made}


def _figure(named: Mapping[str, Estimate], name: str, title: str, *, signed: bool = False) -> Figure:
    columns = [field.name for field in fields(Estimate)]
    rows = [{"of": of, **{c: getattr(one, c) for c in columns}} for of, one in named.items()]
    return forest(pd.DataFrame(rows), label="of", name=name, title=title, signed=signed)


def coverage() -> Figure:
    """How often does an 80% interval hold the truth, when trials are pooled, and when cases are the unit?"""
    named = {}
    for trials in (1, 3, 5, 10):
        world = World(cases=100, trials=trials, mean=0.6, correlation=0.5)
        for what, method in (("pooled", _pooled), ("by case", _by_case)):
            found = diagnose(method, world, reps=DRAWS, rng=np.random.default_rng(trials))
            kept = stats.wilson(round(found.coverage * DRAWS), DRAWS)
            named[f"{what}, {trials} trial{'s' * (trials > 1)}"] = kept
    return _figure(named, "coverage", "How often an 80% interval holds the truth")


def _pooled(sample: Sample, rng: np.random.Generator) -> Estimate:
    return stats.wilson(int(sample.scores.sum()), sample.scores.size, level=0.80)


def _by_case(sample: Sample, rng: np.random.Generator) -> Estimate:
    return stats.pass_rate(
        sample.scores.sum(axis=1), np.full(len(sample.scores), sample.scores.shape[1]), level=0.80
    )


def medians() -> Figure:
    """What do the lift of means and the lift of medians converge to, where the true lift is one half?"""
    many = replace(PROMPTS, cases=40_000)
    on, off = (
        draw(replace(many, effect=by), np.random.default_rng(3)).scores for by in (PROMPTS.effect, 0.0)
    )
    pairs = stats.Pairs(candidate=on.mean(axis=1), baseline=off.mean(axis=1), trials=many.trials)
    rng = np.random.default_rng(4)
    named = {
        "lift of means": stats.lift(pairs, rng=rng, level=0.80),
        "lift of medians of 3": stats.lift_of_medians(on, off, rng=rng, level=0.80),
    }
    return _figure(named, "medians", "40,000 cases whose true lift is 0.50")


def judge_floor() -> Figure:
    """Below which difference of two runs of 50 cases may it be a judge that flips one verdict in ten?"""
    rng = np.random.default_rng(5)
    passes = rng.random(200) < 0.6
    wrong = rng.random((200, 2)) < 0.053  # two verdicts of one text then differ one time in ten
    verdicts = np.where(wrong, ~passes[:, None], passes[:, None]).astype(float)
    noise = stats.judge_noise(verdicts.ravel(), transcripts=np.repeat(np.arange(200), 2), level=0.80)
    named = {
        f"asked {n} time{'s' * (n > 1)} a text": stats.difference_floor(noise, judgements=50 * n)
        for n in (1, 3, 5, 10)
    }
    return _figure(named, "judge-floor", "Noise floor of a difference of two runs of 50 texts")


def gates() -> Figure:
    """How often does the older gate block, and how often ours, at each true drop of the lift?"""
    rng = np.random.default_rng(6)
    older = [
        stats.legacy_operating_characteristic(
            PROMPTS, rng=rng, drop=float(drop), reps=DRAWS if drop else NIGHTS
        ).estimate
        for drop in DROPS
    ]
    # What a night's lift of means varies by: both arms' trials within cases, by the delta method.
    fails = 1 - PROMPTS.mean, 1 - PROMPTS.mean - PROMPTS.effect
    off, on = (f * (1 - f) * (1 - PROMPTS.correlation) / (PROMPTS.cases * PROMPTS.trials) for f in fails)
    spread = sqrt(on / fails[0] ** 2 + off * fails[1] ** 2 / fails[0] ** 4)
    rule = Rule(margin=0.2, looks=1)
    ours = stats.blocking_curve(DROPS, spread, HISTORY, rule)
    curves = {
        "three verdicts": list(zip(map(float, DROPS), map(float, ours), strict=True)),
        "older gate": list(zip(map(float, DROPS), older, strict=True)),
    }
    return operating_curve(curves, margin=rule.margin, alpha=rule.alpha, power=rule.power, name="gates")


def sizes() -> Figure:
    """What can be said of a suite that passes four cases of five, by how many cases it has?"""
    named = {}
    for cases in (1, 5, 10, 20, 50, 100):
        passed = np.tile([1.0, 1.0, 1.0, 1.0, 0.0], -(-cases // 5))[:cases]
        named[f"{cases} case{'s' * (cases > 1)}"] = stats.mean_score(passed, level=0.80)
    return _figure(named, "sizes", "Four of five pass: what is known with so many cases")


if __name__ == "__main__":  # the figure of README, which is shown where nothing is built
    (Path(__file__).parents[1] / "images" / "gates.svg").write_text(gates().wide.svg, "utf-8")
