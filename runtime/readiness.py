"""Readiness: GET /readyz answers 200 when nothing keeps the process from its work, else 503 and why."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from runtime.problems import Problems


@asynccontextmanager
async def serve_readiness(address: str, problems: Problems) -> AsyncIterator[None]:
    """Serve /readyz and /healthz on `address` (host:port) for the time of the block.

    Raises:
        OSError: the address is taken.

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
    host, _, port = address.rpartition(":")
    await web.TCPSite(runner, host, int(port)).start()
    try:
        yield
    finally:
        await runner.cleanup()
