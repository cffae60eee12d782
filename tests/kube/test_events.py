"""Events, and the burst and the steady rate of Events and of log lines."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.client import Client
from kube.errors import Forbidden
from kube.events import Events, event_name
from kube.rate_limiter import RateLimiter
from objects.event import Event, InvolvedObject, Severity
from tests.support.api.api_server import ApiServer, refused, said

NOW = datetime(2025, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
DEFAULT = "/api/v1/namespaces/default/events"


ABOUT = InvolvedObject(api_version="v1", kind="Node", namespace="", name="a", uid="uid-a")


def _event(message: str = "It failed.") -> Event:
    return Event(seed="seed", severity=Severity.WARNING, reason="Failed", message=message)


async def test_event_is_written_whole(server: ApiServer, client: Client) -> None:
    server.answer("POST", DEFAULT, said({}, 201))

    await Events(client, "paramedic", "pod-1").write(_event(), ABOUT, NOW)

    assert server.asked[0].body == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": event_name("seed", ABOUT), "namespace": "default"},
        "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": "a", "uid": "uid-a"},
        "type": "Warning",
        "reason": "Failed",
        "message": "It failed.",
        "source": {"component": "paramedic"},
        "reportingComponent": "paramedic",
        "reportingInstance": "pod-1",
        "firstTimestamp": "2025-01-02T03:04:05Z",
        "lastTimestamp": "2025-01-02T03:04:05Z",
        "count": 1,
    }


async def test_event_of_a_namespaced_object_lives_beside_it(server: ApiServer, client: Client) -> None:
    server.answer("POST", "/api/v1/namespaces/b/events", said({}, 201))

    await Events(client, "paramedic", "pod-1").write(_event(), replace(ABOUT, namespace="b"), NOW)

    assert server.asked[0].body["involvedObject"]["namespace"] == "b"


async def test_event_whose_name_is_taken_gets_another_one_only_if_it_says_how(
    server: ApiServer, client: Client
) -> None:
    server.answer("POST", DEFAULT, refused(409, "AlreadyExists", "a.1"), said({}, 201))

    await Events(client, "paramedic", "pod-1").write(replace(_event(), again="later"), ABOUT, NOW)

    names = [asked.body["metadata"]["name"] for asked in server.asked]
    assert names == [event_name("seed", ABOUT), event_name("seed\nlater", ABOUT)]


@pytest.mark.rule("rule 15")
async def test_event_that_was_reported_already_is_not_reported_again(
    server: ApiServer, client: Client
) -> None:
    server.answer("POST", DEFAULT, refused(409, "AlreadyExists", "a.1"))

    await Events(client, "paramedic", "pod-1").write(_event(), ABOUT, NOW)

    assert len(server.asked) == 1


async def test_event_that_is_refused_is_an_error(server: ApiServer, client: Client) -> None:
    server.answer("POST", DEFAULT, refused(403, "Forbidden"))

    with pytest.raises(Forbidden):
        await Events(client, "paramedic", "pod-1").write(_event(), ABOUT, NOW)


async def test_long_message_is_cut(server: ApiServer, client: Client) -> None:
    server.answer("POST", DEFAULT, said({}, 201))

    await Events(client, "paramedic", "pod-1").write(_event("m" * 2000), ABOUT, NOW)

    assert len(server.asked[0].body["message"]) == 1024


@pytest.mark.rule("rule 15")
def test_name_depends_on_the_object_and_the_transition_alone() -> None:
    assert event_name("one", ABOUT) == event_name("one", ABOUT)
    assert event_name("one", ABOUT) != event_name("two", ABOUT)
    assert event_name("one", ABOUT).startswith("a.")


def test_name_fits_whatever_the_name_of_the_object() -> None:
    name = event_name("seed", replace(ABOUT, name="x" * 235 + "." + "y" * 17))

    assert len(name) <= 253
    assert ".." not in name


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_burst_is_due_at_once_and_the_rest_at_the_steady_rate() -> None:
    rate_limiter = RateLimiter(burst=3, per_second=10, clock=Clock())

    assert [rate_limiter.reserve() for _ in range(5)] == pytest.approx([0, 0, 0, 0.1, 0.2])


def test_rest_makes_room_for_a_burst_and_no_more() -> None:
    clock = Clock()
    rate_limiter = RateLimiter(burst=3, per_second=10, clock=clock)
    for _ in range(3):
        rate_limiter.reserve()
    clock.now += 60

    assert [rate_limiter.reserve() for _ in range(4)] == pytest.approx([0, 0, 0, 0.1])


def test_token_that_is_not_due_is_refused_and_not_taken() -> None:
    clock = Clock()
    rate_limiter = RateLimiter(burst=2, per_second=10, clock=clock)
    assert [rate_limiter.allow() for _ in range(4)] == [True, True, False, False]
    clock.now += 0.15
    assert [rate_limiter.allow() for _ in range(2)] == [True, False]


@given(st.lists(st.floats(min_value=0, max_value=1), max_size=60))
def test_never_more_than_a_burst_and_the_rate_allow(waits: list[float]) -> None:
    clock = Clock()
    rate_limiter = RateLimiter(burst=5, per_second=10, clock=clock)
    due = []
    for wait in waits:
        clock.now += wait
        due.append(clock.now + rate_limiter.reserve())

    for number, first in enumerate(due):
        within = [time for time in due[number:] if time <= first + 1]
        assert len(within) <= 5 + 10 + 1
