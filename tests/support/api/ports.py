"""Ports for the servers of a test, which no other worker of the run uses.

They are below the range of ephemeral ports. An outgoing connection of any process could take a port of that
range before the server listens, or while it restarts.
"""

import itertools
import os
import secrets
from pathlib import Path

from devcluster.layout import PORT_RANGE, Layout, is_free, lay_out

WORKERS = 8
FIRST, COUNT = 10_000, 1_000
"""The ports of the first worker; the layouts of devcluster choose from higher ones."""


def _worker() -> int:
    """The number of this worker; the process that starts the workers has the last one."""
    return int(os.environ.get("PYTEST_XDIST_WORKER", f"gw{WORKERS - 1}").removeprefix("gw")) % WORKERS


_OWN = range(FIRST + _worker() * COUNT, FIRST + (_worker() + 1) * COUNT)
_NEXT = itertools.islice(itertools.cycle(_OWN), secrets.randbelow(COUNT), None)
"""From a random one on, because another run on the same machine would begin with the same."""


def free_port() -> int:
    """The next port of this worker on whose loopback interface no server listens now."""
    return next(port for port in _NEXT if is_free(port))


def own_layout(directory: Path) -> Layout:
    """A layout for servers of this worker, on ports that no layout of another worker has.

    Servers of two workers that start together would else, now and then, choose the same port.
    """
    return lay_out(directory, port_range=PORT_RANGE[_worker() :: WORKERS])
