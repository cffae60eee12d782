"""HTTP servers of a process: readiness and metrics without TLS, and the webhook with TLS.

GET /readyz answers 200 if there is no problem, else 503 with the reasons. The certificate is in two files,
`tls.crt` and `tls.key`, as mounted from a Secret of type kubernetes.io/tls, which another controller renews.
New connections use a new pair as soon as it exists; a pair that does not match, as in the middle of a
renewal, is not loaded.
"""

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

from objects.address import Address
from runtime.problems import Problems

LARGEST_BODY = 8 * 1024**2
"""In bytes: an AdmissionReview contains an object twice, each of up to 3 MB."""
CERTIFICATE, KEY = "tls.crt", "tls.key"
LOOK_EVERY_SECONDS = 1.0


class CannotListen(Exception):
    """The address of a listener is taken, or not of this machine; the message names the setting."""


@asynccontextmanager
async def serve(
    address: str,
    routes: Iterable[web.RouteDef],
    *,
    setting: str = "PARAMEDIC_READY_ADDRESS",
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[None]:
    """Serve `routes` on `address` (host:port), the value of `setting`, for the time of the block.

    Raises:
        CannotListen: the address is taken, or not of this machine.

    """
    application = web.Application(client_max_size=LARGEST_BODY)
    application.add_routes(routes)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        where = Address.parse(address)
        try:
            await web.TCPSite(runner, where.host, where.port, ssl_context=tls).start()
        except OSError as error:
            # asyncio's message repeats the address; the error of an unknown host has no errno.
            why = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
            raise CannotListen(f"{setting}: cannot listen on {address!r}: {why}") from error
        yield
    finally:
        await runner.cleanup()


def readiness_routes(problems: Problems) -> list[web.RouteDef]:
    """The routes of GET /readyz, and of GET /healthz, which answers 200 while the process lives."""

    async def readyz(_: web.Request) -> web.Response:
        sentences = problems.sentences
        return web.Response(status=503 if sentences else 200, text="\n".join(sentences) or "ok")

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="ok")

    return [web.get("/readyz", readyz), web.get("/healthz", healthz)]


_Version = tuple[tuple[int, int], ...]


class ServingCertificate:
    """The certificate and key in one directory, reloaded when they change."""

    def __init__(self, directory: Path, part: str, problems: Problems) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        """For servers; it refuses every connection until there is a certificate."""
        self._files = directory / CERTIFICATE, directory / KEY
        self._part = part
        self._problems = problems
        self._loaded: _Version = ()

    async def follow(self) -> None:
        """Load every new pair, until cancelled; problems of the files make the process unready."""
        while True:
            self._problems.report(self._part, self._look())
            await asyncio.sleep(LOOK_EVERY_SECONDS)

    def _look(self) -> str | None:
        try:
            version = tuple((status.st_mtime_ns, status.st_ino) for status in map(Path.stat, self._files))
            if version != self._loaded:
                # A failed load spoils a context, so a new one tries the pair first.
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(*self._files)
                self.context.load_cert_chain(*self._files)
                self._loaded = version
        except OSError as error:  # ssl.SSLError is one
            return f"cannot read {' and '.join(map(str, self._files))}: {error}"
        return None
