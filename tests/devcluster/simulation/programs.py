"""Programs of the simulation, as copies of a process that has imported everything (tests/forked.py)."""

import sys
from typing import NoReturn

from devcluster.simulation import machine_set


def run_machine_set() -> NoReturn:
    machine_set.main()
    sys.exit()
