"""The small HTTP servers of a process: readiness and metrics, plain, and the webhook, with TLS.

GET /readyz answers 200 when nothing keeps the process from its work, else 503 and why. The certificate is
two files, `tls.crt` and `tls.key`, as a Secret of type kubernetes.io/tls mounts them, that somebody else
renews. New connections get a new pair as soon as it is there; a pair that does not fit together, as in the
middle of a renewal, is left.
"""

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

from runtime.address import Address
from runtime.problems import Problems

LARGEST_BODY = 8 * 1024**2
"""Bytes of what is sent to us: an AdmissionReview holds an object twice, and one has up to 3 MB."""
CERTIFICATE, KEY = "tls.crt", "tls.key"
LOOK_EVERY_SECONDS = 1.0


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


def readiness_routes(problems: Problems) -> list[web.RouteDef]:
    """GET /readyz and, as long as the process lives, GET /healthz."""

    async def readyz(_: web.Request) -> web.Response:
        sentences = problems.sentences
        return web.Response(status=503 if sentences else 200, text="\n".join(sentences) or "ok")

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="ok")

    return [web.get("/readyz", readyz), web.get("/healthz", healthz)]


_Version = tuple[tuple[int, int], ...]


class ServingCertificate:
    """The pair of one directory."""

    def __init__(self, directory: Path, part: str, problems: Problems) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        """For servers; it refuses every connection until there is a pair."""
        self._files = directory / CERTIFICATE, directory / KEY
        self._part = part
        self._problems = problems
        self._loaded: _Version = ()

    async def follow(self) -> None:
        """Take every new pair, for ever; what is wrong with the files is a problem of the process."""
        while True:
            self._problems.report(self._part, self._look())
            await asyncio.sleep(LOOK_EVERY_SECONDS)

    def _look(self) -> str:
        try:
            version = tuple((status.st_mtime_ns, status.st_ino) for status in map(Path.stat, self._files))
            if version != self._loaded:
                self._load()
                self._loaded = version
        except OSError as error:  # ssl.SSLError is one
            return f"cannot read {' and '.join(map(str, self._files))}: {error}"
        return ""

    def _load(self) -> None:
        # A context that takes half of a pair is spoiled, so another one tries it first.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(*self._files)
        self.context.load_cert_chain(*self._files)
