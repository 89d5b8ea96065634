"""Where the suite forbids the network a trial has none, and where that cannot be, nothing else is said."""

import os

import pytest

from evalstats import contract
from evalstats.contract import Isolation

FORBIDDEN = {"network": "forbidden"}
CALL = "import socket; print(socket.create_connection(('127.0.0.1', {port}), 5).recv(9).decode())"
ALONE = """
import socket
with socket.create_server(("127.0.0.1", 0)) as server:
    with socket.create_connection(server.getsockname(), 5):
        print("met on", *sorted(name for _, name in socket.if_nameindex() if name == "lo"))
"""


@pytest.fixture
def called(make_suite, case, go, listener):
    """Return a function that has a trial call this machine, and gives back what came of it."""

    def call(environment):
        suite = make_suite(
            case("a", argv=["python3", "-c", CALL.format(port=listener)]), environment=environment
        )
        ran = go(suite)
        return ran.trials[0], ran.result.records[0], ran.blobs

    return call


@pytest.mark.usefixtures("needs_namespace")
def test_a_trial_without_a_network_does_not_even_reach_this_machine(called):
    home = os.readlink("/proc/thread-self/ns/net")
    trial, record, blobs = called(FORBIDDEN)
    assert (trial.passed, trial.isolation) == (False, Isolation.SUBREAPER)
    assert record["environment"]["network_access"] == "none"
    assert b"ConnectionRefusedError" in blobs.get(trial.artifacts["stderr"])
    kept = contract.parse_json(blobs.get(trial.artifacts["isolation"]).decode())
    assert not contract.problems(kept, "isolation.v1")
    assert (kept["processes"], kept["network"]) == ("subreaper", "none")
    assert os.readlink("/proc/thread-self/ns/net") == home


def test_a_suite_that_does_not_forbid_it_has_one(called):
    trial, record, _ = called({"network": "allowed"})
    assert (trial.passed, record["environment"]["network_access"]) == (True, "unrestricted")
    assert "isolation" not in trial.artifacts


@pytest.mark.usefixtures("needs_namespace")
def test_a_trial_may_talk_to_itself(trial_of):
    _, out, _ = trial_of(argv=["python3", "-c", ALONE], suite={"environment": {"offline_required": True}})
    assert out == b"met on lo\n"


@pytest.mark.usefixtures("needs_bwrap", "no_namespace")
def test_bwrap_takes_the_network_where_we_may_not(called):
    trial, record, _ = called(FORBIDDEN)
    assert (trial.passed, trial.isolation) == (False, Isolation.SUBREAPER)
    isolation = record["environment"]["isolation"]
    assert (record["environment"]["network_access"], isolation["files"]) == ("none", ["writable"])


@pytest.mark.usefixtures("no_namespace", "no_bwrap")
def test_where_it_cannot_be_taken_the_record_says_so(called):
    trial, record, _ = called(FORBIDDEN)
    assert (trial.passed, record["environment"]["network_access"]) == (True, "unrestricted")
    assert record["notes"] == ["the suite forbids the network, and 1 of 1 trials had one"]
