"""The detector measures by its own polls if it serves the queue of questions, on a real Temporal server."""

from datetime import timedelta
from uuid import uuid4

import pytest
from temporalio import activity
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Worker

from detector.handover import OwnPolls
from devcluster.polling import until
from devcluster.temporal import TemporalServer
from tests.support.cluster.temporal_servers import client_of

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
