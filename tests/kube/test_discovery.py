import pytest

from kube.discovery import Discovery
from kube.errors import KindUnknown, ServerFault
from kube.resource import Resource
from kube.transport import Transport
from tests.kube.api_server import NOT_SERVED, ApiServer, refused, said

VERSION = "example.com/v1"
PATH = f"/apis/{VERSION}"
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

    expected = Resource(VERSION, "Box", "boxes", namespaced=True)
    assert await discovery.resource(VERSION, "Box") == expected
    assert await discovery.resource(VERSION, "Box") == expected
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
