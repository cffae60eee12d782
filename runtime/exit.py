"""Leaving: how a process that has talked to Temporal ends."""

import contextlib
import os
import sys
from typing import NoReturn


def leave(code: int) -> NoReturn:
    """End this process at once with that exit code, after what it has said is out.

    The Temporal core has threads of its own. One that calls into an interpreter which is being taken down
    aborts the process (`PyGILState_Release`, exit code 134), about one time in eight; so it is not taken
    down. `atexit` and `finally` of what still runs are skipped: call it when nothing is left to do.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is None:  # it was closed when the process began
            continue
        with contextlib.suppress(OSError):  # nobody reads it any more, or its disk is full
            stream.flush()
    os._exit(code)
