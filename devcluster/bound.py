"""Run a program that ends when the process that started it ends, however that ends.

`python bound.py PARENT PROGRAM [ARGUMENTS]` asks the kernel to kill this process when its parent is
gone, then becomes PROGRAM; the request survives that. So nothing is left behind even when the parent
is killed with -9 and can end nobody. It is a program of its own, and not code that the parent runs
between fork and exec, because the parent has threads (those of the Temporal client), and after a
fork the locks that they held stay locked for ever.

The kernel means the parent's *thread*: start children from the main thread. Only Linux can do this;
elsewhere a parent that is killed with -9 leaves its children to be ended by hand.
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
