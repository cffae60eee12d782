"""Programs of the simulation, as forks of a process that has imported everything."""

import sys
from typing import NoReturn

from devcluster.simulation import machine_controllers


def run_machine_controllers() -> NoReturn:
    machine_controllers.main()
    sys.exit()
