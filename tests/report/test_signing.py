"""A signature tells who published: by a key that is known, over this very manifest, for nothing but reports."""

import shutil
import subprocess

import pytest

from evalstats.errors import ReportError, UsageError
from evalstats.report import signing
from evalstats.report.integrity import verify

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen")


@pytest.fixture
def key(tmp_path):
    return make_key(tmp_path / "key")


def make_key(path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path


def allow(tmp_path, *keys):
    file = tmp_path / "allowed_signers"
    file.write_text("".join(f"{k.name}@example.org {k.with_suffix('.pub').read_text()}" for k in keys))
    return file


def test_the_signer_is_named_and_the_bundle_stays_as_it_was(publish, tmp_path, key):
    folder, _ = publish()
    before = sorted(p.relative_to(folder) for p in folder.rglob("*"))
    assert signing.sign(folder, key) == folder.parent / f"{folder.name}.sig"
    assert sorted(p.relative_to(folder) for p in folder.rglob("*")) == before
    assert verify(folder) == []
    assert signing.signer(folder, allow(tmp_path, key)) == ("key@example.org", [])


def test_openssh_alone_agrees(publish, tmp_path, key):
    folder, _ = publish()
    signature = signing.sign(folder, key)
    command = ["ssh-keygen", "-Y", "verify", "-f", str(allow(tmp_path, key)), "-I", "key@example.org"]
    command += ["-n", "evalstats-report", "-s", str(signature)]
    manifest = (folder / "manifest.json").read_bytes()
    assert subprocess.run(command, input=manifest, capture_output=True, check=False).returncode == 0
    assert subprocess.run(command, input=manifest + b" ", capture_output=True, check=False).returncode != 0


def problem(folder, signers):
    name, findings = signing.signer(folder, signers)
    assert name is None
    (finding,) = findings
    return str(finding)


def test_what_is_unsigned_strange_or_of_another_version_is_told(publish, tmp_path, key):
    folder, _ = publish("one")
    other, _ = publish("two")
    known = allow(tmp_path, key)
    assert "nobody signed this version" in problem(folder, known)
    signing.sign(folder, make_key(tmp_path / "stranger"))
    assert "is by none of the signers in allowed_signers" in problem(folder, known)
    shutil.copy(signing.sign(other, key), signing.signature_of(folder))
    assert "does not sign this manifest" in problem(folder, known)
    signing.signature_of(folder).write_bytes(b"nonsense")
    assert "is by none of the signers" in problem(folder, known)


def test_a_signature_for_something_else_is_none(publish, tmp_path, key):
    folder, _ = publish()
    command = ["ssh-keygen", "-Y", "sign", "-n", "file", "-f", str(key)]
    done = subprocess.run(
        command, input=(folder / "manifest.json").read_bytes(), capture_output=True, check=True
    )
    signing.signature_of(folder).write_bytes(done.stdout)
    assert "does not sign this manifest" in problem(folder, allow(tmp_path, key))


def test_what_was_edited_is_not_signed(publish, key):
    folder, _ = publish()
    (folder / "report.html").write_bytes(b"<p>Hello")
    with pytest.raises(ReportError, match=r"only what is intact is signed: report\.html"):
        signing.sign(folder, key)
    assert not signing.signature_of(folder).exists()


def test_a_key_that_is_not_there_or_none_is_one_line(publish, tmp_path, monkeypatch, key):
    folder, _ = publish()
    with pytest.raises(UsageError, match="no such key"):
        signing.sign(folder, tmp_path / "nowhere")
    (tmp_path / "none").write_text("no key")
    (tmp_path / "none").chmod(0o600)
    with pytest.raises(UsageError, match="the key cannot sign"):
        signing.sign(folder, tmp_path / "none")
    with pytest.raises(UsageError, match="no such file of allowed signers"):
        signing.signer(folder, tmp_path / "nowhere")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UsageError, match="ssh-keygen is not here"):
        signing.sign(folder, key)
