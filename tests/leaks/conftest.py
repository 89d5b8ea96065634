"""A small world with one private suite in it, and every command run over it."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


def _module(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"leaks_{name}", HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


scanning, planting = _module("scanning"), _module("planting")


@dataclass
class Said:
    """One command and what it wrote."""

    argv: list[str]
    code: int
    out: bytes
    err: bytes


@dataclass
class World:
    """Folders to leak into: a public repository with its data, a home and a place for temporary files.

    ``private`` is where private text may lie: the private suite's own folder and the private tree of the data.
    """

    root: Path
    plant: Any = field(default_factory=planting.Planter)

    def __post_init__(self) -> None:
        self.public = self.root / "public"
        self.suites, self.data = self.public / "evals", self.public / "data"
        self.hidden = self.suites / self.plant("suite folder")
        self.private = (self.hidden, self.data / "private")
        for name in ("home", "tmp", "graves", "out", "said"):
            (self.root / name).mkdir(parents=True)
        self.hidden.mkdir(parents=True)
        (self.public / "evalstats.toml").write_text("")

    def write(self, document: Any = None) -> None:
        """Write the private suite: as it is, or a broken one."""
        planting.write_suite(self.hidden, self.plant, document)

    @property
    def env(self) -> dict[str, str]:
        """Return the environment of a command: everything in it can be watched."""
        return {
            **{name: os.environ[name] for name in ("PATH", "VIRTUAL_ENV") if name in os.environ},
            "HOME": str(self.root / "home"),
            "TMPDIR": str(self.root / "tmp"),
            "PYTHONPATH": os.pathsep.join((str(HERE / "graves"), str(HERE.parents[1]))),
            "LEAK_WORLD": str(self.root),
            "LEAK_GRAVES": str(self.root / "graves"),
            "LEAK_PRIVATE": os.pathsep.join(map(str, self.private)),
            "BROWSER": "true",
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def drive(self, steps: list[list[str]], suites: list[str | None] | None = None) -> list[Said]:
        """Run commands one after the other, each in a process of its own, and return what they said.

        ``suites`` are the texts that the suite file is to have from a step on; None leaves it.
        """
        place = self.root / "said"
        texts = suites or [None] * len(steps)
        plan = [
            {"argv": argv, "cwd": str(self.hidden), "suite": text}
            for argv, text in zip(steps, texts, strict=True)
        ]
        (place / "plan.json").write_text(json.dumps(plan))
        command = [sys.executable, str(HERE / "drive.py"), str(place / "plan.json"), str(place)]
        subprocess.run(command, env=self.env, check=True)
        (place / "plan.json").unlink()
        return [self._said(argv, place / str(number)) for number, argv in enumerate(steps)]

    @staticmethod
    def _said(argv: list[str], place: Path) -> Said:
        files = [place.with_name(f"{place.name}.{end}") for end in ("out", "err", "code")]
        out, err, code = (file.read_bytes() for file in files)
        for file in files:
            file.unlink()
        return Said(argv, int(code), out, err)

    def start(self, *argv: str) -> subprocess.Popen[bytes]:
        """Start the real command line, to be stopped or killed."""
        pipe = subprocess.PIPE
        command = [sys.executable, "-m", "evalstats", *argv]
        return subprocess.Popen(command, cwd=self.hidden, env=self.env, stdout=pipe, stderr=pipe)

    def finish(self, *argv: str) -> Said:
        """Run the real command line and return what it said."""
        return said_by(self.start(*argv), argv)

    def leaks(self, said: list[Said], showing: frozenset[str]) -> list[str]:
        """Return what of the private suite came out: in what commands wrote, and in any file outside its places.

        What the caller typed may be said again. ``showing`` are the commands that may show an evaluator more.
        """
        scanner = scanning.Scanner(self.plant.secrets)
        found = []
        for one in said:
            typed = scanner.scan(" ".join(one.argv).encode())
            shows = "evaluator" in one.argv and any(" ".join(one.argv).startswith(f"{s} ") for s in showing)
            for name, text in (("out", b"" if shows else one.out), ("err", one.err)):
                if fields := scanner.scan(text) - typed:
                    found.append(
                        f"{name} of {' '.join(one.argv)}: {', '.join(sorted(fields))}: {text[:300]!r}"
                    )
        for path, fields in scanner.scan_tree(self.root, self.private).items():
            found.append(f"file {path}: {', '.join(sorted(fields))}")
        return found


def said_by(process: subprocess.Popen[bytes], argv: Sequence[str]) -> Said:
    """Return what a started command said, when it has ended."""
    out, err = process.communicate(timeout=120)
    return Said(list(argv), process.returncode, out, err)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    made = World(tmp_path_factory.mktemp("world"))
    made.write()
    public = made.suites / "door"
    public.mkdir()
    document = planting.public_document()
    (public / "suite.json").write_text(json.dumps(document))
    return made


@pytest.fixture
def scanner_of() -> Any:
    return scanning.Scanner


@pytest.fixture
def ending() -> Any:
    return said_by
