"""The packaged model, really served: it answers on loopback, stops when it is told to, and leaves nothing behind."""

import os
import signal
import socket
import subprocess
import sys

import httpx
import pytest

from evalstats.cli import run_command
from evalstats.errors import AdapterError, UsageError
from evalstats.runner import local_model

here = pytest.mark.skipif(local_model.why_not() is not None, reason="the extra local-llm is not installed")


@here
def test_it_goes_on_with_a_text_and_ends_with_the_block():
    with local_model.running() as url:
        asked = {
            "model": local_model.MODEL,
            "prompt": "one, two, three, four,",
            "max_tokens": 4,
            "temperature": 0,
        }
        answer = httpx.post(f"{url}/completions", json=asked, timeout=60, trust_env=False).json()
        assert "five" in answer["choices"][0]["text"]
        assert answer["usage"]["completion_tokens"] > 0
        with socket.create_connection((httpx.URL(url).host, httpx.URL(url).port), timeout=5):
            pass
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/models", timeout=5, trust_env=False)


@here
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_the_command_serves_until_it_is_told_to_stop(how):
    command = [sys.executable, "-m", "evalstats", "local-llm", "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None and server.stderr is not None
        url = server.stdout.readline().strip()
        try:
            assert url.startswith("http://127.0.0.1:") and url.endswith("/v1")
            assert httpx.get(f"{url}/models", timeout=30, trust_env=False).status_code == 200
        finally:
            server.send_signal(how)
        assert server.wait(20) == 0
        assert "gemma3-270m is ready" in server.stderr.read()


@here
def test_a_port_that_is_taken_is_one_line(capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run_command(["local-llm", "serve", "--port", str(port)]) == 2
    assert f"port {port} cannot be had: Address already in use" in capsys.readouterr().err


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "example.org"])
def test_other_machines_are_not_served(host):
    with pytest.raises(UsageError, match="the model is served on loopback only"):
        local_model.serve(0, print, host=host)


def test_without_the_extra_it_says_how_to_get_it(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    assert "install the extra: pip install 'evalstats-notebooks[local-llm]'" in str(local_model.why_not())
    with pytest.raises(AdapterError):
        local_model.serve(0, print)
    assert run_command(["local-llm", "serve", "--port", "0"]) == 3
    assert "there is no local model here" in capsys.readouterr().err


@here
def test_weights_are_put_together_whole_or_not_at_all(tmp_path, monkeypatch):
    class Weights:
        @staticmethod
        def default_output_path():
            return str(tmp_path / "weights.gguf")

        @staticmethod
        def assemble(path):
            path.write_bytes(b"half")
            raise OSError("No space left on device")

    with pytest.raises(OSError, match="No space"):
        local_model._put_together(Weights)
    assert os.listdir(tmp_path) == []
