"""Readiness: GET /readyz answers 200 when nothing keeps the process from its work, else 503 and why."""

import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from runtime.address import Address
from runtime.problems import Problems


class CannotListen(Exception):
    """The address of readiness is taken, or none of this machine."""


@asynccontextmanager
async def serve_readiness(address: str, problems: Problems) -> AsyncIterator[None]:
    """Serve /readyz and /healthz on `address` (host:port) for the time of the block.

    Raises:
        CannotListen: the address is taken, or none of this machine.

    """

    async def readyz(_: web.Request) -> web.Response:
        sentences = problems.sentences
        return web.Response(status=503 if sentences else 200, text="\n".join(sentences) or "ok")

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="ok")

    application = web.Application()
    application.add_routes([web.get("/readyz", readyz), web.get("/healthz", healthz)])
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        await _listen(runner, address)
        yield
    finally:
        await runner.cleanup()


async def _listen(runner: web.AppRunner, address: str) -> None:
    where = Address.parse(address)
    try:
        await web.TCPSite(runner, where.host, where.port).start()
    except OSError as error:
        # asyncio's own sentence repeats the address; a host that nobody knows has no errno.
        why = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
        raise CannotListen(f"PARAMEDIC_READY_ADDRESS: cannot listen on {address!r}: {why}") from error
