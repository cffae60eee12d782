"""Status and Events of a large check are made in pieces, but from one moment."""

import asyncio
from contextlib import suppress
from datetime import timedelta

import pytest

from detector.reporting.snapshot_builder import MOST_AT_ONCE, SnapshotBuilder, SnapshotDraft, rendered
from health.cluster.cluster_context import ClusterContext
from health.cluster.global_stop import Stop
from health.gate.back_off import NO_BACK_OFF
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.model.observation import Hold, HoldReason
from kube import time_slice
from kube.lease import LeaseRecord, name_for_node
from tests.support.state.small_cluster import CHECK, SmallCluster, incident_of
from tests.support.values.builders import NOW

MANY = 2 * MOST_AT_ONCE
LONG_AGO = NOW - timedelta(hours=1)
FOUND = Hold(reason=HoldReason.TAKEN, message="somebody has it")


class Turns:
    def __init__(self) -> None:
        self.number = 0

    async def count_for_ever(self) -> None:
        while True:
            self.number += 1
            await asyncio.sleep(0)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> SmallCluster:
    """By the clock of this test each target is its own piece."""
    monkeypatch.setattr(time_slice, "LONGEST_SECONDS", 0.0)
    made = SmallCluster()
    made.check(minHealthy=0)
    for number in range(MANY):
        made.node(f"node-{number:03}", ready="Unknown", since=LONG_AGO)
    made.request("node-001")
    return made


def draft_of(cluster: SmallCluster) -> SnapshotDraft:
    draft = SnapshotBuilder(cluster.cluster_state, lambda *_: NO_BACK_OFF).draft(CHECK, None, NOW)
    assert draft is not None
    return draft


def change_everything(cluster: SmallCluster) -> None:
    state = cluster.cluster_state
    for number in range(0, MANY, 2):
        cluster.node(f"node-{number:03}")
    for number in range(1, MANY, 4):
        cluster.request(f"node-{number:03}", uid=f"late-{number}")
        state.found(incident_of(f"node-{number + 2:03}"), FOUND)
    cluster.delete_request("node-001")
    cluster.delete_node("node-099")
    spec = {"holderIdentity": "somebody", "leaseDurationSeconds": 3600, "renewTime": NOW}
    for number in range(MANY):
        name = name_for_node(f"node-{number:03}")
        lease = LeaseRecord.model_validate(
            {"metadata": {"name": name, "uid": name, "creationTimestamp": NOW}, "spec": spec}
        )
        state.lease_changed(name, lease)
    state.take_context(ClusterContext(stop=Stop("power work")))
    cluster.check(minHealthy=1, generation=9)


async def test_snapshot_in_pieces_is_of_the_moment_at_which_it_began(cluster: SmallCluster) -> None:
    before = draft_of(cluster).in_one_stretch()
    building = asyncio.create_task(draft_of(cluster).in_pieces())
    for _ in range(10):
        await asyncio.sleep(0)
    change_everything(cluster)

    assert not building.done()
    assert await building == before
    assert draft_of(cluster).in_one_stretch() != before


async def test_other_tasks_run_between_two_targets_of_a_snapshot(cluster: SmallCluster) -> None:
    turns = Turns()
    counting = asyncio.create_task(turns.count_for_ever())
    await draft_of(cluster).in_pieces()
    counting.cancel()
    assert turns.number >= MANY


async def test_snapshot_ends_with_its_reporter(cluster: SmallCluster) -> None:
    building = asyncio.create_task(draft_of(cluster).in_pieces())
    await asyncio.sleep(0)
    building.cancel()
    with pytest.raises(asyncio.CancelledError):
        await building


async def test_event_loop_goes_on_while_status_and_events_of_many_targets_are_rendered(
    cluster: SmallCluster,
) -> None:
    snapshot = await draft_of(cluster).in_pieces()
    turns = Turns()
    counting = asyncio.create_task(turns.count_for_ever())
    loop = asyncio.get_running_loop()
    has_run_meanwhile = asyncio.Event()

    def render() -> list[object]:
        """Render after the event loop has run."""
        asyncio.run_coroutine_threadsafe(_set(has_run_meanwhile), loop).result(30)
        return [*NODE_HEALTH_CHECK.events(None, snapshot, {}, NOW)]

    events = await rendered(snapshot, render)
    counting.cancel()
    with suppress(asyncio.CancelledError):
        await counting
    assert has_run_meanwhile.is_set()
    assert events == [*NODE_HEALTH_CHECK.events(None, snapshot, {}, NOW)]


async def _set(event: asyncio.Event) -> None:
    event.set()
