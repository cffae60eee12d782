"""A detector that ends the hold of ADR 49 after 3 s without a change instead of 30 s: tests wait less.

`tests/detector/test_change_budget.py` proves the 30 s, with the time as an argument.
"""

from typing import NoReturn

from detector import detector
from detector.feeds import change_budget
from runtime.process import run_process

CALM_SECONDS = 3.0


def run() -> NoReturn:
    """The entry of the process."""
    change_budget.CALM_SECONDS = CALM_SECONDS
    run_process(detector.run)
