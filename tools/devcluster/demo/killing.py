"""The second failure of some scenarios: the worker is killed."""

import os
import signal
from collections.abc import Callable

from devcluster.demo import narration
from devcluster.demo.environment import Environment
from devcluster.demo.incident import seen
from devcluster.demo.line import Line
from devcluster.demo.narrator import Narrator


async def worker_is_killed(
    environment: Environment,
    narrator: Narrator,
    words: Callable[[int], Line[object]] = narration.worker_is_killed,
) -> None:
    """Kill the worker, and wait for the next one."""
    pid = environment.worker()
    await narrator.narrate(words(pid), _kill(pid))
    await narrator.narrate(narration.worker_is_back(pid), seen(lambda: environment.other_worker(pid)))


async def _kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
