"""What this machine lets the runner have: a failure for want of it is no outcome of a trial."""

from __future__ import annotations

import errno
import os
import resource

from evalstats.errors import AdapterError

# Open files, processes, memory. A trial that meets one of these has not run: it is run again on resume.
_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM}
_FILES_OF_A_TRIAL = 8  # output, input, the process, and what starting it needs for a moment
_FILES_OF_THE_RUNNER = 24  # beside those that are open: journals, artifacts, the loop


def is_exhausted(error: BaseException) -> bool:
    """Return whether an error means that this machine had no more to give to the runner."""
    return isinstance(error, OSError) and error.errno in _EXHAUSTED


def exhausted(error: OSError) -> AdapterError:
    """Return the error to raise when the machine had no more to give."""
    return AdapterError(
        f"this machine has no room for another trial: {error.strerror}; resume with fewer --jobs"
    )


def jobs_that_fit(jobs: int) -> int:
    """Return how many trials may run at once, at most ``jobs``, under the limit of open files."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return jobs
    free = limit - len(os.listdir("/proc/self/fd")) - _FILES_OF_THE_RUNNER
    return max(1, min(jobs, free // _FILES_OF_A_TRIAL))
