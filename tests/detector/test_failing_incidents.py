"""The metric of incidents whose code fails."""

import asyncio
from collections.abc import Callable

import pytest
from prometheus_client import CollectorRegistry
from temporalio.service import RPCError, RPCStatusCode

from detector.metrics.failing_incidents import FailingIncidents
from tests.kube.eventually import eventually
from tests.samples_of_metrics import scrape, series

FAILING = series("paramedic_failing_incidents")
AWAY = RPCError("connection refused", RPCStatusCode.UNAVAILABLE, b"")


async def test_leader_tells_how_many_fail_and_nothing_while_nobody_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("COUNT_EVERY_SECONDS", "AGAIN_SECONDS"):
        monkeypatch.setattr(f"detector.metrics.failing_incidents.{name}", 0.01)
    temporal: list[int | RPCError | None] = [None]

    async def count() -> int | None:
        (answer,) = temporal
        if isinstance(answer, RPCError):
            raise answer
        return answer

    failing, registry = FailingIncidents(count), CollectorRegistry()
    registry.register(failing)

    def shows(expected: float | None) -> Callable[[], bool]:
        return lambda: scrape(registry).get(FAILING) == expected

    leading = asyncio.create_task(failing.lead())
    for answer, expected in ((2, 2), (AWAY, None), (0, 0), (None, None), (3, 3)):
        temporal[0] = answer
        await eventually(shows(expected))
    leading.cancel()
    await asyncio.wait([leading])
    assert scrape(registry) == {}, "a standby knows nothing of it"
