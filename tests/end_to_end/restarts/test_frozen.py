"""Frozen servers and processes, which later continue as if no time had passed, or die."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent

from devcluster.control_plane import ControlPlane
from kube.reflector import watch_query
from kube.reflector_settings import Watching
from kube.resource import NODES
from kube.transport import Transport
from tests.end_to_end.restarts.audit import lists_of_detectors
from tests.end_to_end.restarts.crew import Crew
from tests.end_to_end.restarts.incidents import Incidents
from tests.support.api.eventually import eventually
from tests.support.cluster.own_servers import API_SERVER, ETCD, TEMPORAL
from tests.support.story.observer import Observer
from tests.support.story.other_kind import OtherKind
from tests.support.story.world import World
from workflows.contracts import OBSERVE

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

LASTING = timedelta(seconds=40)
"""Longer than the maximum age of facts, the duration of the leader's Lease, and the timeout of any activity.
"""
HALF = LASTING / 2
TO_SEE_AGAIN = timedelta(seconds=40)
"""A reflector tries to reach the server at least every 30 s, and lists within 2 s after that."""
TO_WAKE = timedelta(seconds=20)
SECONDS = 60
ONCE_MORE = 2
APART = timedelta(seconds=0.3)


async def test_incidents_in_every_phase_go_on_when_servers_that_were_frozen_wake_or_are_started_again(
    world: World, control_plane: ControlPlane, crew: Crew, second_kind: OtherKind, tmp_path: Path
) -> None:
    """kube-apiserver hangs, dies and returns while Temporal is frozen; facts change before Temporal thaws."""
    incidents = Incidents(world, crew, control_plane.audit_log, second_kind)
    await crew.start()
    async with incidents.begun(tmp_path, LASTING, LASTING + TO_SEE_AGAIN + TO_WAKE) as create:
        gone = datetime.now(UTC)
        crew.servers.freeze(API_SERVER)
        await asyncio.sleep(HALF.total_seconds())
        crew.servers.freeze(TEMPORAL)
        await crew.servers.kill(API_SERVER)
        await asyncio.sleep(HALF.total_seconds())
        await crew.servers.start_api_server()
        await incidents.change(create)
        await asyncio.sleep(HALF.total_seconds())
        crew.servers.thaw(TEMPORAL)
        await incidents.must_have_gone_on()
    await incidents.must_end_clean()
    _lists_must_be_spread(lists_of_detectors(control_plane.audit_log, gone))


def _lists_must_be_spread(lists: dict[str, list[datetime]]) -> None:
    """Each kind is listed a bounded number of times, and not all kinds at the moment of the return.

    A restarted server may end a watch or fail a consistent list, which costs one more list.
    """
    times = sorted(time for times in lists.values() for time in times)
    assert len(lists) > 1, lists
    assert max(map(len, lists.values())) <= ONCE_MORE, lists
    assert times[-1] - times[0] > APART, lists


async def test_incidents_in_every_phase_go_on_with_the_standby_which_a_leader_that_wakes_leaves_them_to(
    world: World, control_plane: ControlPlane, crew: Crew, second_kind: OtherKind, tmp_path: Path
) -> None:
    """The worker freezes and thaws, too; for the standby the frozen leader looks dead."""
    incidents = Incidents(world, crew, control_plane.audit_log, second_kind)
    await crew.start()
    await crew.standby.start_ready()
    async with incidents.begun(tmp_path, LASTING, LASTING + TO_WAKE) as create:
        crew.worker.freeze()
        crew.detector.freeze()
        await incidents.change(create)
        await asyncio.sleep(LASTING.total_seconds())
        crew.worker.thaw()
        await incidents.must_have_gone_on()

    # A thawed leader reads old changes as new ones, for incidents that the standby already handles.
    woken = datetime.now(UTC)
    crew.detector.thaw()
    await crew.detector.ready()
    await incidents.must_end_clean()
    standby = crew.standby.environment["PARAMEDIC_IDENTITY"]
    assert await crew.leader() == standby
    assert set(await heard_since(world, incidents.recovered_last, woken)) == {standby}


@pytest.mark.rule("rule 3", "rule 4")
async def test_api_server_whose_etcd_is_frozen_is_held_and_lifts_by_itself(
    world: World, control_plane: ControlPlane, crew: Crew
) -> None:
    """With frozen etcd, the API server still accepts watches and sends bookmarks."""
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        before = await _cached_version(transport)
        await world.add_nodes(1)
        await world.fail(*world.nodes)
        await world.add_check(duration="0s")  # last: bookmarks prove that the nodes did not change since
        observer = Observer(transport, await world.incident(world.nodes[0]))
        async with observer.open():
            await eventually(lambda: observer.observe().may_be_admitted, SECONDS)
            crew.servers.freeze(ETCD)
            try:
                await eventually(observer.is_stale, SECONDS)
                assert await _bookmarked_version(transport, before) == await _cached_version(transport)
                assert not observer.observe().may_be_admitted
            finally:
                crew.servers.thaw(ETCD)
            await eventually(lambda: observer.observe().may_be_admitted, SECONDS)


async def _cached_version(transport: Transport) -> str:
    """The resourceVersion that the API server returns from its cache, without etcd."""
    answer = await transport.request("GET", NODES.path(), query=[("resourceVersion", "0"), ("limit", "1")])
    version: str = json.loads(answer)["metadata"]["resourceVersion"]
    return version


async def _bookmarked_version(transport: Transport, since: str) -> str:
    """The resourceVersion of a bookmark on a new watch."""
    lasting = Watching().lasting(timedelta(0))
    query = watch_query((), since, lasting)
    async with transport.stream(NODES.path(), query, silence=2 * lasting) as lines:
        told = [json.loads(line) async for line in lines]
    assert told[-1]["type"] == "BOOKMARK"
    version: str = told[-1]["object"]["metadata"]["resourceVersion"]
    return version


async def heard_since(world: World, nodes: Iterable[str], since: datetime) -> Counter[str]:
    """How often each detector, by identity, answered or woke the incidents of these nodes since then."""
    heard: Counter[str] = Counter()
    for node in nodes:
        history = await (await world.workflow(node)).fetch_history()
        heard.update(
            identity
            for event, identity in _of_detectors(list(history.events))
            if event.event_time.ToDatetime(tzinfo=UTC) >= since
        )
    return heard


def _of_detectors(events: list[HistoryEvent]) -> list[tuple[HistoryEvent, str]]:
    questions = {
        event.event_id
        for event in events
        if event.activity_task_scheduled_event_attributes.activity_type.name == OBSERVE.name
    }
    found = []
    for event in events:
        answer = event.activity_task_completed_event_attributes
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
            found.append((event, event.workflow_execution_signaled_event_attributes.identity))
        elif answer.scheduled_event_id in questions:
            found.append((event, answer.identity))
    return found
