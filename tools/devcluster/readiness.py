"""Waits until a process of ours is ready; its own answer becomes the reason of a failure."""

from datetime import timedelta
from http import HTTPStatus

import aiohttp

from devcluster.errors import NotReadyError
from devcluster.layout import Layout
from devcluster.processes import ready_url
from devcluster.supervisor import Supervisor

PATIENCE = timedelta(seconds=60)


async def until_ready(supervisor: Supervisor, layout: Layout, name: str) -> None:
    """Return when the process `name` is ready.

    Raises NotReadyError with the process's answer after a minute, and HopelessError.
    """
    body = "it does not answer"

    async def answers() -> bool:
        nonlocal body
        status, body = await _request(ready_url(layout, name))
        return status == HTTPStatus.OK

    try:
        await supervisor.until(answers, within=PATIENCE, otherwise="")
    except NotReadyError as error:
        raise NotReadyError(f"the {name} is not ready: {body} (see {layout.log(name)})") from error


async def _request(url: str) -> tuple[int, str]:
    try:
        timeout = aiohttp.ClientTimeout(total=5)
        async with aiohttp.ClientSession(timeout=timeout) as session, session.get(url) as answer:
            return answer.status, (await answer.text()).strip()
    except (aiohttp.ClientError, TimeoutError):
        return 0, "it does not answer"
