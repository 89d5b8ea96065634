"""Means of isolation, where this machine has them; tests that need one it lacks are skipped and say why."""

import contextlib
import os
import socket
import subprocess
import threading

import pytest

from evalstats.runner.isolation import cgroups, ladder

# What a machine has is asked here without our own probes: one that is wrong must fail tests, not skip them.


@pytest.fixture
def needs_bwrap():
    """Skip where bwrap does not work here."""
    words = "bwrap --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --unshare-pid --unshare-net -- true"
    try:
        done = subprocess.run(words.split(), capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("no bwrap: it is not installed")
    if done.returncode:
        pytest.skip(f"no bwrap: {done.stderr.strip()}")


@pytest.fixture
def needs_groups():
    """Skip where no control groups can be made here."""
    if not (places := cgroups.places()):
        pytest.skip("no control groups of version 2 are mounted")
    for place in places:
        folder = place / f"evalstats-{os.getpid()}-test"
        with contextlib.suppress(OSError):
            folder.mkdir()
            has_kill = (folder / "cgroup.kill").exists()
            folder.rmdir()
            if has_kill:
                return
    pytest.skip("no control group can be made, or none can be killed as one")


@pytest.fixture
def needs_namespace():
    """Skip where this user may not make a network namespace."""
    done = subprocess.run(["unshare", "--net", "true"], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no network namespace: {done.stderr.strip()}")


@pytest.fixture
def no_groups(monkeypatch):
    """Have a machine on which no control group can be made."""
    monkeypatch.setattr(cgroups, "places", list)


@pytest.fixture
def no_bwrap(monkeypatch):
    """Have a machine on which bwrap is not installed."""
    monkeypatch.setattr(ladder, "_program", lambda: None)


@pytest.fixture
def no_namespace(monkeypatch):
    """Have a user who may not make a network namespace."""

    def refused():
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(ladder, "NoNetwork", refused)


@pytest.fixture
def fake_bwrap(tmp_path, monkeypatch):
    """Return a function that puts a shell script called bwrap first on PATH."""

    def put(script):
        program = tmp_path / "bin" / "bwrap"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")

    return put


@pytest.fixture
def listener():
    """Return the port of a server on the loopback of this machine that says hello."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            while True:
                try:
                    with server.accept()[0] as met:
                        met.sendall(b"hello")
                except OSError:
                    return

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
