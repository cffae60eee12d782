"""The metrics of workflows whose code fails."""

import asyncio
from collections.abc import Callable, Mapping

import pytest
from prometheus_client import CollectorRegistry
from temporalio.service import RPCError, RPCStatusCode

from detector.metrics.live_metrics import FailingWorkflows
from tests.support.api.eventually import eventually
from tests.support.values.metric_samples import Series, scrape, series
from workflows.messages import WORKFLOW
from workflows.upgrade_contracts import UPGRADE_PAUSE

INCIDENTS, PAUSES = series("paramedic_failing_incidents"), series("paramedic_failing_upgrade_pauses")
Answer = Mapping[str, int] | RPCError
AWAY = RPCError("connection refused", RPCStatusCode.UNAVAILABLE, b"")


async def test_leader_exports_how_many_fail_and_nothing_while_temporal_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("COUNT_EVERY_SECONDS", "AGAIN_SECONDS"):
        monkeypatch.setattr(f"detector.metrics.live_metrics.{name}", 0.01)
    temporal: list[Answer] = [{}]

    async def counts() -> Mapping[str, int]:
        (answer,) = temporal
        if isinstance(answer, RPCError):
            raise answer
        return answer

    failing, registry = FailingWorkflows(counts), CollectorRegistry()
    registry.register(failing)

    def shows(expected: Mapping[Series, float]) -> Callable[[], bool]:
        return lambda: scrape(registry) == expected

    leading = asyncio.create_task(failing.lead())
    told: tuple[tuple[Answer, Mapping[Series, float]], ...] = (
        ({WORKFLOW: 2, UPGRADE_PAUSE: 0}, {INCIDENTS: 2, PAUSES: 0}),
        (AWAY, {}),
        ({WORKFLOW: 0, UPGRADE_PAUSE: 1}, {INCIDENTS: 0, PAUSES: 1}),
        ({}, {}),
        ({WORKFLOW: 3, UPGRADE_PAUSE: 0}, {INCIDENTS: 3, PAUSES: 0}),
    )
    for answer, expected in told:
        temporal[0] = answer
        await eventually(shows(expected))
    leading.cancel()
    await asyncio.wait([leading])
    assert scrape(registry) == {}, "a standby exports nothing"
