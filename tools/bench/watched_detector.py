"""`python -m bench.watched_detector`: the detector, which writes down how long its event loop stops.

Each stop is a line of the file that STOPS_FILE names: when it ended by the monotonic clock, its seconds, and
for how many of them the thread of the loop had a processor. The clocks cost no system call that gives the GIL
away: a read of /proc at each turn took a fifth of the time of the loop.
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


async def run(settings: Settings) -> None:
    """Run the detector and watch its event loop until cancelled."""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_note_stops(Path(os.environ[STOPS_FILE])))
        await detector.run(settings)


async def _note_stops(file: Path) -> None:
    with file.open("a", buffering=1) as stops:
        while True:
            began, worked = time.monotonic(), time.thread_time()
            await asyncio.sleep(_TICK_SECONDS)
            ended = time.monotonic()
            seconds = ended - began - _TICK_SECONDS
            if seconds >= _SHORTEST_SECONDS:
                stops.write(f"{ended} {seconds} {time.thread_time() - worked}\n")


if __name__ == "__main__":
    sys.exit(run_process(run))
