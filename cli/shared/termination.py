"""Ends a command that draws on a terminal at SIGTERM, also if the terminal takes no more output.

A write to a terminal that is not read blocks for ever: in the event loop, or in the thread of the live view,
for which the end of the view waits.
"""

import asyncio
import os
import signal
import sys
import termios
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Thread

TERMINATED = 128 + signal.SIGTERM
PATIENCE_SECONDS = 2.0
"""An orderly end restores the screen, and takes a tenth of a second."""


def end_at_sigterm(end: Callable[[], object]) -> None:
    """Call `end` in the running event loop at SIGTERM, and leave the process if it has not ended then."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end)
    leaving = Thread(target=_leave, args=[_restoring()], daemon=True)
    # The handler of the event loop lets the kernel restart a write, and no Python code would run. asyncio
    # learns of the signal by its wake-up descriptor.
    signal.signal(signal.SIGTERM, lambda *_: None if leaving.is_alive() else leaving.start())


def _restoring() -> Callable[[], object]:
    """A call that restores the modes of the keyboard, which needs no write."""
    with suppress(termios.error, OSError, ValueError):  # standard input is no terminal
        keyboard = sys.stdin.fileno()
        return partial(termios.tcsetattr, keyboard, termios.TCSANOW, termios.tcgetattr(keyboard))
    return lambda: None


def _leave(restore: Callable[[], object]) -> None:
    time.sleep(PATIENCE_SECONDS)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})  # would stop a process in the background
    with suppress(termios.error):
        restore()
    os._exit(TERMINATED)
