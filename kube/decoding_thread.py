"""Decodes large answers in a thread, so that the event loop goes on between two steps of the work.

One thread decodes for the whole process: so at most one large answer is taken apart at a time, and what is
taken apart has a bound (kube/answer_bounds.py). pydantic holds the interpreter while it parses one answer,
which takes up to 100 ms for the worst page.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from kube.answer_bounds import KIB

SMALL = 64 * KIB
"""Bytes that are decoded at once: to change threads would cost more."""

_THREAD = ThreadPoolExecutor(max_workers=1, thread_name_prefix="decoding")

T = TypeVar("T")


async def decoded(decode: Callable[[bytes], T], answer: bytes) -> T:
    """Return `decode(answer)`, and raise what it raises."""
    if len(answer) <= SMALL:
        return decode(answer)
    return await asyncio.get_running_loop().run_in_executor(_THREAD, decode, answer)
