"""Elections by a Lease that a scripted server keeps, with a clock that the test moves."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

import pytest

from kube.client import Client
from kube.leader import LeaderElection, Leadership, LeaseTimes
from kube.transport import Transport
from tests.support.api.api_server import ApiServer, hanging, refused, said
from tests.support.api.eventually import eventually
from tests.support.values.leases import NOW, lease_object

ALL = "/apis/coordination.k8s.io/v1/namespaces/leases/leases"
ONE = f"{ALL}/leader"
GONE = refused(404, "NotFound", "leader")
CHANGED = refused(409, "Conflict", "leader")
LABELS = {"of": "us"}
UNDECODABLE = refused(503, "ServiceUnavailable")


class Clock:
    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


class Candidate:
    """An election under test. Its own times are real and short, its clock is the test's."""

    def __init__(self, client: Client, retry_period: timedelta = timedelta(milliseconds=20)) -> None:
        self.clock = Clock()
        self.told: list[str] = []
        self.gives_way = False
        self.leadership = Leadership(self.clock, now=lambda: NOW)
        self.election = LeaderElection(
            client,
            "leases",
            "leader",
            "me",
            self.leadership,
            times=LeaseTimes(timedelta(seconds=3), timedelta(seconds=2), retry_period),
            on_started=lambda: self.told.append("started"),
            on_stopped=lambda: self.told.append("stopped"),
            gives_way=lambda: self.gives_way,
            now=lambda: NOW,
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.election.run())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


@pytest.fixture
def candidate(transport: Transport) -> Candidate:
    return Candidate(Client(transport, labels=LABELS))


@pytest.fixture
def unhurried(client: Client) -> Candidate:
    """A candidate with enough time to release its Lease: the release ends before the next retry."""
    return Candidate(client, retry_period=timedelta(seconds=1))


def _asked(server: ApiServer, method: str) -> int:
    return sum(asked.method == method for asked in server.asked)


async def test_free_lease_makes_a_leader_which_gives_it_back(server: ApiServer, unhurried: Candidate) -> None:
    server.answer("GET", ONE, GONE, said(lease_object("me", version=9)))
    server.answer("POST", ALL, said(lease_object("me", version=1), 201))
    server.answer("PATCH", ONE, said(lease_object("me", version=2)))

    async with unhurried.running():
        await eventually(lambda: _asked(server, "PATCH") > 1)
        assert unhurried.leadership.is_leader()
        assert unhurried.leadership.since() == NOW
        assert unhurried.told == ["started"]

    assert not unhurried.leadership.is_leader()
    assert unhurried.leadership.since() is None
    assert not unhurried.leadership.is_in_term
    assert unhurried.told == ["started", "stopped"]
    last = server.asked[-1].body
    assert (last["spec"]["holderIdentity"], last["metadata"]["resourceVersion"]) == ("", "9")


async def test_end_of_a_term_ends_no_later_term() -> None:
    leadership = Leadership()
    leadership.begin_term()
    leadership.end_term()
    leadership.begin_term()
    over = asyncio.create_task(leadership.wait_over())
    await asyncio.sleep(0)
    assert not over.done()

    leadership.end_term()
    async with asyncio.timeout(1):
        await over


async def test_leader_renews_without_reading(server: ApiServer, candidate: Candidate) -> None:
    server.answer("GET", ONE, GONE)
    server.answer("POST", ALL, said(lease_object("me", version=1), 201))
    server.answer("PATCH", ONE, said(lease_object("me", version=2)))

    async with candidate.running():
        await eventually(lambda: _asked(server, "PATCH") > 2)
        assert _asked(server, "GET") == 1
        versions = [
            asked.body["metadata"]["resourceVersion"] for asked in server.asked if asked.method == "PATCH"
        ]
        assert versions[:2] == ["1", "2"]


async def test_lease_of_another_is_waited_for_by_our_own_clock(
    server: ApiServer, candidate: Candidate
) -> None:
    # By its timestamps this Lease ended long ago; the machine that wrote them may have another clock.
    server.answer("GET", ONE, said(lease_object("another", renewed=timedelta(days=1), duration_seconds=15)))
    server.answer("PATCH", ONE, said(lease_object("me", version=2)))

    async with candidate.running():
        await eventually(lambda: _asked(server, "GET") > 2)
        candidate.clock.seconds += 15
        seen = _asked(server, "GET")
        await eventually(lambda: _asked(server, "GET") > seen + 1)
        assert not candidate.leadership.is_leader()

        candidate.clock.seconds += 0.1
        await eventually(candidate.leadership.is_leader)
        taken = next(asked.body for asked in server.asked if asked.method == "PATCH")
        assert taken["metadata"]["labels"] == LABELS


