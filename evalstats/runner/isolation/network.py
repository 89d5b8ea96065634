"""A trial without a network.

A privileged runner keeps one network namespace that leads nowhere and starts each command inside it: the thread
enters for the moment of the start and comes back, which costs microseconds. All trials of a run share it, so they
may meet on its loopback, as they may on the machine's. Without the privilege ``bwrap`` makes one for each trial.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
import threading
from collections.abc import Iterator

_CLONE_NEWNET = 0x4000_0000
_OURS = "/proc/thread-self/ns/net"
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1
_FLAGS = struct.Struct("16sh22x")  # struct ifreq: the name of an interface and its flags


class NoNetwork:
    """A network namespace with nothing in it but a loopback. Raises OSError where none can be made."""

    def __init__(self) -> None:
        made: list[int | OSError] = []
        maker = threading.Thread(target=_make, args=(made,))  # whose end leaves our own threads as they were
        maker.start()
        maker.join()
        (nowhere,) = made
        if isinstance(nowhere, OSError):
            raise nowhere
        self._nowhere = nowhere
        self._home = os.open(_OURS, os.O_RDONLY)

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Have this thread, and what it starts meanwhile, in the namespace."""
        _enter(self._nowhere)
        try:
            yield
        finally:
            _enter(self._home)

    def close(self) -> None:
        """Give the namespace back; it goes when its last process does."""
        os.close(self._nowhere)
        os.close(self._home)


def _make(made: list[int | OSError]) -> None:
    try:
        if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET) != 0:
            raise OSError(number := ctypes.get_errno(), os.strerror(number))
        _raise_loopback()
        made.append(os.open(_OURS, os.O_RDONLY))
    except OSError as error:
        made.append(error)


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        name, flags = _FLAGS.unpack(fcntl.ioctl(any_socket, _SIOCGIFFLAGS, _FLAGS.pack(b"lo", 0)))
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, _FLAGS.pack(name, flags | _IFF_UP))


def _enter(namespace: int) -> None:
    if ctypes.CDLL(None, use_errno=True).setns(namespace, _CLONE_NEWNET) != 0:
        raise OSError(number := ctypes.get_errno(), os.strerror(number))
