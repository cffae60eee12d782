"""A clock that moves only when the code under test sleeps, so that tests do not wait."""

import asyncio
from types import SimpleNamespace

import pytest
from aiohttp import web

from tests.support.api.api_server import Answer


class SleptTime:
    """The sleeps of one module, and the time of each request on this clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: str) -> None:
        self._seconds = 0.0
        self.sent: list[float] = []
        stand_in = SimpleNamespace(**(vars(asyncio) | {"sleep": self._sleep}))
        monkeypatch.setattr(f"{module}.asyncio", stand_in)

    def noting(self, answer: Answer) -> Answer:
        """Return the same answer and record the time of the request."""

        async def note(request: web.Request) -> web.StreamResponse:
            self.sent.append(self._seconds)
            return await answer(request)

        return note

    @property
    def gaps(self) -> list[float]:
        """How long the code slept between two requests."""
        return [after - before for before, after in zip(self.sent, self.sent[1:], strict=False)]

    async def _sleep(self, seconds: float) -> None:
        self._seconds += seconds
        await asyncio.sleep(0)
