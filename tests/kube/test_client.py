"""The paths and requests of a client."""

from typing import Any

import pytest

from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from kube.client import Client
from kube.errors import Conflict, Expired, Malformed
from kube.resource import EVENTS, LEASES, NODES, Resource
from kube.transport import Transport
from tests.support.api.api_server import ApiServer, refused, said, text


@pytest.mark.parametrize(
    ("resource", "arguments", "expected"),
    [
        pytest.param(NODES, {}, "/api/v1/nodes", id="core collection"),
        pytest.param(NODES, {"name": "a"}, "/api/v1/nodes/a", id="core object"),
        pytest.param(EVENTS, {"namespace": "b"}, "/api/v1/namespaces/b/events", id="namespace"),
        pytest.param(LEASES, {}, "/apis/coordination.k8s.io/v1/leases", id="all namespaces"),
        pytest.param(
            LEASES,
            {"namespace": "b", "name": "a"},
            "/apis/coordination.k8s.io/v1/namespaces/b/leases/a",
            id="namespaced object",
        ),
        pytest.param(
            NODE_HEALTH_CHECKS,
            {"name": "a", "subresource": "status"},
            "/apis/remediation.medik8s.io/v1alpha1/nodehealthchecks/a/status",
            id="subresource",
        ),
        pytest.param(NODES, {"namespace": "b", "name": "a"}, "/api/v1/nodes/a", id="no namespace for these"),
        pytest.param(NODES, {"name": "a/../b?c"}, "/api/v1/nodes/a%2F..%2Fb%3Fc", id="name that is no name"),
    ],
)
def test_path_is_where_the_api_server_serves_it(
    resource: Resource, arguments: dict[str, str], expected: str
) -> None:
    assert resource.path(**arguments) == expected


NODE = "/api/v1/nodes/a"


def _page(token: str, *names: str) -> dict[str, Any]:
    return {"metadata": {"continue": token}, "items": [{"metadata": {"name": name}} for name in names]}


async def test_create_names_its_field_manager(server: ApiServer, client: Client) -> None:
    server.answer("POST", "/apis/coordination.k8s.io/v1/namespaces/b/leases", said({"made": True}, 201))

    assert await client.create(LEASES, {"kind": "Lease"}, "b") == {"made": True}
    assert server.asked[0].query == {"fieldManager": "paramedic"}
    assert server.asked[0].body == {"kind": "Lease"}


async def test_object_that_is_created_has_the_labels_of_the_client_beside_its_own(
    server: ApiServer, transport: Transport
) -> None:
    server.answer("POST", "/apis/coordination.k8s.io/v1/namespaces/b/leases", said({}, 201))
    lease = {"metadata": {"name": "a", "labels": {"own": "kept"}}}

    await Client(transport, labels={"of": "us"}).create(LEASES, lease, "b")

    assert server.asked[0].body == {"metadata": {"name": "a", "labels": {"own": "kept", "of": "us"}}}


async def test_merge_patch_says_what_it_is(server: ApiServer, client: Client) -> None:
    server.answer("PATCH", f"{NODE}/status", said({}))

    await client.merge_patch(NODES, "a", {"status": None}, subresource="status")

    assert server.asked[0].headers["Content-Type"] == "application/merge-patch+json"
    assert server.asked[0].query == {"fieldManager": "paramedic"}
    assert server.asked[0].body == {"status": None}


async def test_delete_carries_its_preconditions(server: ApiServer, client: Client) -> None:
    server.answer("DELETE", NODE, refused(409, "Conflict"))

    with pytest.raises(Conflict):
        await client.delete(NODES, "a", uid="u", resource_version="7")
    assert server.asked[0].body["preconditions"] == {"uid": "u", "resourceVersion": "7"}


async def test_delete_without_preconditions_sends_none(server: ApiServer, client: Client) -> None:
    server.answer("DELETE", NODE, said({}))

    await client.delete(NODES, "a")

    assert server.asked[0].body == {"apiVersion": "v1", "kind": "DeleteOptions"}


async def test_list_follows_its_pages(server: ApiServer, client: Client) -> None:
    server.answer("GET", "/api/v1/nodes", said(_page("more", "a", "b")), said(_page("", "c")))

    names = [item["metadata"]["name"] for item in await client.list(NODES, label_selector="x in (y)")]

    assert names == ["a", "b", "c"]
    assert [asked.query for asked in server.asked] == [
        {"limit": "100", "labelSelector": "x in (y)"},
        {"limit": "500", "labelSelector": "x in (y)", "continue": "more"},
    ]


async def test_list_that_expires_between_its_pages_starts_over_once(
    server: ApiServer, client: Client
) -> None:
    expired = refused(410, "Expired")
    server.answer("GET", "/api/v1/nodes", said(_page("more", "a")), expired, said(_page("", "b")))
    assert [item["metadata"]["name"] for item in await client.list(NODES)] == ["b"]


async def test_list_that_keeps_expiring_is_an_error(server: ApiServer, client: Client) -> None:
    half, expired = said(_page("more", "a")), refused(410, "Expired")
    server.answer("GET", "/api/v1/nodes", half, expired, half, expired)

    with pytest.raises(Expired):
        await client.list(NODES)
    assert len(server.asked) == 4


@pytest.mark.parametrize("answer", ["<html>", "[]", ""])
async def test_answer_of_another_kind_of_server_is_malformed(
    server: ApiServer, client: Client, answer: str
) -> None:
    server.answer("GET", NODE, text(answer))

    with pytest.raises(Malformed):
        await client.get(NODES, "a")
