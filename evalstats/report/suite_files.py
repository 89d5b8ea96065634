"""The file of a suite and what it stands on: found for a notebook, and handed to it as a copy while a report is built.

The copy has no path of this machine in it, and its digests stand in the manifest, so that a report that reads a
suite's file stands on digested inputs as any other does.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from evalstats import suite as suites
from evalstats.suite.fixtures import arm_files, is_inside_path, named_files

if TYPE_CHECKING:
    from evalstats.report.provenance import Job
    from evalstats.suite import Suite

SUITES = "suites"  # by this parameter, beside a store, a notebook says that it reads the suite's file


def find(place: str, suite_id: str) -> Suite | None:
    """Return the public suite of this id in the folder ``place``, here or above; None where there is none.

    Suites of the folder that cannot be read are passed over: they are not what is asked for.
    """
    if not place:
        return None
    for folder in (Path.cwd(), *Path.cwd().parents):
        if (folder / place).is_dir():
            found, _ = suites.load_all(folder / place)
            return next((s for s in found if s.id == suite_id and not s.is_private), None)
    return None


def freeze(job: Job, suite_id: str, folder: Path) -> Job:
    """Copy the suite's file and what it stands on into ``folder``, and let the notebook read that."""
    suite = find(str(job.parameters[SUITES]), suite_id)
    if suite is None:
        return replace(job, parameters={**job.parameters, SUITES: ""})
    root = suite.root
    for path in (suite.path.resolve(), *(root / name for name in _files(suite))):
        if path.is_relative_to(root) and path.exists():
            _copy(path, folder / path.relative_to(root))
    (folder / "evalstats.toml").touch()  # marks the root that fixtures are relative to
    hashes = suites.hashes(suite)
    digests = {f"suite {layer}": hashes[layer] for layer in ("raw", "scoring")}
    values = {**job.parameters, SUITES: folder.name}
    return replace(job, parameters=values, inputs={**job.inputs, **digests})


def _files(suite: Suite) -> Iterator[str]:
    """Yield each file or folder that the suite names, inside its repository."""
    named = [fixture["path"] for _, fixture in named_files(suite.document)]
    yield from filter(is_inside_path, dict.fromkeys([*named, *(n for _, n in arm_files(suite.document))]))


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        shutil.copyfile(source, target)
