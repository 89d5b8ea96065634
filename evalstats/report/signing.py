"""Who published this? A signature over the manifest of a version, by OpenSSH: nothing of ours is secret.

It lies beside the version, ``<version>.sig``, so that a bundle has the same bytes signed or not. Anyone with OpenSSH
can check it without us::

    ssh-keygen -Y verify -f allowed_signers -I ada@example.org -n evalstats-report -s 0001-….sig < manifest.json
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from evalstats import journal
from evalstats.errors import ReportError, UsageError
from evalstats.report import bundle
from evalstats.report.integrity import Finding, verify

PROGRAM, NAMESPACE = (
    "ssh-keygen",
    "evalstats-report",
)  # a signature made for something else is none of a report
_SECONDS = 60


def signature_of(version: Path) -> Path:
    """Return where the signature of a version lies, if there is one."""
    return version.parent / f"{version.name}.sig"


def sign(version: Path, key: Path) -> Path:
    """Sign an intact version with a private key of OpenSSH, and return the signature's path.

    Raises ReportError when the version is not what was published, UsageError when the key cannot be used.
    """
    version = Path(version).resolve()
    for finding in verify(version):
        raise ReportError(f"only what is intact is signed: {finding}", path=version)
    if not key.is_file():
        raise UsageError("no such key", path=key, field="--key")
    done = _run("sign", "-f", str(key), data=(version / bundle.MANIFEST).read_bytes())
    if done.returncode:
        raise UsageError(f"the key cannot sign: {_said(done)}", path=key, field="--key")
    journal.write_synced(signature_of(version), done.stdout)
    return signature_of(version)


def signer(version: Path, signers: Path) -> tuple[str | None, list[Finding]]:
    """Return who signed a version, among those whom a file of allowed signers names, and what is wrong.

    Raises UsageError when there is no such file.
    """
    version, file = Path(version).resolve(), f"../{signature_of(version).name}"
    if not signers.is_file():
        raise UsageError("no such file of allowed signers", path=signers, field="--signers")
    signature = signature_of(version)
    if not signature.is_file():
        return None, [Finding(file, "is missing: nobody signed this version")]
    known = _run("find-principals", "-s", str(signature), "-f", str(signers))
    names = known.stdout.decode("utf-8", "replace").split()
    if known.returncode or not names:
        return None, [Finding(file, f"is by none of the signers in {signers.name}")]
    name = names[0].split(",")[0]
    data = (version / bundle.MANIFEST).read_bytes()
    done = _run("verify", "-f", str(signers), "-I", name, "-s", str(signature), data=data)
    if done.returncode:
        return None, [Finding(file, f"does not sign this manifest: {_said(done)}")]
    return name, []


def _run(what: str, *options: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            [PROGRAM, "-Y", what, "-n", NAMESPACE, *options],
            input=data,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise UsageError(f"{PROGRAM} is not here; it comes with OpenSSH") from None
    except subprocess.TimeoutExpired:
        raise UsageError(
            f"{PROGRAM} did not answer within {_SECONDS} s; unlock the key with ssh-add"
        ) from None


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else f"exit code {done.returncode}"
