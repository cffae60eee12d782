"""Serving: the small HTTP servers of a process: readiness and metrics, plain, and the webhook, with TLS."""

import os
import socket
import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from aiohttp import web

from runtime.address import Address

LARGEST_BODY = 8 * 1024**2
"""Bytes of what is sent to us: an AdmissionReview holds an object twice, and one has up to 3 MB."""


class CannotListen(Exception):
    """An address to listen on is taken, or none of this machine; names the setting."""


@asynccontextmanager
async def serve(
    address: str,
    routes: Iterable[web.RouteDef],
    *,
    setting: str = "PARAMEDIC_READY_ADDRESS",
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[None]:
    """Serve `routes` on `address` (host:port), which `setting` says, for the time of the block.

    Raises:
        CannotListen: the address is taken, or none of this machine.

    """
    application = web.Application(client_max_size=LARGEST_BODY)
    application.add_routes(routes)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        await _listen(runner, address, setting, tls)
        yield
    finally:
        await runner.cleanup()


async def _listen(runner: web.AppRunner, address: str, setting: str, tls: ssl.SSLContext | None) -> None:
    where = Address.parse(address)
    try:
        await web.TCPSite(runner, where.host, where.port, ssl_context=tls).start()
    except OSError as error:
        # asyncio's own sentence repeats the address; a host that nobody knows has no errno.
        why = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
        raise CannotListen(f"{setting}: cannot listen on {address!r}: {why}") from error
