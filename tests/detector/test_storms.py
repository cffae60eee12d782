"""Storms in the memory of the leading detector: begin, change, end, and the notified incidents."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from detector.answers.storms import Storms
from detector.state.check_state import CheckRecord
from health.check.storm import Storm
from health.check.threshold import Allowance
from health.cluster.cluster_context import ClusterContext
from health.kinds.nodehealthcheck.check import NodeHealthCheck
from health.kinds.nodehealthcheck.disabled import OtherChecks
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.nodehealthcheck.status import storm_conditions
from health.model.observation import Hold, HoldReason
from health.model.references import CheckReference
from tests.support.api.eventually import eventually
from tests.support.state.small_cluster import CHECK, SmallCluster
from tests.support.values.builders import NOW, check_object

MINUTE = timedelta(minutes=1)
EXPIRED = NOW - 6 * MINUTE
"""Longer ago than the duration of the condition."""
COOLING = Storm(is_active=True, turned=NOW - 10 * MINUTE, is_cooling=True, cooldown_turned=NOW - MINUTE)
RAGING = replace(COOLING, is_cooling=False)
BEGUN = Storm(is_active=True, turned=NOW, is_cooling=False, cooldown_turned=NOW)


class Cluster(SmallCluster):
    """Four nodes, two of which must be healthy; their storms, and a clock that a test sets."""

    def __init__(self) -> None:
        super().__init__()
        self.is_seen = True
        self.told_of: list[tuple[CheckReference, str | None]] = []
        self.storms = Storms(self.cluster_state, lambda _: self.is_seen, lambda: self.now)
        self.cluster_state.event_handlers.add_change_handler(self._changed)
        self.cluster_state.event_handlers.add_change_handler(
            lambda check, target: self.told_of.append((check, target))
        )
        for number in range(4):
            self.node(f"node-{number}")

    def storm_check(self, *, stored: Storm | None = None, uid: str = "check-uid", **spec: Any) -> None:
        """Store the check; by default with a cooldown of five minutes."""
        conditions = [{"type": "Ready", "status": "Unknown", "duration": "5m"}]
        fields = {"minHealthy": 2, "unhealthyConditions": conditions, "stormCooldownDuration": "5m"} | spec
        body = check_object(**fields) | {"status": {"conditions": storm_conditions(stored)}}
        self.generation += 1
        body["metadata"] |= {"uid": uid, "generation": self.generation}
        self.cluster_state.check_changed(NODE_HEALTH_CHECK, CHECK, CheckRecord.model_validate(body))

    generation = 3

    def fail(self, *numbers: int, since: datetime = EXPIRED) -> None:
        for number in numbers:
            self.node(f"node-{number}", ready="Unknown", since=since)

    def recover(self, *numbers: int) -> None:
        for number in numbers:
            self.node(f"node-{number}", since=self.now)

    def _changed(self, check: CheckReference, target: str | None) -> None:
        self.storms.changed(check, target)

    @property
    def storm(self) -> Storm | None:
        self.storms.advance(CHECK)
        return self.storms.of(CHECK)

    @property
    def hold(self) -> Hold | None:
        self.storms.advance(CHECK)
        return self.storms.hold(CHECK)

    @asynccontextmanager
    async def leading(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.storms.lead())
        await asyncio.sleep(0)
        yield
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
async def leader(cluster: Cluster) -> AsyncIterator[Cluster]:
    """The cluster of a leading detector; no storm, all nodes healthy."""
    cluster.storm_check()
    async with cluster.leading():
        yield cluster


@pytest.mark.rule("NHC 2.3/2", "NHC 2.3/4")
async def test_shortest_breach_of_the_threshold_is_a_storm(leader: Cluster) -> None:
    leader.fail(0, 1)
    assert leader.storm is None

    leader.fail(2)
    leader.recover(2)

    assert leader.storm == replace(BEGUN, is_cooling=True)


@pytest.mark.rule("NHC 2.3/3")
async def test_shortest_breach_during_the_cooldown_restarts_it(cluster: Cluster) -> None:
    cluster.storm_check(stored=COOLING)
    async with cluster.leading():
        cluster.fail(0, 1, 2)
        cluster.recover(2)

        assert cluster.storm == replace(COOLING, cooldown_turned=NOW)


@pytest.mark.rule("NHC 2.3/1")
async def test_nodes_that_fail_above_the_threshold_are_no_storm(leader: Cluster) -> None:
    leader.fail(0, 1)

    assert leader.storm is None
    assert leader.hold is None


@pytest.mark.rule("NHC 2.3/conditions")
async def test_without_a_cooldown_in_the_spec_a_breach_is_no_storm(leader: Cluster) -> None:
    leader.storm_check(stormCooldownDuration=None)
    leader.fail(0, 1, 2, 3)

    assert leader.storm is None


@pytest.mark.rule("rule 20/removed")
async def test_storm_is_forgotten_when_the_cooldown_leaves_the_spec(leader: Cluster) -> None:
    leader.fail(0, 1, 2)
    assert leader.storm == BEGUN

    leader.storm_check(stored=BEGUN, stormCooldownDuration=None)

    assert leader.storm is None
    assert leader.hold is None


@pytest.mark.rule("NHC 2.3/2")
async def test_timers_that_run_break_the_threshold_and_are_no_storm_yet(leader: Cluster) -> None:
    leader.fail(0, 1, 2, since=NOW)
    assert leader.storm is None

    leader.now += 5 * MINUTE
    assert leader.storm is None
    leader.now += timedelta(seconds=1)
    assert leader.storm == replace(BEGUN, turned=leader.now, cooldown_turned=leader.now)


@pytest.mark.rule("NHC 2.3/2")
async def test_earlier_deadline_of_a_node_that_fails_later_counts(leader: Cluster) -> None:
    leader.fail(0, 1, 2, since=NOW)
    leader.fail(3, since=NOW - 3 * MINUTE)
    leader.now += 2 * MINUTE + timedelta(seconds=1)

    assert leader.storm is not None


async def test_deadline_of_a_node_that_recovered_begins_no_storm(leader: Cluster) -> None:
    leader.fail(0, since=NOW - 4 * MINUTE)
    leader.fail(1, 2, 3, since=NOW)
    leader.recover(0)
    leader.now += 2 * MINUTE

    assert leader.storm is None


@pytest.mark.rule("NHC 2.1/11", "NHC 2.3/2")
@pytest.mark.parametrize("held", ["paused", "disabled"])
async def test_no_storm_begins_while_the_check_holds_all_its_nodes_by_itself(
    leader: Cluster, held: str
) -> None:
    if held == "paused":
        leader.storm_check(pauseRequests=["update"])
    else:
        leader.cluster_state.take_context(
            ClusterContext(of_kinds={NODE_HEALTH_CHECK.group_kind: OtherChecks.OTHERS})
        )
    leader.fail(0, 1, 2)
    assert leader.storm is None

    leader.storm_check()
    leader.cluster_state.take_context(ClusterContext())
    assert leader.storm == BEGUN


async def test_storm_of_a_check_that_is_paused_goes_on_by_its_numbers(cluster: Cluster) -> None:
    cluster.storm_check(stored=RAGING, pauseRequests=["update"])
    async with cluster.leading():
        assert cluster.storm == replace(COOLING, cooldown_turned=NOW)
        cluster.fail(0, 1, 2)
        assert cluster.storm == replace(RAGING, cooldown_turned=NOW)


@pytest.mark.rule("NHC 2.7/restart", "rule 39")
async def test_leader_goes_on_from_the_stored_conditions(cluster: Cluster) -> None:
    cluster.storm_check(stored=COOLING)
    async with cluster.leading():
        assert cluster.storm == COOLING
        hold = cluster.hold
        assert hold is not None
        assert hold.reason is HoldReason.STORM


@pytest.mark.rule("rule 39")
async def test_check_that_is_first_seen_later_brings_its_storm(cluster: Cluster) -> None:
    async with cluster.leading():
        cluster.storm_check(stored=COOLING)

        assert cluster.storm == COOLING


async def test_memory_of_the_leader_wins_over_what_is_stored_meanwhile(leader: Cluster) -> None:
    leader.fail(0, 1, 2)
    leader.storm_check(stored=None)

    assert leader.storm == BEGUN


async def test_memory_ends_with_the_lead(cluster: Cluster) -> None:
    cluster.storm_check()
    async with cluster.leading():
        cluster.fail(0, 1, 2)
        assert cluster.storm == BEGUN
    cluster.recover(0, 1, 2)
    assert cluster.storm is None

    async with cluster.leading():
        assert cluster.storm is None


async def test_standby_holds_by_what_is_stored(cluster: Cluster) -> None:
    cluster.storm_check(stored=COOLING)
    cluster.now += timedelta(hours=1)

    assert cluster.storm == COOLING
    assert cluster.hold is not None


async def test_check_of_the_same_name_has_no_storm_of_its_predecessor(leader: Cluster) -> None:
    leader.fail(0, 1, 2)
    assert leader.storm == BEGUN
    leader.recover(0, 1, 2)
    leader.delete_check()
    assert leader.storm is None
    leader.storm_check()
    assert leader.storm is None

    leader.fail(0, 1, 2)
    leader.recover(0, 1, 2)
    leader.storm_check(uid="another")
    assert leader.storm is None


async def test_check_that_cannot_be_read_keeps_its_storm(leader: Cluster) -> None:
    leader.fail(0, 1, 2)
    leader.storm_check(minHealthy=-1)
    leader.recover(0, 1, 2)

    assert leader.storm == BEGUN


async def test_check_that_cannot_be_read_waits_for_no_time_and_goes_on_when_it_is_mended(
    cluster: Cluster,
) -> None:
    looks = 0

    def now() -> datetime:
        nonlocal looks
        looks += 1
        return cluster.now

    cluster.storms = Storms(cluster.cluster_state, lambda _: True, now)
    async with cluster.leading():
        cluster.storm_check(stored=COOLING)
        cluster.storm_check(minHealthy=-1)
        cluster.now += timedelta(hours=1)  # its cooldown is over
        await _many_turns()
        before = looks
        await _many_turns()
        assert looks == before

        cluster.storm_check()
        assert cluster.storm is not None
        assert not cluster.storm.is_active


async def _many_turns() -> None:
    for _ in range(100):
        await asyncio.sleep(0)


@pytest.mark.rule("rule 3")
async def test_nothing_begins_or_ends_while_the_cluster_is_not_seen(cluster: Cluster) -> None:
    cluster.storm_check(stored=COOLING)
    async with cluster.leading():
        cluster.is_seen = False
        cluster.now += timedelta(hours=1)
        assert cluster.storm == COOLING

        cluster.is_seen = True
        assert cluster.storm == Storm(
            is_active=False, turned=cluster.now, is_cooling=False, cooldown_turned=cluster.now
        )
        cluster.is_seen = False
        cluster.fail(0, 1, 2)
        assert cluster.storm is not None
        assert not cluster.storm.is_active


@pytest.fixture
async def live(cluster: Cluster) -> AsyncIterator[Cluster]:
    """A leading detector on the real clock."""
    cluster.storms = Storms(cluster.cluster_state, lambda _: True, lambda: datetime.now(UTC))
    async with cluster.leading():
        yield cluster


@pytest.mark.rule("NHC 2.3/6", "rule 20")
async def test_all_nodes_of_a_check_are_woken_when_its_storm_ends_with_time(live: Cluster) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    live.fail(0, 1, since=now - 6 * MINUTE)
    live.storm_check(stored=replace(COOLING, cooldown_turned=now), stormCooldownDuration="1s")
    await asyncio.sleep(0)
    live.told_of.clear()

    await eventually(lambda: (CHECK, None) in live.told_of)
    assert live.storm is not None
    assert not live.storm.is_active
    assert {(CHECK, "node-0"), (CHECK, "node-1")} <= set(live.told_of)


@pytest.mark.rule("NHC 2.3/6", "NHC 2.7/restart")
async def test_storm_that_is_found_at_the_start_ends_with_time_though_nothing_changes(
    cluster: Cluster,
) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    cluster.storm_check(stored=replace(COOLING, cooldown_turned=now), stormCooldownDuration="0s")
    cluster.storms = Storms(cluster.cluster_state, lambda _: True, lambda: datetime.now(UTC))
    cluster.told_of.clear()
    async with cluster.leading():
        await eventually(lambda: (CHECK, None) in cluster.told_of)


@pytest.mark.rule("rule 3")
async def test_storm_that_was_over_while_the_cluster_was_not_seen_ends_soon_after(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("detector.answers.storms._BLIND", timedelta(milliseconds=20))
    cluster.storm_check(stored=COOLING)
    cluster.storms = Storms(cluster.cluster_state, lambda _: cluster.is_seen, lambda: datetime.now(UTC))
    cluster.is_seen = False
    cluster.told_of.clear()
    async with cluster.leading():
        await asyncio.sleep(0.1)
        assert cluster.told_of == []

        cluster.is_seen = True
        await eventually(lambda: (CHECK, None) in cluster.told_of)


@pytest.mark.rule("NHC 2.3/2")
async def test_storm_begins_when_the_first_deadline_is_over_and_is_reported(live: Cluster) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    live.storm_check()
    live.fail(0, 1, 2, since=now - 5 * MINUTE + timedelta(seconds=2))
    await asyncio.sleep(0)
    live.told_of.clear()

    await eventually(lambda: (CHECK, None) in live.told_of)
    assert live.storm is not None
    assert live.storm.is_active


async def test_unchanged_storm_notifies_no_incident(live: Cluster) -> None:
    live.storm_check()
    live.fail(0, 1, 2, since=datetime.now(UTC) - 6 * MINUTE)
    live.told_of.clear()
    nodes = {(CHECK, f"node-{number}") for number in range(3)}
    await eventually(lambda: nodes <= set(live.told_of))
    live.told_of.clear()
    await asyncio.sleep(0.5)

    assert live.told_of == []


@pytest.mark.rule("rule 8/incident")
async def test_check_whose_numbers_cannot_be_judged_ends_nothing_and_is_not_looked_at_in_a_loop(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = 0

    def fail(*_: object, **__: object) -> Allowance:
        nonlocal looks
        looks += 1
        raise OverflowError("too many")

    cluster.storm_check(stored=replace(COOLING, cooldown_turned=NOW - 10 * MINUTE))
    with monkeypatch.context() as patched:
        patched.setattr(NodeHealthCheck, "allowance", fail)
        async with cluster.leading():
            for _ in range(100):
                await asyncio.sleep(0)
            assert looks == 1
            patched.undo()
            cluster.storm_check()
            assert cluster.storm is not None
            assert not cluster.storm.is_active


@pytest.mark.rule("NHC 2.3/4")
async def test_storm_begins_in_time_when_a_deadline_becomes_earlier_and_no_number_changes(
    leader: Cluster,
) -> None:
    leader.fail(0, 1, 2, since=NOW)
    assert leader.storm is None
    leader.fail(2, since=NOW - 4 * MINUTE)
    leader.told_of.clear()

    leader.now = NOW + MINUTE + timedelta(seconds=1)
    leader.storms._rescheduled.set()  # noqa: SLF001  the clock of this test wakes no task
    await eventually(lambda: (CHECK, None) in leader.told_of)
