"""A certificate that is renewed while it serves, over real connections."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import web

from devcluster.polling import until
from runtime.problems import Problems
from runtime.serving import CERTIFICATE, CannotListen, ServingCertificate, serve
from tests.support.api.ports import free_port
from tests.support.api.tls import write_pair

PATIENCE = timedelta(seconds=60)


@asynccontextmanager
async def serving(directory: Path, problems: Problems) -> AsyncIterator[int]:
    """A server with the certificate of `directory`; its port."""
    certificate = ServingCertificate(directory, "certificate", problems)
    following = asyncio.create_task(certificate.follow())
    port = free_port()

    async def hello(_: web.Request) -> web.Response:
        return web.Response(text="hello")

    try:
        async with serve(f"127.0.0.1:{port}", [web.get("/", hello)], tls=certificate.context):
            yield port
    finally:
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following


async def served(port: int) -> str:
    """The certificate that a new connection gets, "" for none."""
    try:
        return await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", port), timeout=5)
    except (ssl.SSLError, ConnectionError):
        return ""


async def until_served(port: int, certificate: str) -> None:
    async def is_served() -> bool:
        return (await served(port)).strip() == certificate.strip()

    await until(is_served, within=PATIENCE, otherwise="the certificate is never served")


async def test_new_pair_is_served_without_a_restart(tmp_path: Path) -> None:
    first = write_pair(tmp_path)
    async with serving(tmp_path, Problems()) as port:
        await until_served(port, first)
        await until_served(port, write_pair(tmp_path))


async def test_pair_that_does_not_fit_together_is_not_taken_and_told(tmp_path: Path) -> None:
    problems = Problems()
    first = write_pair(tmp_path)
    async with serving(tmp_path, problems) as port:
        await until_served(port, first)
        (tmp_path / CERTIFICATE).write_text(write_pair(tmp_path / "other"))

        async def is_reported() -> bool:
            return bool(problems.sentences)

        await until(is_reported, within=PATIENCE, otherwise="the bad pair is never told")
        assert "tls.crt" in problems.sentences[0]
        assert (await served(port)).strip() == first.strip()

        await until_served(port, write_pair(tmp_path))
        assert problems.sentences == ()


async def test_missing_pair_is_a_problem_until_it_is_there(tmp_path: Path) -> None:
    problems = Problems()
    async with serving(tmp_path, problems) as port:
        assert await served(port) == ""
        assert "No such file" in problems.sentences[0]

        await until_served(port, write_pair(tmp_path))
        assert problems.sentences == ()


async def test_address_that_is_taken_is_reported_by_its_setting() -> None:
    address = f"127.0.0.1:{free_port()}"
    second = serve(address, [], setting="PARAMEDIC_WEBHOOK_ADDRESS")
    async with serve(address, []):
        with pytest.raises(CannotListen, match=r"^PARAMEDIC_WEBHOOK_ADDRESS: "):
            await second.__aenter__()
