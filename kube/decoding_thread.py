"""Decodes large answers in a thread, so that the event loop continues between two steps of the work.

One thread decodes for the whole process: at most one large answer is decoded at a time, and its size is
bounded (kube/answer_bounds.py). pydantic holds the GIL while it parses one answer, up to 100 ms for the worst
page. Garbage is not collected meanwhile: an invalid answer becomes up to 500,000 lists, which a collection
would examine again and again, for seconds, and which references alone free.
"""

import asyncio
import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from kube.answer_bounds import KIB

SMALL = 64 * KIB
"""Up to this many bytes are decoded directly: a change of threads would cost more."""

_THREAD = ThreadPoolExecutor(max_workers=1, thread_name_prefix="decoding")

T = TypeVar("T")


async def decoded(decode: Callable[[bytes], T], answer: bytes) -> T:
    """Return `decode(answer)`, and raise what it raises."""
    if len(answer) <= SMALL:
        return decode(answer)
    return await asyncio.get_running_loop().run_in_executor(_THREAD, _without_collections, decode, answer)


def _without_collections(decode: Callable[[bytes], T], answer: bytes) -> T:
    if not gc.isenabled():
        return decode(answer)
    gc.disable()
    try:
        return decode(answer)
    finally:
        gc.enable()
