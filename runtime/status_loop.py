"""The loop by which a process says of itself in Kubernetes whether it can work.

Whatever fails here keeps nobody from working: it is logged once, and tried again.
"""

import asyncio
from collections.abc import Awaitable, Callable

from kube.errors import Conflict, KubernetesError, retry_after
from runtime.guard import Guard
from runtime.problems import Problems
from runtime.retrying import one_sentence

LOOK_EVERY_SECONDS = 10.0
LOOK_WITHIN_SECONDS = 25.0
"""A question to Temporal may take ten of them."""
NAMED = "ParamedicStatus"


async def look_forever(look: Callable[[], Awaitable[None]]) -> None:
    """Look, and say what is seen, until cancelled."""
    problems, guard = Problems("not said in Kubernetes whether we can work"), Guard()
    while True:
        wait = LOOK_EVERY_SECONDS
        with guard.item("status", NAMED):
            wait += await _looked(look, problems)
        await asyncio.sleep(wait)


async def _looked(look: Callable[[], Awaitable[None]], problems: Problems) -> float:
    """Look once; answers how many seconds longer the API server wants to be left alone."""
    try:
        async with asyncio.timeout(LOOK_WITHIN_SECONDS):
            await look()
    except Conflict:
        return 0.0  # somebody wrote it meanwhile: the next look goes by that
    except TimeoutError:
        problems.report(NAMED, f"it took longer than {LOOK_WITHIN_SECONDS:.0f} s")
        return 0.0
    except KubernetesError as error:
        problems.report(NAMED, one_sentence(error))
        return retry_after(error).total_seconds()
    problems.report(NAMED, "")
    return 0.0
