from collections.abc import Awaitable, Callable
from itertools import product

import pytest

from kube.client import Client
from kube.connection import ClusterConnection
from kube.discovery import Discovery
from kube.errors import Forbidden, KindUnknown, KubernetesError, Malformed, NotFound, ServerFault, Unreachable
from kube.resource import NODES, Resource
from kube.transport import Transport
from tests.support.api.api_server import CORE, NOT_SERVED, Answer, ApiServer, refused, said, text

VERSION = "example.com/v1"
PATH = f"/apis/{VERSION}"
BOX = Resource(VERSION, "Box", "boxes", namespaced=True)
BOXES = f"{PATH}/namespaces/b/boxes"
EMPTY = said({"kind": "APIResourceList", "resources": []})
SERVED = said(
    {
        "kind": "APIResourceList",
        "resources": [
            {"name": "boxes", "kind": "Box", "namespaced": True},
            {"name": "boxes/status", "kind": "Box", "namespaced": True},
            {"name": "boxes/scale", "kind": "Scale", "namespaced": True},
        ],
    }
)


async def test_kind_is_found_and_remembered(server: ApiServer, transport: Transport) -> None:
    server.answer("GET", PATH, SERVED)
    discovery = Discovery(transport)

    assert await discovery.resource(VERSION, "Box") == BOX
    assert await discovery.resource(VERSION, "Box") == BOX
    assert len(server.asked) == 1


async def test_forgotten_kind_is_asked_for_again(server: ApiServer, transport: Transport) -> None:
    server.answer("GET", PATH, SERVED)
    discovery = Discovery(transport)

    await discovery.resource(VERSION, "Box")
    discovery.forget(VERSION)
    await discovery.resource(VERSION, "Box")

    assert len(server.asked) == 2


async def test_unknown_kind_is_not_remembered_as_unknown(server: ApiServer, transport: Transport) -> None:
    server.answer("GET", PATH, NOT_SERVED, EMPTY, SERVED)
    discovery = Discovery(transport)

    for _ in range(2):
        with pytest.raises(KindUnknown):
            await discovery.resource(VERSION, "Box")
    assert (await discovery.resource(VERSION, "Box")).plural == "boxes"


async def test_kind_of_a_subresource_is_unknown(server: ApiServer, transport: Transport) -> None:
    server.answer("GET", PATH, SERVED)

    with pytest.raises(KindUnknown):
        await Discovery(transport).resource(VERSION, "Scale")


async def test_server_that_fails_does_not_make_a_kind_unknown(
    server: ApiServer, transport: Transport
) -> None:
    server.answer("GET", PATH, refused(503, "ServiceUnavailable"))

    with pytest.raises(ServerFault):
        await Discovery(transport).resource(VERSION, "Box")


NEXT_VERSION = "example.com/v2"
NEXT_PATH = f"/apis/{NEXT_VERSION}"
GROUP = "/apis/example.com"
BOTH = said({"versions": [{"groupVersion": NEXT_VERSION}, {"groupVersion": VERSION}]})
NEXT_ALONE = said({"versions": [{"groupVersion": NEXT_VERSION}]})
READY = text("ok")


