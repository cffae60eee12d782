"""`python -m bench.watched_detector`: the detector, which writes down how long its event loop stops.

Each stop is a line of the file that STOPS_FILE names: when it ended by the monotonic clock, and its seconds.
"""

import asyncio
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from detector import detector
from runtime.process import run_process
from runtime.settings import Settings

STOPS_FILE = "BENCH_STOPS_FILE"
_TICK_SECONDS = 0.005
_SHORTEST_SECONDS = 0.02
"""A shorter stop is not written down."""


async def run(settings: Settings) -> None:
    """Run the detector and watch its event loop until cancelled."""
    stops = Path(os.environ[STOPS_FILE]).open("a", buffering=1)  # noqa: ASYNC230, SIM115  open until the end

    def note(ended: float, seconds: float) -> None:
        if seconds >= _SHORTEST_SECONDS:
            stops.write(f"{ended} {seconds}\n")

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(watch_event_loop(_TICK_SECONDS, note))
        await detector.run(settings)


async def watch_event_loop(tick_seconds: float, note: Callable[[float, float], None]) -> None:
    """Note at each tick when it ended, and how many seconds later than planned, until cancelled."""
    while True:
        began = time.monotonic()
        await asyncio.sleep(tick_seconds)
        ended = time.monotonic()
        note(ended, ended - began - tick_seconds)


if __name__ == "__main__":
    sys.exit(run_process(run))
