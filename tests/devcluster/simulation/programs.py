"""Programs of the simulation, as copies of a process that has imported everything (tests/forked.py)."""

import sys
from typing import NoReturn

from devcluster.simulation import machine_controllers


def run_machine_controllers() -> NoReturn:
    machine_controllers.main()
    sys.exit()
