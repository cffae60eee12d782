"""Which detector leads while Temporal is unreachable for some detectors or all."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta
from uuid import uuid4

import pytest

from detector.handover import HandoverTimes, StandBack
from devcluster.control_plane import ControlPlane
from kube.client import Client
from kube.leader import LeaderElection, Leadership, LeaseTimes
from kube.resource import LEASES
from kube.transport import Transport
from tests.support.api.eventually import eventually

NAMESPACE = "paramedic-system"
TIMES = HandoverTimes()
WELL = timedelta()


class Standing:
    """A detector by a clock that stands still until a test moves it."""

    def __init__(self) -> None:
        self.seconds, self.leads = 1000.0, True
        self.silence = self.unpolled = WELL
        self.stand_back = StandBack(
            silence=lambda: self.silence,
            unpolled=lambda: self.unpolled,
            is_leader=lambda: self.leads,
            times=TIMES,
            clock=lambda: self.seconds,
        )

    def stands_back_after(self, time: timedelta = WELL) -> bool:
        self.seconds += time.total_seconds()
        return self.stand_back.begin_if_due()


SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("silence", "unpolled", "leads", "is_due"),
    [
        (WELL, WELL, True, False),
        (TIMES.patience - SECOND, TIMES.unpolled - SECOND, True, False),
        (TIMES.patience, WELL, True, True),
        (WELL, TIMES.unpolled, True, True),
        (TIMES.patience, TIMES.unpolled, False, False),
    ],
)
def test_leader_that_cannot_answer_for_long_stands_back_and_a_standby_has_no_reason(
    silence: timedelta, unpolled: timedelta, *, leads: bool, is_due: bool
) -> None:
    detector = Standing()
    detector.silence, detector.unpolled, detector.leads = silence, unpolled, leads
    assert detector.stands_back_after() is is_due


def test_it_stands_back_for_a_minute_and_once_in_ten() -> None:
    detector = Standing()
    detector.silence = TIMES.patience
    assert detector.stands_back_after()
    detector.leads = False
    assert detector.stands_back_after(TIMES.stand_back - SECOND)
    assert not detector.stands_back_after(SECOND)

    detector.leads = True  # it leads again without Temporal, because no other detector did
    assert not detector.stands_back_after(TIMES.at_most_every - TIMES.stand_back - SECOND)
    assert detector.stands_back_after(SECOND)


class Elected:
    """The leader election of a detector; a test sets how long Temporal has been silent for it."""

    def __init__(self, client: Client, lease: str, identity: str) -> None:
        self.silence = WELL
        self.stopped = 0
        self.leadership = Leadership()
        stand_back = StandBack(
            silence=lambda: self.silence,
            unpolled=timedelta,
            is_leader=self.leadership.is_leader,
            times=HandoverTimes(stand_back=timedelta(seconds=3)),
        )
        self._election = LeaderElection(
            client,
            NAMESPACE,
            lease,
            identity,
            self.leadership,
            times=LeaseTimes(retry_period=timedelta(seconds=0.5)),
            on_stopped=self._note,
            gives_way=stand_back.begin_if_due,
        )
        self._task: asyncio.Task[None] | None = None

    def _note(self) -> None:
        self.stopped += 1

    @property
    def leads(self) -> bool:
        return self.leadership.is_leader()

    def start(self) -> None:
        self._task = asyncio.create_task(self._election.run())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task


Pair = tuple[Elected, Elected]


@pytest.fixture
async def pair(control_plane: ControlPlane) -> AsyncIterator[Pair]:
    """The first detector leads, the second is the standby."""
    lease = f"detector-{uuid4().hex[:8]}"
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        client = Client(transport)
        first, second = (Elected(client, lease, name) for name in ("first", "second"))
        first.start()
        await eventually(lambda: first.leads)
        second.start()
        yield first, second
        await first.stop()
        await second.stop()
        await client.delete(LEASES, lease, NAMESPACE)


@pytest.mark.cluster
async def test_leader_without_temporal_releases_the_lease_and_the_other_leads(pair: Pair) -> None:
    first, second = pair
    first.silence = TIMES.patience
    await eventually(lambda: second.leads)
    assert not first.leads

    first.silence = WELL
    await second.stop()
    await eventually(lambda: first.leads)
    assert first.stopped == 1


@pytest.mark.cluster
async def test_detector_without_a_standby_leads_again_without_temporal_after_it_stood_back(
    pair: Pair,
) -> None:
    first, second = pair
    await second.stop()
    first.silence = TIMES.patience
    await eventually(lambda: first.stopped == 1)
    await eventually(lambda: first.leads)
