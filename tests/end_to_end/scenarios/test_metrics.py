"""Metrics during and after an incident."""

import pytest

from tests.support.story.paramedic import Paramedic
from tests.support.story.world import World
from tests.support.values.metric_samples import Series, named, series

pytestmark = pytest.mark.cluster

ONGOING = "nodehealthcheck_ongoing_remediation"
DURATIONS = "nodehealthcheck_unhealthy_node_duration_seconds_count"
KIND = {"check_kind": "NodeHealthCheck", "trigger": "automated"}
LATE = series("paramedic_failure_to_request_seconds_count", **KIND)
SOURCES = {"nodes", "leases.coordination.k8s.io in medik8s-leases", "nodehealthchecks.remediation.medik8s.io"}
REQUESTED = series("paramedic_acts_total", result="Requested", reason="")


def of(metric: str, node: str) -> Series:
    return series(metric, name=node, namespace="default", remediation="PowerCycleRemediation")


def sources_of(seen: dict[Series, float]) -> set[str]:
    ages = named(seen, "paramedic_cache_age_seconds")
    return {value for _, labels in ages for name, value in labels if name == "source"}


def ended(outcome: str) -> Series:
    return series("paramedic_incidents_total", outcome=outcome, **KIND)


def grown(key: Series, before: dict[Series, float], after: dict[Series, float]) -> float:
    """How much a counter grew; the processes serve other tests, too."""
    return after[key] - before.get(key, 0)


async def shows(world: World, paramedic: Paramedic, key: Series, value: float | None) -> dict[Series, float]:
    """The detector's metrics, as soon as one series has a value; None waits until the series is gone."""
    seen: dict[Series, float] = {}

    async def is_so() -> bool:
        nonlocal seen
        seen = await paramedic.detector.metrics()
        return seen.get(key) == value

    await world.until(is_so, f"{key} never was {value}")
    return seen


def of_world(seen: dict[Series, float], world: World) -> dict[Series, float]:
    """The series with labels of this test's world."""
    return {key: value for key, value in seen.items() if any(world.name in text for _, text in key[1])}


@pytest.mark.rule(
    "NHC 1.6/endpoint",
    "NHC 1.6/nodehealthcheck_ongoing_remediation",
    "NHC 1.6/nodehealthcheck_unhealthy_node_duration_seconds",
    "rule 16",
)
async def test_incident_has_metrics_of_both_processes_and_its_series_end_with_the_node(
    world: World, paramedic: Paramedic
) -> None:
    (node, _) = await world.add_nodes(2)
    await world.add_check()
    requested = series("paramedic_open_incidents", check=f"NodeHealthCheck/{world.name}", phase="Requested")
    before = await shows(world, paramedic, requested, 0)
    worker_before = await paramedic.worker.metrics()

    await world.fail(node)
    await shows(world, paramedic, of(ONGOING, node), 1)
    during = await shows(world, paramedic, requested, 1)
    assert during[series("paramedic_leader")] == 1
    assert grown(LATE, before, during) == 1
    assert sources_of(during) >= SOURCES
    assert max(named(during, "paramedic_cache_age_seconds").values()) < 60
    assert grown(REQUESTED, worker_before, await paramedic.worker.metrics()) == 1

    await world.recover(node)
    assert await world.outcome(node) == "Remediated"
    after = await shows(world, paramedic, of(DURATIONS, node), 1)
    assert of(ONGOING, node) not in after
    worker_after = await paramedic.worker.metrics()
    assert grown(REQUESTED, worker_before, worker_after) == 1
    assert grown(ended("Remediated"), worker_before, worker_after) == 1

    await world.delete_node(node)
    left = await shows(world, paramedic, of(DURATIONS, node), None)
    assert not [key for key in left if ("name", node) in key[1]]
    await world.delete_check()
    await shows(world, paramedic, requested, None)
    assert of_world(await paramedic.detector.metrics(), world) == {}
