"""Reports continuously in Kubernetes whether a process can work.

An error does not affect other work: it is logged once, and retried.
"""

import asyncio
from collections.abc import Awaitable, Callable

from kube.errors import Conflict, KubernetesError, retry_after
from runtime.guard import Guard
from runtime.problems import Problems
from runtime.retrying import one_sentence

LOOK_EVERY_SECONDS = 10.0
LOOK_WITHIN_SECONDS = 25.0
"""Longer than a call to Temporal, which may take 10 s."""
NAMED = "ParamedicStatus"


async def look_forever(look: Callable[[], Awaitable[None]]) -> None:
    """Call `look` until cancelled, with a pause after each call."""
    problems, guard = Problems("not said in Kubernetes whether we can work"), Guard()
    while True:
        wait = LOOK_EVERY_SECONDS
        with guard.item("status", NAMED):
            wait += await _looked(look, problems)
        await asyncio.sleep(wait)


async def _looked(look: Callable[[], Awaitable[None]], problems: Problems) -> float:
    """Look once. Returns the Retry-After of the API server, in seconds."""
    try:
        async with asyncio.timeout(LOOK_WITHIN_SECONDS):
            await look()
    except Conflict:
        return 0.0  # another process wrote it; the next look reads that
    except TimeoutError:
        problems.report(NAMED, f"it took longer than {LOOK_WITHIN_SECONDS:.0f} s")
        return 0.0
    except KubernetesError as error:
        problems.report(NAMED, one_sentence(error))
        return retry_after(error).total_seconds()
    problems.report(NAMED, "")
    return 0.0
