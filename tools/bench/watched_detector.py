"""`python -m bench.watched_detector`: the detector, which writes down how long its event loop stops.

Each stop is a line of the file that STOPS_FILE names: when it ended by the monotonic clock, its seconds, and
for how many of them the thread of the loop was ready to run, while other processes had all processors.
"""

import asyncio
import os
import sys
import time
from pathlib import Path

from detector import detector
from runtime.process import run_process
from runtime.settings import Settings

STOPS_FILE = "BENCH_STOPS_FILE"
_TICK_SECONDS = 0.005
_SHORTEST_SECONDS = 0.02
"""A shorter stop is not written down."""
_SCHEDULER_STATISTICS = Path("/proc/thread-self/schedstat")


async def run(settings: Settings) -> None:
    """Run the detector and watch its event loop until cancelled."""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_note_stops(Path(os.environ[STOPS_FILE])))
        await detector.run(settings)


async def _note_stops(file: Path) -> None:
    with file.open("a", buffering=1) as stops:
        while True:
            began, waited = time.monotonic(), _seconds_without_processor()
            await asyncio.sleep(_TICK_SECONDS)
            ended = time.monotonic()
            seconds = ended - began - _TICK_SECONDS
            if seconds >= _SHORTEST_SECONDS:
                stops.write(f"{ended} {seconds} {_seconds_without_processor() - waited}\n")


def _seconds_without_processor() -> float:
    """How long the thread was ready and did not run: the second number of Linux's schedstat, in ns."""
    return int(_SCHEDULER_STATISTICS.read_text().split()[1]) / 1e9


if __name__ == "__main__":
    sys.exit(run_process(run))
