"""A small randomised solver: local search (WalkSAT) on generated puzzles, within a fixed number of flips.

    python3 solver.py puzzle=formula size=40 load=4.2 instance=1 flips=200

The puzzle follows from the arguments alone; only the search is random, and EVALSTATS_SEED repeats it. Its
skill is skill.json, which a start-up hook loads unless AGENTOPS_HOOKS_DISABLED=1. Prints one JSON line.
Exit status 0: solved and checked; 1: not solved; 2: the arguments make no puzzle.
"""

import json
import os
import random
import sys
from collections import defaultdict
from itertools import combinations, pairwise, product

PLAIN = {"noise": 0.0, "restart_after": 0}  # without the skill: always the cheapest flip, never a fresh start


def load_skill():
    """The start-up hook: return the tuned settings, or None when hooks are switched off."""
    if os.environ.get("AGENTOPS_HOOKS_DISABLED") == "1":
        return None
    with open(os.path.join(os.path.dirname(__file__), "skill.json"), encoding="utf-8") as file:
        return json.load(file)


# Puzzles are lists of clauses. Literal 3 asks that variable 3 is true, -3 that it is false.
def formula(rng, size, load):
    """Random clauses of three literals, ``load`` a variable, that share a hidden answer."""
    hidden = [rng.choice((1, -1)) * v for v in range(1, size + 1)]
    clauses = []
    while len(clauses) < round(load * size):
        clause = [rng.choice((1, -1)) * v for v in rng.sample(range(1, size + 1), 3)]
        if any(literal in hidden for literal in clause):
            clauses.append(clause)
    return clauses


def parity(rng, size, load):
    """Sums of three bits, ``load`` a bit, known only to be odd or even; they share a hidden answer."""
    hidden = [rng.choice((1, -1)) * v for v in range(1, size + 1)]
    triples = [rng.sample(hidden, 3) for _ in range(round(load * size))]
    return [[i * a, j * b, i * j * c] for a, b, c in triples for i, j in product((1, -1), repeat=2)]


def queens(_rng, size, _load):
    """A queen in each row of a board so that none attacks another."""
    rows = [[size * row + column + 1 for column in range(size)] for row in range(size)]
    pairs = combinations(product(range(size), repeat=2), 2)
    attacks = [(r, c, s, d) for (r, c), (s, d) in pairs if 0 in (r - s, c - d, abs(r - s) - abs(c - d))]
    return rows + [[-rows[r][c], -rows[s][d]] for r, c, s, d in attacks]


def chain(rng, size, _load):
    """The first link is true, and each link implies the next: only all true will do."""
    order = rng.sample(range(1, size + 1), size)
    return [[order[0]]] + [[-link, following] for link, following in pairwise(order)]


def colouring(rng, size, load):
    """Three colours for ``size`` points, joined by ``load`` edges a point, each between unlike colours."""
    points = [[3 * point + 1, 3 * point + 2, 3 * point + 3] for point in range(size)]
    unlike = [(a, b) for a, b in combinations(range(size), 2) if a % 3 != b % 3]
    edges = rng.sample(unlike, round(load * size))
    return points + [[-x, -y] for a, b in edges for x, y in zip(points[a], points[b], strict=True)]


PUZZLES = {make.__name__: make for make in (formula, parity, queens, chain, colouring)}


class Search:
    """An assignment and its broken clauses, kept up to date flip by flip."""

    def __init__(self, clauses, rng):
        self.clauses, self.rng = clauses, rng
        self.holders = defaultdict(list)  # literal -> indices of the clauses that hold it
        for index, clause in enumerate(clauses):
            for literal in clause:
                self.holders[literal].append(index)
        self.restart()

    def restart(self):
        variables = sorted({abs(literal) for literal in self.holders})
        self.true = {v * self.rng.choice((1, -1)) for v in variables}  # the literals that hold
        self.support = [sum(literal in self.true for literal in clause) for clause in self.clauses]
        self.broken = [index for index, count in enumerate(self.support) if count == 0]

    def cost(self, literal):
        """How many clauses break when ``literal`` becomes true?"""
        return sum(self.support[index] == 1 for index in self.holders[-literal])

    def flip(self, literal):
        self.true ^= {literal, -literal}
        for index in self.holders[-literal]:
            self.support[index] -= 1
            if self.support[index] == 0:
                self.broken.append(index)
        for index in self.holders[literal]:
            if self.support[index] == 0:
                self.broken.remove(index)
            self.support[index] += 1

    def step(self, noise):
        """Mend a broken clause: freely if possible, else at random (chance ``noise``), else at least cost."""
        clause = self.clauses[self.rng.choice(self.broken)]
        costs = [self.cost(literal) for literal in clause]
        if min(costs) == 0 or self.rng.random() >= noise:
            clause = [literal for literal, cost in zip(clause, costs, strict=True) if cost == min(costs)]
        self.flip(self.rng.choice(clause))


def solve(clauses, skill, flips, rng):
    """Search until nothing is broken or the flips are used up; a fresh start costs one flip."""
    search, used = Search(clauses, rng), 0
    while search.broken and used < flips:
        used += 1
        if skill["restart_after"] and used % skill["restart_after"] == 0:
            search.restart()
        else:
            search.step(skill["noise"])
    return search, used


def main(arguments):
    try:
        given = dict(argument.split("=", 1) for argument in arguments)
        size, load, flips = int(given["size"]), float(given.get("load", 0)), int(given["flips"])
        rng = random.Random(f"{given['puzzle']} {size} {load} {given['instance']}")
        clauses = PUZZLES[given["puzzle"]](rng, size, load)
        if flips < 1 or not clauses:
            raise ValueError("nothing to solve")
    except (ArithmeticError, LookupError, ValueError) as error:
        print(f"solver: no puzzle in these arguments ({error}); see the top of solver.py", file=sys.stderr)
        return 2
    skill = load_skill()
    search, used = solve(clauses, skill or PLAIN, flips, random.Random(os.environ.get("EVALSTATS_SEED")))
    # The check trusts no count that the search kept: it reads every clause again.
    checked = not any(search.true.isdisjoint(clause) for clause in clauses)
    result = {"solved": not search.broken, "checked": checked, "steps": used, "skill": skill is not None}
    result |= {"unused": round(1 - used / flips, 4), "answer": sorted(search.true, key=abs)}
    print(json.dumps(result, separators=(",", ":")))
    return 0 if checked else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