def script(server: ApiServer, **answers: Answer) -> None:
    """A ready API server that serves the kind in both versions, but for what is said otherwise."""
    paths = {"ready": "/readyz", "core": "/api/v1", "group": GROUP, "old": PATH, "new": NEXT_PATH}
    all_well = {"ready": READY, "core": CORE, "group": BOTH, "old": SERVED, "new": SERVED}
    for name, path in paths.items():
        server.answer("GET", path, answers.get(name, all_well[name]))


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        pytest.param({}, VERSION, id="in the version that was asked for"),
        pytest.param({"old": NOT_SERVED, "group": NEXT_ALONE}, NEXT_VERSION, id="in another version"),
        pytest.param({"old": NOT_SERVED}, NEXT_VERSION, id="in another version while this one goes"),
        pytest.param({"old": EMPTY}, NEXT_VERSION, id="in another version beside other kinds"),
        pytest.param({"old": EMPTY, "new": EMPTY}, None, id="in no version"),
        pytest.param({"old": NOT_SERVED, "group": NOT_SERVED}, None, id="the group is gone"),
    ],
)
async def test_kind_is_looked_for_in_all_versions_of_its_group(
    server: ApiServer, transport: Transport, answers: dict[str, Answer], expected: str | None
) -> None:
    script(server, **answers)
    found = await Discovery(transport).served_now(VERSION, "Box")
    assert (found and found.api_version) == expected


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        pytest.param({"ready": refused(500, "InternalError")}, ServerFault, id="not ready yet"),
        pytest.param({"ready": refused(403, "Forbidden")}, Forbidden, id="nobody says whether it is ready"),
        pytest.param({"ready": NOT_SERVED}, Unreachable, id="no API server"),
        pytest.param({"core": NOT_SERVED}, Unreachable, id="an API server without nodes"),
        pytest.param({"core": text("<html>")}, Malformed, id="a page"),
        pytest.param({"group": text("<html>")}, Malformed, id="a page for the group"),
        pytest.param({"group": refused(503, "ServiceUnavailable")}, ServerFault, id="no group now"),
        pytest.param({"old": NOT_SERVED}, Unreachable, id="listed and not served: it comes or goes"),
        pytest.param({"old": refused(503, "ServiceUnavailable")}, ServerFault, id="no version now"),
        pytest.param({"new": NOT_SERVED}, Unreachable, id="another one is listed and not served"),
        pytest.param({"old": EMPTY, "new": refused(503, "ServiceUnavailable")}, ServerFault, id="no other"),
    ],
)
async def test_kind_is_served_nowhere_only_where_that_is_certain(
    server: ApiServer, transport: Transport, answers: dict[str, Answer], expected: type[KubernetesError]
) -> None:
    nowhere = {"old": EMPTY, "new": EMPTY}
    script(server, **{**nowhere, **answers})
    with pytest.raises(expected) as caught:
        await Discovery(transport).served_now(VERSION, "Box")
    assert type(caught.value) is expected


async def test_kind_of_the_core_group_has_one_version(server: ApiServer, transport: Transport) -> None:
    script(server)
    discovery = Discovery(transport)
    assert await discovery.served_now("v1", "Node") == NODES
    assert await discovery.served_now("v1", "Box") is None


async def test_served_kinds_are_not_taken_from_memory(server: ApiServer, transport: Transport) -> None:
    server.answer("GET", PATH, SERVED, EMPTY)
    server.answer("GET", "/readyz", READY)
    server.answer("GET", "/api/v1", CORE)
    server.answer("GET", GROUP, said({"versions": [{"groupVersion": VERSION}]}))
    discovery = Discovery(transport)

    await discovery.resource(VERSION, "Box")

    assert await discovery.served_now(VERSION, "Box") is None
    with pytest.raises(KindUnknown):
        await discovery.resource(VERSION, "Box")


@pytest.mark.parametrize(
    "request_box",
    [
        pytest.param(lambda client: client.get(BOX, "a", "b"), id="get"),
        pytest.param(lambda client: client.create(BOX, {}, "b"), id="create"),
        pytest.param(lambda client: client.delete(BOX, "a", "b"), id="delete"),
        pytest.param(lambda client: client.merge_patch(BOX, "a", {}, "b"), id="patch"),
        pytest.param(lambda client: client.list(BOX, "b"), id="list"),
        pytest.param(lambda client: client.list_some(BOX, "a=b", "b", most=1), id="list some"),
    ],
)
async def test_kind_that_a_request_finds_unserved_is_asked_for_again(
    server: ApiServer, transport: Transport, request_box: Callable[[Client], Awaitable[object]]
) -> None:
    connection = ClusterConnection.over(transport)
    server.answer("GET", PATH, SERVED, EMPTY)
    for method, path in product(("GET", "POST", "DELETE", "PATCH"), (f"{BOXES}/a", BOXES)):
        server.answer(method, path, NOT_SERVED)
    assert await connection.discovery.resource(VERSION, "Box") == BOX

    for _ in range(2):
        with pytest.raises(KindUnknown):
            await request_box(connection.client)

    with pytest.raises(KindUnknown):
        await connection.discovery.resource(VERSION, "Box")


async def test_missing_object_says_nothing_about_its_kind(server: ApiServer, transport: Transport) -> None:
    connection = ClusterConnection.over(transport)
    server.answer("GET", PATH, SERVED)
    server.answer("GET", f"{BOXES}/a", refused(404, "NotFound", name="a"))
    await connection.discovery.resource(VERSION, "Box")

    with pytest.raises(NotFound):
        await connection.client.get(BOX, "a", "b")

    assert await connection.discovery.resource(VERSION, "Box") == BOX
    assert [asked.path for asked in server.asked].count(PATH) == 1
