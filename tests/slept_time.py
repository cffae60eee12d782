"""SleptTime: a clock that moves only when the code under test sleeps; nobody waits for it."""

import asyncio
from types import SimpleNamespace

import pytest
from aiohttp import web

from tests.kube.api_server import Answer


class SleptTime:
    """The sleeps of one module, and when each request came by them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: str) -> None:
        self._seconds = 0.0
        self.sent: list[float] = []
        stand_in = SimpleNamespace(**(vars(asyncio) | {"sleep": self._sleep}))
        monkeypatch.setattr(f"{module}.asyncio", stand_in)

    def noting(self, answer: Answer) -> Answer:
        """The same answer; when it was asked for is written down."""

        async def note(request: web.Request) -> web.StreamResponse:
            self.sent.append(self._seconds)
            return await answer(request)

        return note

    @property
    def gaps(self) -> list[float]:
        """How much was slept between two requests."""
        return [after - before for before, after in zip(self.sent, self.sent[1:], strict=False)]

    async def _sleep(self, seconds: float) -> None:
        self._seconds += seconds
        await asyncio.sleep(0)
