"""A threshold that allows remediation again wakes the incidents that it held."""

import asyncio
from contextlib import suppress

import pytest

from tests.detector.test_ended_incidents import Detector
from tests.detector.test_late_requests import NODE
from tests.support.api.eventually import eventually

OTHER, WELL = "another", "well"


@pytest.mark.rule("rule 4", "NHC 2.8/thresholds")
async def test_incident_that_the_threshold_held_is_woken_when_another_node_recovers() -> None:
    detector = Detector()
    detector.cluster.check(minHealthy=2)
    detector.cluster.node(WELL)
    for name in (NODE, OTHER):
        detector.fail(name)
    leading = asyncio.create_task(detector.dispatch.lead())
    await eventually(lambda: sorted(detector.calls.names) == sorted([NODE, OTHER]))

    detector.cluster.node(OTHER)
    await eventually(lambda: detector.calls.names.count(NODE) > 1)  # signal-with-start, as it may act now
    leading.cancel()
    with suppress(asyncio.CancelledError):
        await leading
