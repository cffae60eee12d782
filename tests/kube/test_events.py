from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kube.client import Client
from kube.errors import Forbidden
from kube.events import Events, event_name
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
