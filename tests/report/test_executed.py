import json
import sys
from pathlib import Path

import evalstats
from evalstats.report.executed import normalised, scrubbed


def cell(**changes):
    given = {
        "cell_type": "code",
        "id": "x7f",
        "metadata": {},
        "execution_count": 1,
        "outputs": [],
        "source": ["1"],
    }
    return {**given, **changes}


def notebook(*cells):
    return {
        "cells": list(cells),
        "metadata": {"papermill": {"start_time": "now"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def stream(text, name="stdout"):
    return {"output_type": "stream", "name": name, "text": text}


def read(work, *cells):
    (work / "executed.ipynb").write_text(json.dumps(notebook(*cells)))
    return json.loads(normalised(work, b"{}"))


def test_times_ids_and_metadata_go(tmp_path):
    times = {
        "papermill": {"duration": 1.5},
        "execution": {"iopub.status.busy": "now"},
        "tags": ["parameters"],
    }
    document = read(tmp_path, cell(metadata=times), cell(id="other"))
    assert [c["id"] for c in document["cells"]] == ["cell-01", "cell-02"]
    assert [c["metadata"] for c in document["cells"]] == [{"tags": ["parameters"]}, {}]
    assert document["metadata"]["kernelspec"]["name"] == "python3" and "papermill" not in document["metadata"]


def test_the_markers_of_papermill_go(tmp_path):
    marker = cell(cell_type="markdown", metadata={"tags": ["papermill-error-cell-tag"]})
    assert len(read(tmp_path, marker, cell())["cells"]) == 1


def test_pieces_of_a_stream_are_joined(tmp_path):
    pieces = [stream("a\n"), stream(["b\n", "c\n"]), stream("w\n", "stderr"), stream("d\n")]
    (only,) = read(tmp_path, cell(outputs=pieces))["cells"]
    assert [(o["name"], o["text"]) for o in only["outputs"]] == [
        ("stdout", "a\nb\nc\n"), ("stderr", "w\n"), ("stdout", "d\n"),
    ]  # fmt: skip


def test_a_notebook_that_was_cut_off_is_replaced_by_its_source(tmp_path):
    (tmp_path / "executed.ipynb").write_bytes(b'{"cells": [')
    assert (
        json.loads(normalised(tmp_path, json.dumps(notebook(cell())).encode()))["cells"][0]["id"] == "cell-01"
    )


def test_this_machine_does_not_show(tmp_path):
    root = Path(evalstats.__path__[0]).parent
    text = f"{tmp_path}/inputs {root}/evalstats/x.py {sys.prefix}/lib /tmp/ipykernel_77/99.py:3 <A at 0x7f00aa11bb22>"
    assert (
        scrubbed(text, tmp_path)
        == "<work>/inputs <evalstats>/evalstats/x.py <python>/lib <cell>:3 <A at 0x…>"
    )


def test_credentials_do_not_show(tmp_path):
    assert "sk-ant-" not in scrubbed("key sk-ant-api03-abcdefghijklmnopqrstuvwx", tmp_path)
