"""Changes that affect all targets notify in pieces, with the latest context, and miss no target."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import timedelta

import pytest

from detector.state.event_handlers import MOST_AT_ONCE
from health.cluster.cluster_context import ClusterContext
from health.cluster.global_stop import Stop
from health.model.node import CONFIRMED_HEALTHY
from health.model.references import CheckReference
from health.policy.policy import Policy
from health.policy.policy_in_force import PolicyInForce
from kube import time_slice
from tests.support.api.eventually import eventually
from tests.support.state.small_cluster import CHECK, SmallCluster
from tests.support.values.builders import NOW

MANY = MOST_AT_ONCE + 20
LONG_AGO = NOW - timedelta(hours=1)
OTHER = CheckReference(kind="NodeHealthCheck", name="others")
STOPPED = ClusterContext(stop=Stop("power work"))
WITHOUT_STOP = ClusterContext()
SHADOW = ClusterContext(policy=PolicyInForce(policy=Policy(shadow=True)))
NAMES = [f"node-{number}" for number in range(MANY)]


class Cluster(SmallCluster):
    """Many unhealthy Nodes; a handler records its calls."""

    def __init__(self) -> None:
        super().__init__()
        self.turns = 0
        self.heard: list[tuple[CheckReference, str | None]] = []
        self.at: list[int] = []
        self.contexts: dict[str | None, ClusterContext] = {}
        """By target, the context when it was heard of last."""
        self.on_heard: Callable[[str | None], None] = lambda _: None
        self.check(minHealthy=0)
        for name in NAMES:
            self.node(name, ready="Unknown", since=LONG_AGO)
        self.cluster_state.event_handlers.add_change_handler(self._hear)

    def _hear(self, check: CheckReference, target: str | None) -> None:
        self.heard.append((check, target))
        self.at.append(self.turns)
        self.contexts[target] = self.cluster_state.cluster_context
        self.on_heard(target)

    def names(self) -> list[str]:
        return [target for _, target in self.heard if target is not None]

    async def turn(self, times: int = 1) -> None:
        for _ in range(times):
            await asyncio.sleep(0)
            self.turns += 1


@pytest.fixture
async def cluster(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Cluster]:
    """By the clock of this test each target is its own piece."""
    monkeypatch.setattr(time_slice, "LONGEST_SECONDS", 0.0)
    made = Cluster()
    running = asyncio.create_task(made.cluster_state.resync.run())
    yield made
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


def clock_skew(cluster: Cluster) -> None:
    cluster.cluster_state.notify_all()


def policy(cluster: Cluster) -> None:
    cluster.cluster_state.take_context(STOPPED)


def storm(cluster: Cluster) -> None:
    cluster.cluster_state.notify_check(CHECK)


def edit(cluster: Cluster) -> None:
    cluster.check(minHealthy=0, generation=7)


@pytest.mark.parametrize("change", [clock_skew, policy, storm, edit])
async def test_other_tasks_run_while_all_targets_are_reported(
    cluster: Cluster, change: Callable[[Cluster], None]
) -> None:
    change(cluster)
    assert cluster.names() == []
    await cluster.turn(2 * MANY)

    assert cluster.heard[0] == (CHECK, None)  # the state of the check is updated first
    assert sorted(cluster.names()) == sorted(NAMES)
    assert len(set(cluster.at)) >= MANY


async def test_few_targets_are_reported_at_once() -> None:
    small = SmallCluster()
    small.check(minHealthy=0)
    for name in NAMES[: MOST_AT_ONCE - 1]:
        small.node(name, ready="Unknown", since=LONG_AGO)
    heard: list[str | None] = []
    small.cluster_state.event_handlers.add_change_handler(lambda _, target: heard.append(target))

    small.cluster_state.take_context(STOPPED)
    assert heard[0] is None
    assert sorted(map(str, heard[1:])) == sorted(NAMES[: MOST_AT_ONCE - 1])


async def test_context_that_changes_meanwhile_is_reported_for_targets_that_were_reported_before(
    cluster: Cluster,
) -> None:
    cluster.cluster_state.take_context(STOPPED)
    await cluster.turn(10)
    early = set(cluster.names())
    assert 0 < len(early) < MANY

    cluster.cluster_state.take_context(WITHOUT_STOP)
    await cluster.turn(3 * MANY)
    assert sorted(cluster.names()) == sorted([*NAMES, *early])
    assert all(context == WITHOUT_STOP for context in cluster.contexts.values())


async def test_target_that_changes_meanwhile_is_reported_with_both_states(cluster: Cluster) -> None:
    unhealthy = cluster.cluster_state.checks[CHECK].unhealthy
    cluster.cluster_state.take_context(STOPPED)
    await cluster.turn(3)
    changed = next(name for name in NAMES if name not in cluster.names())
    heard: list[tuple[bool, ClusterContext]] = []
    cluster.on_heard = lambda _: heard.append((changed in unhealthy, cluster.cluster_state.cluster_context))
    cluster.node(changed)

    assert heard[:2] == [(True, STOPPED), (False, STOPPED)]
    await cluster.turn(2 * MANY)
    assert cluster.names().count(changed) == 2
    assert {*cluster.names()} == {*NAMES}


async def test_target_that_begins_to_fail_meanwhile_is_reported(cluster: Cluster) -> None:
    cluster.cluster_state.take_context(STOPPED)
    await cluster.turn(3)
    cluster.node("late", ready="Unknown", since=LONG_AGO)
    assert cluster.contexts["late"] == STOPPED


async def test_targets_that_are_wanted_no_more_by_the_new_context_are_reported(cluster: Cluster) -> None:
    for name in NAMES:
        cluster.node(name, annotations={CONFIRMED_HEALTHY: ""})
    assert len(list(cluster.cluster_state.all_wanted())) == MANY
    cluster.heard.clear()

    cluster.cluster_state.take_context(SHADOW)
    assert list(cluster.cluster_state.all_wanted()) == []
    await cluster.turn(2 * MANY)
    assert sorted(cluster.names()) == sorted(NAMES)


async def test_target_of_which_a_handler_fails_ends_nothing_for_the_others(cluster: Cluster) -> None:
    def fail_for_one(target: str | None) -> None:
        if target == NAMES[3]:
            raise RuntimeError(target)

    cluster.on_heard = fail_for_one
    cluster.cluster_state.take_context(STOPPED)
    await cluster.turn(2 * MANY)
    assert sorted(cluster.names()) == sorted(NAMES)


async def test_check_with_few_targets_does_not_wait_for_one_with_many(cluster: Cluster) -> None:
    cluster.check(OTHER.name, minHealthy=0, selector={"matchLabels": {"role": "gpu"}})
    cluster.node("gpu", ready="Unknown", since=LONG_AGO, labels={"role": "gpu"})
    cluster.heard.clear()
    cluster.cluster_state.take_context(STOPPED)
    await eventually(lambda: len(cluster.names()) == MANY + 1)
    assert cluster.names().index("gpu") < 2


async def test_end_of_the_process_ends_the_run() -> None:
    cluster = Cluster()
    running = asyncio.create_task(cluster.cluster_state.resync.run())
    cluster.cluster_state.take_context(STOPPED)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    assert cluster.names() == []
