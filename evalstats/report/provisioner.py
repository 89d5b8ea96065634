"""How Jupyter gets a kernel that is already there: the fork that waits behind the runner of one notebook.

Jupyter asks for provisioners by an installed entry point. A runner registers this one by hand, so that it works in
a checkout, in a wheel and in a test alike.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
from importlib.metadata import EntryPoint
from typing import Any

from jupyter_client.provisioning.factory import KernelProvisionerFactory
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

from evalstats.report.warm import KERNEL_VARIABLE, PROVISIONER


class WaitingKernel:
    """The fork behind this process, as :class:`LocalProvisioner` expects a process to be."""

    stdin = stdout = stderr = None

    def __init__(self, told: str) -> None:
        pid, handle = told.split()
        self.pid = int(pid)
        self.returncode: int | None = None
        self._connection = socket.socket(fileno=int(handle))

    def begin(self, arguments: list[str], environment: dict[str, str], folder: str) -> None:
        """Tell it which kernel to be."""
        wanted = {"arguments": arguments, "environment": environment, "folder": folder}
        with self._connection as connection:
            connection.sendall(json.dumps(wanted).encode())

    def poll(self) -> int | None:
        """Return its exit code, None while it runs."""
        return self._reap(os.WNOHANG)

    def wait(self) -> int | None:
        """Wait until it has ended."""
        return self._reap(0)

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def _reap(self, options: int) -> int | None:
        if self.returncode is None:
            with contextlib.suppress(ChildProcessError):
                pid, status = os.waitpid(self.pid, options)
                self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode


class WarmProvisioner(LocalProvisioner):
    """Gives the kernel that waits; a second one, for which no fork waits, is started cold."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        """Start the waiting kernel with what ``cmd`` says after the name of the program."""
        told = os.environ.pop(KERNEL_VARIABLE, "")
        if not told:
            return await super().launch_kernel(cmd, **kwargs)
        environment = {k: v for k, v in (kwargs.get("env") or os.environ).items() if k != KERNEL_VARIABLE}
        kernel = WaitingKernel(told)
        kernel.begin(cmd[cmd.index("-f") :], environment, str(kwargs.get("cwd") or os.getcwd()))
        self.process = kernel  # type: ignore[assignment]  # all that is asked of a Popen here
        self.pid = self.pgid = kernel.pid  # it leads a group of its own
        return self.connection_info


def register() -> None:
    """Make the provisioner known to Jupyter, in this process."""
    value = f"{WarmProvisioner.__module__}:{WarmProvisioner.__qualname__}"
    entry = EntryPoint(PROVISIONER, value, KernelProvisionerFactory.GROUP_NAME)
    KernelProvisionerFactory.instance().provisioners[PROVISIONER] = entry
