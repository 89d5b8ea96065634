"""Keeps a copy of every file that is deleted below LEAK_WORLD, unless it lies in a private place."""

import contextlib
import os
import sys
import time

WORLD, GRAVES = os.environ.get("LEAK_WORLD"), os.environ.get("LEAK_GRAVES")
PRIVATE = os.environ.get("LEAK_PRIVATE", "").split(os.pathsep)


def bury(event, args):
    if event != "os.remove":
        return
    with contextlib.suppress(OSError, ValueError):
        name, folder = os.fsdecode(args[0]), args[1]
        name = (
            os.path.join(os.readlink(f"/proc/self/fd/{folder}"), name)
            if folder >= 0
            else os.path.abspath(name)
        )
        if name.startswith(WORLD + "/") and not any(name.startswith(f"{p}/") for p in PRIVATE):
            with open(name, "rb") as file:
                data = file.read()
            with open(
                f"{GRAVES}/{os.getpid()}-{time.time_ns()}-{os.path.basename(name)[-60:]}", "wb"
            ) as file:
                file.write(data)


if WORLD and GRAVES:
    sys.addaudithook(bury)
