from datetime import UTC, datetime

import pytest

from kube.client import Client
from kube.errors import Forbidden
from kube.events import EventNote, Events, ObjectReference, event_name
from tests.kube.api_server import ApiServer, refused, said

NOW = datetime(2025, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
DEFAULT = "/api/v1/namespaces/default/events"


def _note(seed: str = "seed", name: str = "a", namespace: str = "", message: str = "It failed.") -> EventNote:
    regarding = ObjectReference("v1", "Node", namespace, name, "uid-a")
    return EventNote(seed, "Warning", "Failed", message, regarding)


async def test_event_is_written_whole(server: ApiServer, client: Client) -> None:
    server.answer("POST", DEFAULT, said({}, 201))

    await Events(client, "paramedic", "pod-1").write(_note(), NOW)

    assert server.asked[0].body == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": event_name(_note()), "namespace": "default"},
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

    await Events(client, "paramedic", "pod-1").write(_note(namespace="b"), NOW)

    assert server.asked[0].body["involvedObject"]["namespace"] == "b"


@pytest.mark.rule("rule 15")
async def test_event_that_was_told_already_is_not_told_again(server: ApiServer, client: Client) -> None:
    server.answer("POST", DEFAULT, refused(409, "AlreadyExists", "a.1"))

    await Events(client, "paramedic", "pod-1").write(_note(), NOW)

    assert len(server.asked) == 1


async def test_event_that_is_refused_is_an_error(server: ApiServer, client: Client) -> None:
    server.answer("POST", DEFAULT, refused(403, "Forbidden"))

    with pytest.raises(Forbidden):
        await Events(client, "paramedic", "pod-1").write(_note(), NOW)


async def test_long_message_is_cut(server: ApiServer, client: Client) -> None:
    server.answer("POST", DEFAULT, said({}, 201))

    await Events(client, "paramedic", "pod-1").write(_note(message="m" * 2000), NOW)

    assert len(server.asked[0].body["message"]) == 1024


@pytest.mark.rule("rule 15")
def test_name_depends_on_the_object_and_the_transition_alone() -> None:
    assert event_name(_note()) == event_name(_note(message="It failed again."))
    assert event_name(_note(seed="one")) != event_name(_note(seed="two"))
    assert event_name(_note(name="a")).startswith("a.")


def test_name_fits_whatever_the_name_of_the_object() -> None:
    name = event_name(_note(name="x" * 235 + "." + "y" * 17))

    assert len(name) <= 253
    assert ".." not in name
