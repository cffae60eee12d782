"""Runs a program that ends when its parent process ends, for whatever reason.

`python bound.py PARENT PROGRAM [ARGUMENTS]` asks the kernel to kill this process when its parent is gone,
then becomes PROGRAM; exec keeps that request. So no child is left behind even if the parent is killed with
-9. This is a separate program, and not code between fork and exec, because the parent has threads (those of
the Temporal client), and locks that they hold at the fork would stay locked for ever.

The kernel means the parent's *thread*: start children from the main thread. Only Linux supports this;
elsewhere a parent that is killed with -9 leaves its children running.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

PR_SET_PDEATHSIG = 1


def bind(command: Sequence[str]) -> tuple[str, ...]:
    """The command that runs `command` bound to this process."""
    return (sys.executable, "-S", "-E", __file__, str(os.getpid()), *command)


def main() -> None:
    """Bind this process to its parent and become the program that the arguments name."""
    parent, *command = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):
        sys.exit("bound.py: the parent ended before its child began")
    os.execvp(command[0], command)  # noqa: S606  no shell is wanted


if __name__ == "__main__":
    main()