async def test_living_leader_is_never_taken_over(server: ApiServer, candidate: Candidate) -> None:
    server.answer(
        "GET", ONE, *(said(lease_object("another", duration_seconds=15, version=n)) for n in range(1, 60))
    )

    async with candidate.running():
        for looks in range(1, 6):
            await eventually(lambda looks=looks: _asked(server, "GET") > 2 * looks)  # type: ignore[misc]  # lambda
            candidate.clock.seconds += 14
        assert not candidate.leadership.is_leader()

    assert _asked(server, "PATCH") == 0


async def test_lease_that_was_given_back_is_taken_at_once(server: ApiServer, candidate: Candidate) -> None:
    server.answer("GET", ONE, said(lease_object("", duration_seconds=1)))
    server.answer("PATCH", ONE, said(lease_object("me", version=2)))

    async with candidate.running():
        await eventually(candidate.leadership.is_leader)


async def test_leadership_ends_at_its_deadline_though_nothing_is_called(
    server: ApiServer, candidate: Candidate
) -> None:
    server.answer("GET", ONE, GONE)
    server.answer("POST", ALL, said(lease_object("me"), 201))
    server.answer("PATCH", ONE, hanging)

    async with candidate.running():
        await eventually(lambda: _asked(server, "PATCH") == 1)
        candidate.clock.seconds += 1.9
        assert candidate.leadership.is_leader()
        candidate.clock.seconds += 0.1
        assert not candidate.leadership.is_leader()
        await eventually(lambda: candidate.told == ["started", "stopped"])


async def test_failing_server_ends_leadership_at_the_deadline_and_not_before(
    server: ApiServer, candidate: Candidate
) -> None:
    server.answer("GET", ONE, GONE, UNDECODABLE)
    server.answer("POST", ALL, said(lease_object("me"), 201))
    server.answer("PATCH", ONE, UNDECODABLE)

    async with candidate.running():
        await eventually(lambda: _asked(server, "GET") > 3)
        assert candidate.told == ["started"]
        candidate.clock.seconds += 2
        await eventually(lambda: candidate.told == ["started", "stopped"])


async def test_leader_that_was_replaced_stops_at_once(server: ApiServer, candidate: Candidate) -> None:
    server.answer("GET", ONE, GONE, said(lease_object("another", version=5)))
    server.answer("POST", ALL, said(lease_object("me"), 201))
    server.answer("PATCH", ONE, CHANGED)

    async with candidate.running():
        await eventually(lambda: candidate.told == ["started", "stopped"])
        assert not candidate.leadership.is_leader()


async def test_leader_goes_on_when_another_writer_annotated_its_lease(
    server: ApiServer, candidate: Candidate
) -> None:
    server.answer("GET", ONE, GONE, said(lease_object("me", version=5)))
    server.answer("POST", ALL, said(lease_object("me"), 201))
    server.answer("PATCH", ONE, CHANGED, said(lease_object("me", version=6)))

    async with candidate.running():
        await eventually(lambda: _asked(server, "PATCH") > 3)
        assert candidate.told == ["started"]
        assert candidate.leadership.is_leader()


async def test_leader_whose_lease_a_person_deleted_creates_it_again_at_once(
    server: ApiServer, candidate: Candidate, caplog: pytest.LogCaptureFixture
) -> None:
    server.answer("GET", ONE, GONE)
    server.answer("POST", ALL, said(lease_object("me", version=1), 201))
    server.answer("PATCH", ONE, GONE, said(lease_object("me", version=2)))

    async with candidate.running():
        await eventually(lambda: _asked(server, "PATCH") > 2)
        assert _asked(server, "POST") == 2
        assert candidate.told == ["started"]
    assert "cannot be reached" not in caplog.text


async def test_lease_that_a_renewal_in_flight_changed_is_given_back_all_the_same(
    server: ApiServer, unhurried: Candidate
) -> None:
    server.answer("GET", ONE, GONE, said(lease_object("me", version=1)), said(lease_object("me", version=2)))
    server.answer("POST", ALL, said(lease_object("me", version=1), 201))
    server.answer("PATCH", ONE, hanging, CHANGED, said(lease_object("", version=3)))

    async with unhurried.running():
        await eventually(lambda: _asked(server, "PATCH") == 1)

    last = server.asked[-1].body
    assert (last["spec"]["holderIdentity"], last["metadata"]["resourceVersion"]) == ("", "2")
    assert _asked(server, "PATCH") == 3


