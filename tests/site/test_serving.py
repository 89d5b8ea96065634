"""The dashboard is shown over loopback: its files and nothing else, until it is told to stop."""

import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from evalstats.cli import run_command


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_is_served_over_loopback_until_it_is_told_to_stop(publish, decide, build, tmp_path, how):
    publish("lift", "demo")
    decide("demo")
    build()
    command = [sys.executable, "-m", "evalstats", "site", "serve", "--data", str(tmp_path), "--port", "0"]
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **piped) as server:
        assert server.stdout is not None and server.stderr is not None
        address = server.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        try:
            assert b"Where do the suites stand?" in urllib.request.urlopen(address, timeout=20).read()
            for wrong in ("suites/", "../gates/demo.jsonl", "%2e%2e/gates/demo.jsonl", "reports/"):
                with pytest.raises(urllib.error.HTTPError, match="404"):
                    urllib.request.urlopen(address + wrong, timeout=20)
        finally:
            server.send_signal(how)
        assert server.wait(10) == 0 and server.stderr.read() == ""


def test_what_cannot_be_served_is_one_line(publish, build, tmp_path, capsys):
    assert run_command(["site", "serve", "--data", str(tmp_path)]) == 2
    assert "no dashboard is here; `evalstats site build` makes it" in capsys.readouterr().err
    build()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run_command(["site", "serve", "--data", str(tmp_path), "--port", str(port)]) == 2
    assert f"port {port} cannot be had: Address already in use" in capsys.readouterr().err
