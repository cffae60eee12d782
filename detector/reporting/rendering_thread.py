"""Renders Events and status of large checks in a thread, so that the event loop goes on meanwhile.

Rendering is a pure function of values that do not change. It consists of short steps, between which the
interpreter switches threads every 5 ms. One thread renders for the whole process: with more of them the event
loop would wait for each.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from detector.reporting.snapshot_builder import MOST_AT_ONCE
from health.check.check_snapshot import CheckSnapshot

_THREAD = ThreadPoolExecutor(max_workers=1, thread_name_prefix="rendering")

T = TypeVar("T")


async def rendered(snapshot: CheckSnapshot, render: Callable[[], T]) -> T:
    """Return `render()`, which is about `snapshot`, and raise what it raises."""
    if len(snapshot.targets) <= MOST_AT_ONCE:
        return render()
    return await asyncio.get_running_loop().run_in_executor(_THREAD, render)
