"""Look again and again until something is there; how long is for the caller to bound.

A look that fails is a look that saw nothing: servers of a young devcluster may not all answer yet.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

from temporalio.client import WorkflowQueryFailedError
from temporalio.service import RPCError

from devcluster.simulation.errors import ControlUnavailableError
from kube.errors import KubernetesError

T = TypeVar("T")
INTERVAL = timedelta(milliseconds=200)
LOG = logging.getLogger(__name__)


async def seen(look: Callable[[], Awaitable[T | None]]) -> T:
    """Return the first thing that `look` sees."""
    while (sight := await _look(look)) is None:  # noqa: ASYNC110  what we wait for is in other processes
        await asyncio.sleep(INTERVAL.total_seconds())
    return sight


async def _look(look: Callable[[], Awaitable[T | None]]) -> T | None:
    try:
        return await look()
    except (KubernetesError, RPCError, WorkflowQueryFailedError, ControlUnavailableError) as error:
        LOG.debug("looking again: %s", error)
        return None
