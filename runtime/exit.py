"""Ends a process that has used the Temporal SDK."""

import contextlib
import os
import sys
from typing import NoReturn


def leave(code: int) -> NoReturn:
    """Flush the standard streams and end this process at once with that exit code.

    The Temporal core has threads of its own. If one calls into the interpreter during its shutdown, the
    process aborts (`PyGILState_Release`, exit code 134), about one time in eight; so there is no shutdown.
    `atexit` and pending `finally` blocks are skipped: call this when all work is done.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is None:  # closed at the start of the process
            continue
        with contextlib.suppress(OSError):  # its reader has gone, or its disk is full
            stream.flush()
    os._exit(code)
