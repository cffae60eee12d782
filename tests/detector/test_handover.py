"""Which detector leads while Temporal is unreachable for some detectors or all, on a real API server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta
from uuid import uuid4

import pytest

from detector.handover import Handover, HandoverTimes
from devcluster.control_plane import ControlPlane
from devcluster.polling import until
from kube.candidates import CANDIDATE_FOR, CandidateTimes, candidate_name
from kube.client import Client
from kube.leader import LeaderElection, Leadership, LeaseTimes
from kube.lease import new_lease
from kube.resource import LEASES
from kube.transport import Transport
from tests.support.api.eventually import eventually
from tests.support.values.leases import NOW

pytestmark = pytest.mark.cluster

NAMESPACE = "paramedic-system"
QUICK = HandoverTimes(
    fit=timedelta(seconds=1),
    patience=timedelta(seconds=2),
    suspect=timedelta(minutes=5),
    candidates=CandidateTimes(
        settled=timedelta(seconds=0.2),
        renewal=timedelta(seconds=0.2),
        look=timedelta(seconds=0.05),
        steady=timedelta(seconds=0.5),
    ),
)
WELL, AWAY = timedelta(), timedelta(minutes=1)
UNPOLLED = HandoverTimes().unpolled


class Standing:
    """The leader election of a detector; a test sets how long Temporal has been silent for it."""

    def __init__(self, client: Client, leader: str, identity: str) -> None:
        self.silence = WELL
        self.unpolled = WELL
        self.stopped = 0
        self.name = candidate_name(leader, identity)
        self.leadership = Leadership()
        self.handover = Handover(
            client,
            NAMESPACE,
            leader,
            identity,
            silence=lambda: self.silence,
            unpolled=lambda: self.unpolled if self.leads else WELL,
            is_leader=self.leadership.is_leader,
            times=QUICK,
        )
        self.election = LeaderElection(
            client,
            NAMESPACE,
            leader,
            identity,
            self.leadership,
            times=LeaseTimes(retry_period=timedelta(seconds=0.5)),
            on_stopped=self._note,
            gives_way=self.handover.gives_way,
        )
        self._tasks: list[asyncio.Task[None]] = []

    def _note(self) -> None:
        self.stopped += 1

    @property
    def leads(self) -> bool:
        return self.leadership.is_leader()

    def start(self) -> None:
        self._tasks = [asyncio.create_task(part.run()) for part in (self.handover, self.election)]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


class Pair:
    """The first detector leads, the second is the standby."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.leader = f"detector-{uuid4().hex[:8]}"
        self.first, self.second = (Standing(client, self.leader, name) for name in ("first", "second"))

    async def start(self) -> None:
        self.first.start()
        await eventually(lambda: self.first.leads)
        self.second.start()

    async def candidates(self) -> list[str]:
        found = await self.client.list(LEASES, NAMESPACE, f"{CANDIDATE_FOR}={self.leader}")
        return [lease["metadata"]["name"] for lease in found]

    async def until_candidates(self, *expected: Standing) -> None:
        names = [one.name for one in expected]

        async def are_they() -> bool:
            return await self.candidates() == names

        await until(are_they, within=timedelta(seconds=60), otherwise=f"the candidates never were {names}")


@pytest.fixture
async def pair(control_plane: ControlPlane) -> AsyncIterator[Pair]:
    """Two detectors with the rights of deploy/."""
    async with await Transport.connect(str(control_plane.detector_kubeconfig)) as transport:
        made = Pair(Client(transport))
        await made.start()
        yield made
        await made.first.stop()
        await made.second.stop()
        await made.client.delete(LEASES, made.leader, NAMESPACE)


async def test_leader_without_temporal_gives_the_lead_to_one_that_reaches_it(pair: Pair) -> None:
    await pair.until_candidates(pair.second)

    pair.first.silence = AWAY
    await eventually(lambda: pair.second.leads)
    assert not pair.first.leads
    await pair.until_candidates()

    pair.first.silence = WELL
    await pair.until_candidates(pair.first)
    assert pair.second.leads
    assert pair.second.stopped == 0


async def test_leader_whose_polls_fail_gives_the_lead_away_once_and_not_back_and_forth(pair: Pair) -> None:
    await pair.until_candidates(pair.second)

    pair.first.unpolled = UNPOLLED
    await eventually(lambda: pair.second.leads)
    assert not pair.first.leads

    pair.second.unpolled = UNPOLLED  # the polls of the other detector fail, too
    await pair.until_candidates()
    assert not pair.second.handover.gives_way()
    assert pair.second.leads
    assert pair.second.stopped == 0


async def test_leader_whose_polls_succeed_again_while_no_other_is_fit_keeps_the_lead(pair: Pair) -> None:
    await pair.until_candidates(pair.second)
    pair.second.silence = AWAY
    await pair.until_candidates()
    pair.first.unpolled = UNPOLLED
    await eventually(lambda: pair.first.handover.is_suspect)
    pair.first.unpolled = WELL
    await eventually(lambda: not pair.first.handover.is_suspect)

    pair.second.silence = WELL
    await pair.until_candidates(pair.second)
    assert pair.first.leads
    assert pair.first.stopped == 0


async def test_leader_stays_while_temporal_is_away_for_all(pair: Pair) -> None:
    await pair.until_candidates(pair.second)
    pair.first.silence = pair.second.silence = AWAY
    await pair.until_candidates()

    assert not pair.first.handover.gives_way()
    assert (pair.first.leads, pair.second.leads) == (True, False)
    assert pair.first.stopped == 0


async def test_leader_does_not_give_way_to_a_dead_candidate_whose_lease_the_next_one_removes(
    pair: Pair,
) -> None:
    await pair.second.stop()
    dead = new_lease(pair.second.name, NAMESPACE, "second", timedelta(seconds=1), NOW, None)
    dead["metadata"]["labels"] = {CANDIDATE_FOR: pair.leader}
    await pair.client.create(LEASES, dead, NAMESPACE)
    pair.first.silence = AWAY

    third = Standing(pair.client, pair.leader, "third")
    third.silence = AWAY
    third.start()
    await pair.until_candidates()
    await third.stop()
    assert pair.first.leads
    assert pair.first.stopped == 0


async def test_detector_that_gave_the_lead_away_takes_it_again_when_no_other_holds_it(pair: Pair) -> None:
    await pair.until_candidates(pair.second)
    pair.first.silence = AWAY
    await eventually(lambda: pair.second.leads)

    await pair.second.stop()
    await eventually(lambda: pair.first.leads)


async def test_candidate_that_ends_leaves_nothing(pair: Pair) -> None:
    await pair.until_candidates(pair.second)
    await pair.second.stop()

    assert await pair.candidates() == []
