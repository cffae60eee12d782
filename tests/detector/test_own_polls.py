"""The worker of the detector: when it is created, and whether it serves the queue of questions."""

from datetime import timedelta
from typing import NoReturn, cast
from uuid import uuid4

import pytest
from temporalio import activity
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Worker, _worker

from detector.answers.answering import Answering
from detector.dispatching.dispatch import Dispatch
from detector.handover import OwnPolls
from detector.state.cluster_state import ClusterState
from devcluster.polling import until
from devcluster.temporal import TemporalServer
from health.model.observation import Observation
from health.model.references import IncidentReference
from tests.support.cluster.temporal_servers import client_of
from workflows.contracts import detector_queue

WITHIN = timedelta(seconds=20)


@activity.defn
async def answer() -> None: ...


class Clock:
    """Stands still until a test moves it."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


async def test_polls_of_this_detector_count_and_no_others_and_a_connection_alone_proves_none(
    temporal_server: TemporalServer,
) -> None:
    client, clock, queue = await client_of(temporal_server), Clock(), f"detector/{uuid4().hex[:8]}"
    own, another = (OwnPolls(lambda: client, queue, name, clock) for name in ("own", "another"))
    for one in (own, another):
        assert one.silence() == timedelta()
        one.lead_begins()
    clock.seconds += 60
    await own.look()
    assert own.silence() == timedelta(minutes=1)

    async with Worker(client, task_queue=queue, activities=[answer], identity="own"):

        async def has_polled() -> bool:
            await own.look()
            return own.silence() == timedelta()

        await until(has_polled, within=WITHIN, otherwise="its polls were never seen")
    await another.look()
    assert another.silence() == timedelta(minutes=1)

    async def is_silent() -> bool:  # Temporal still lists the worker, with the end of its last poll
        clock.seconds += 60
        await own.look()
        return own.silence() == timedelta(minutes=1)

    await until(is_silent, within=WITHIN, otherwise="polls were seen of a worker that has ended")
    own.lead_ends()
    assert own.silence() == timedelta()


@pytest.mark.parametrize(
    ("status", "silence"),
    [
        pytest.param(RPCStatusCode.UNAVAILABLE, timedelta(minutes=1), id="it does not answer"),
        pytest.param(RPCStatusCode.PERMISSION_DENIED, timedelta(), id="it does not say who polls"),
    ],
)
async def test_leader_stays_while_temporal_never_lists_pollers(
    status: RPCStatusCode, silence: timedelta
) -> None:
    clock = Clock()

    def refused() -> None:
        raise RPCError("no", status, b"")

    polls = OwnPolls(refused, "detector/main", "own", clock)  # type: ignore[arg-type]  # it raises
    polls.lead_begins()
    clock.seconds += 60
    await polls.look()
    assert polls.silence() == silence


def unasked(_: IncidentReference) -> Observation:
    raise AssertionError


async def test_worker_is_made_without_a_hash_of_all_modules(
    temporal_server: TemporalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hashed(*, memoize: bool = True) -> NoReturn:
        raise AssertionError(memoize)

    monkeypatch.setattr(_worker, "load_default_build_id", hashed)
    dispatch = cast("Dispatch", None)  # the worker only gets questions, and there is none
    answering = Answering(unasked, dispatch, ClusterState("test"), lambda: True, lambda *_: None)
    client = await client_of(temporal_server)
    worker = answering.worker(client, "test")
    assert worker.task_queue == detector_queue("test")
