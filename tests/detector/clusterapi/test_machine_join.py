"""A Machine is joined with the Node of its own cluster; no Node of an unread cluster is missing."""

import asyncio

import pytest

from health.kinds.clusterapi.machine import MachineTarget
from health.kinds.clusterapi.machine_conditions import NOTHING, DesiredConditions, desired_conditions
from health.model.target import Target, TargetName
from health.model.verdict import Health
from kube import time_slice
from tests.support.state.small_cluster_api import (
    EDGE,
    OF_WEST,
    WEST,
    SmallClusterApi,
    machine_object,
    named,
)
from tests.support.values.builders import NOW
from tests.support.values.cluster_api import cluster

pytestmark = pytest.mark.rule("rule 33")


@pytest.fixture
def small() -> SmallClusterApi:
    made = SmallClusterApi()
    made.check()
    made.check("of-west", clusterName="west")
    return made


def health(small: SmallClusterApi, name: str, check: str = "workers") -> Health:
    found = small.cluster_state.checks[named(check)].check
    target: MachineTarget = small.target(name)
    return found.verdict(target, NOW, small.context).health  # type: ignore[union-attr]  # it can be read


def said(small: SmallClusterApi, name: str) -> DesiredConditions:
    found = small.cluster_state.checks[named()].check
    return desired_conditions(found, small.target(name), NOW, small.context, None)  # type: ignore[arg-type]  # it can be read


@pytest.mark.rule("CAPI B.2.1/Node")
def test_nodes_of_one_name_in_two_clusters_are_those_of_two_machines(small: SmallClusterApi) -> None:
    small.machine(machine_object("east-1", node="node-1"))
    small.machine(machine_object("west-1", node="node-1", labels=OF_WEST))
    small.node("node-1")
    small.node("node-1", "False", in_cluster=WEST)
    assert health(small, "east-1") is Health.HEALTHY
    assert health(small, "west-1", "of-west") is Health.EXPIRED

    small.delete_node("node-1", in_cluster=WEST)
    small.node("node-1", "False", in_cluster="")  # a Node of the management cluster
    assert health(small, "east-1") is Health.HEALTHY
    assert small.cluster_state.checks[named("of-west")].unhealthy == {"west-1"}


@pytest.mark.rule("CAPI B.2.4/healthy")
async def test_cluster_that_was_not_read_yet_has_lost_no_node_and_none_of_its_machines_is_healthy(
    small: SmallClusterApi,
) -> None:
    small.join.cluster_forgotten(EDGE)
    small.machine(machine_object("a"))
    assert small.target("a").is_node_unread
    assert small.cluster_state.checks[named()].unhealthy == set()
    assert small.numbers() == (0, 1)

    small.node("a")
    small.join.cluster_read(EDGE)
    await small.join.update_targets(EDGE)
    assert small.numbers() == (1, 1)


@pytest.mark.rule("CAPI B.2.3/Node gone")
async def test_node_that_is_not_there_once_its_cluster_was_read_is_gone(small: SmallClusterApi) -> None:
    small.join.cluster_forgotten(EDGE)
    small.machine(machine_object("a"))
    small.join.cluster_read(EDGE)
    await small.join.update_targets(EDGE)
    assert health(small, "a") is Health.EXPIRED


@pytest.mark.rule("rule 33/gone")
async def test_unwatched_cluster_has_lost_no_node(small: SmallClusterApi) -> None:
    small.machine(machine_object("a"))
    small.node("a")
    small.join.cluster_forgotten(EDGE)
    await small.join.update_targets(EDGE)
    assert small.target("a").is_node_unread
    small.delete_node("a")
    assert small.target("a").node is None
    assert small.cluster_state.checks[named()].unhealthy == set()


@pytest.mark.rule("rule 8/node")
@pytest.mark.parametrize("was_read_before", [True, False])
def test_node_that_is_there_and_does_not_decode_is_not_gone_and_nothing_is_said_of_its_machine(
    small: SmallClusterApi, *, was_read_before: bool
) -> None:
    small.machine(machine_object("a"))
    if was_read_before:
        small.node("a")
    small.break_node("a", "status.conditions.0.lastTransitionTime: no time")
    assert said(small, "a") == NOTHING
    assert small.cluster_state.checks[named()].unhealthy == set()
    assert small.numbers() == (0, 1)

    small.delete_broken_node("a")
    assert health(small, "a") is Health.EXPIRED
    assert said(small, "a").is_unhealthy


@pytest.mark.rule("CAPI B.2.1/Cluster", "CAPI B.2.7/nothing", "rule 45/gates")
def test_change_of_a_cluster_is_taken_in_by_its_checks_at_once(small: SmallClusterApi) -> None:
    told: list[tuple[str, str | None]] = []
    small.cluster_state.event_handlers.add_change_handler(
        lambda check, target: told.append((check.name, target))
    )
    small.machine(machine_object("a"))
    small.node("a", "False")
    state = small.cluster_state.checks[named()]
    assert state.unhealthy == {"a"}

    for closed in (cluster(ready="False"), cluster(initialized="False")):
        for one, unhealthy in ((closed, set()), (cluster(), {"a"})):
            told.clear()
            small.cluster(one)
            assert state.unhealthy == unhealthy
            assert ("workers", "a") in told
            assert ("workers", None) in told

    small.cluster(cluster(paused=True))
    assert state.is_silent_in(small.context)
    assert not small.cluster_state.checks[named("of-west")].is_silent_in(small.context)


def test_unchanged_cluster_notifies_no_incident(small: SmallClusterApi) -> None:
    told: list[str | None] = []
    small.cluster_state.event_handlers.add_change_handler(lambda _, target: told.append(target))
    small.cluster(cluster(version="8"))
    assert told == []


async def test_machine_that_cannot_be_updated_keeps_no_other_machine_of_its_cluster_from_it(
    small: SmallClusterApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    small.join.cluster_forgotten(EDGE)
    for name in ("a", "b"):
        small.machine(machine_object(name))
    update = small.cluster_state.target_changed

    def fail_for_a(name: TargetName, target: Target | None) -> None:
        if name.name == "a":
            message = "a fault of ours"
            raise RuntimeError(message)
        update(name, target)

    monkeypatch.setattr(small.cluster_state, "target_changed", fail_for_a)
    small.join.cluster_read(EDGE)
    await small.join.update_targets(EDGE)
    assert health(small, "b") is Health.EXPIRED


async def test_other_tasks_run_while_the_machines_of_a_cluster_are_updated(
    small: SmallClusterApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_slice, "LONGEST_SECONDS", 0)
    for name in ("a", "b", "c"):
        small.machine(machine_object(name))
        small.node(name)
    small.join.cluster_forgotten(EDGE)
    updating = asyncio.create_task(small.join.update_targets(EDGE))
    unread: list[int] = []
    while not updating.done():
        await asyncio.sleep(0)
        unread.append(sum(small.target(name).is_node_unread for name in ("a", "b", "c")))
    assert sorted({*unread}) == [1, 2, 3]
