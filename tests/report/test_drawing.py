"""A notebook asks its builder for drawings, and draws by itself where nobody answers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from evalstats.report import drawing

SPEC = {
    "data": {"values": [{"a": 1}, {"a": 2}]},
    "mark": "bar",
    "encoding": {"x": {"field": "a", "type": "quantitative"}},
}
# A notebook that cannot draw by itself.
ASKS = f"""
import sys
sys.modules["vl_convert"] = None
from evalstats.report import drawing
print(drawing.svg({SPEC!r}), end="")
"""


def asked(place: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, drawing.PLACE_VARIABLE: str(place)}
    return subprocess.run(
        [sys.executable, "-c", ASKS], env=environment, capture_output=True, text=True, check=False
    )


def test_the_builder_draws_the_same(tmp_path: Path) -> None:
    place = tmp_path / "draw"
    with drawing.offered(place):
        done = asked(place)
    assert done.stdout == drawing.svg(SPEC)
    assert "ModuleNotFoundError" in asked(place).stderr  # nobody answers any more, and it cannot by itself


def test_without_an_answer_a_notebook_draws_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(drawing.PLACE_VARIABLE, str(tmp_path / "nobody"))
    assert drawing.svg(SPEC).startswith("<svg")


def test_a_path_too_long_for_a_socket_stops_nothing(tmp_path: Path) -> None:
    with drawing.offered(tmp_path / ("long" * 40)):
        assert drawing.svg(SPEC).startswith("<svg")


def test_what_vega_refuses_is_told_to_the_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "draw"
    monkeypatch.setenv(drawing.PLACE_VARIABLE, str(place))
    with drawing.offered(place), pytest.raises(ValueError, match="conversion failed"):
        drawing.svg({**SPEC, "mark": "no such mark"})