async def test_lease_that_another_took_over_meanwhile_is_not_given_back(
    server: ApiServer, unhurried: Candidate
) -> None:
    server.answer("GET", ONE, GONE, said(lease_object("me", version=1)), said(lease_object("another")))
    server.answer("POST", ALL, said(lease_object("me", version=1), 201))
    server.answer("PATCH", ONE, hanging, CHANGED)

    async with unhurried.running():
        await eventually(lambda: _asked(server, "PATCH") == 1)

    assert _asked(server, "PATCH") == 2
    assert server.asked[-1].method == "GET"


async def test_candidate_that_was_slower_does_not_lead(server: ApiServer, candidate: Candidate) -> None:
    server.answer("GET", ONE, GONE, said(lease_object("another")))
    server.answer("POST", ALL, refused(409, "AlreadyExists", "leader"))

    async with candidate.running():
        await eventually(lambda: _asked(server, "GET") > 2)
        assert not candidate.leadership.is_leader()
    assert candidate.told == []


def test_times_that_allow_two_leaders_are_refused() -> None:
    with pytest.raises(ValueError, match="renew_deadline < duration"):
        LeaseTimes(duration=timedelta(seconds=10))


async def test_leader_that_gives_way_gives_the_lease_back_and_does_not_stand_while_that_is_so(
    server: ApiServer, candidate: Candidate
) -> None:
    # A release that is late on a busy machine is tried again, because the Lease stays ours.
    server.answer("GET", ONE, GONE, said(lease_object("me", version=9)))
    server.answer("POST", ALL, said(lease_object("me", version=1), 201))
    server.answer("PATCH", ONE, said(lease_object("me", version=2)))

    def is_released() -> bool:
        patches = [call.body for call in server.asked if call.method == "PATCH"]
        return bool(patches) and patches[-1]["spec"]["holderIdentity"] == ""

    async with candidate.running():
        await eventually(candidate.leadership.is_leader)
        candidate.gives_way = True
        await eventually(lambda: candidate.told == ["started", "stopped"])
        await eventually(is_released)
        looks = _asked(server, "GET")
        await eventually(lambda: _asked(server, "GET") > looks + 2)
        assert not candidate.leadership.is_leader()

        candidate.gives_way = False
        await eventually(candidate.leadership.is_leader)


async def test_new_leader_knows_until_when_another_led_and_its_own_renewals_do_not_change_that(
    server: ApiServer, candidate: Candidate
) -> None:
    server.answer("GET", ONE, said(lease_object("", renewed=timedelta(hours=3), version=1)))
    server.answer("PATCH", ONE, said(lease_object("me", version=2)))

    async with candidate.running():
        await eventually(lambda: _asked(server, "PATCH") > 2)
        assert candidate.leadership.led_until == NOW - timedelta(hours=3)


async def test_first_leader_of_all_knows_of_none_before_it(server: ApiServer, candidate: Candidate) -> None:
    server.answer("GET", ONE, GONE)
    server.answer("POST", ALL, said(lease_object("me", version=1), 201))
    server.answer("PATCH", ONE, said(lease_object("me", version=2)))

    async with candidate.running():
        await eventually(lambda: _asked(server, "PATCH") > 0)
        assert candidate.leadership.led_until is None


async def test_leader_after_a_lease_that_somebody_deleted_does_not_take_itself_for_the_first(
    server: ApiServer, candidate: Candidate
) -> None:
    server.answer("GET", ONE, said(lease_object("another", duration_seconds=15)), GONE)
    server.answer("POST", ALL, said(lease_object("me", version=1), 201))
    server.answer("PATCH", ONE, said(lease_object("me", version=2)))
    async with candidate.running():
        await eventually(candidate.leadership.is_leader)
        assert candidate.leadership.led_until == NOW


async def test_leader_after_a_lease_without_a_time_does_not_take_itself_for_the_first(
    server: ApiServer, candidate: Candidate
) -> None:
    server.answer("GET", ONE, said(lease_object("", renewed=None)))
    server.answer("PATCH", ONE, said(lease_object("me", version=2)))
    async with candidate.running():
        await eventually(candidate.leadership.is_leader)
        assert candidate.leadership.led_until == NOW


async def test_first_leader_follows_nobody(server: ApiServer, candidate: Candidate) -> None:
    server.answer("GET", ONE, GONE)
    server.answer("POST", ALL, said(lease_object("me", version=1), 201))
    server.answer("PATCH", ONE, said(lease_object("me", version=2)))
    async with candidate.running():
        await eventually(candidate.leadership.is_leader)
        assert candidate.leadership.led_until is None
