"""The log names what is watched as people ask for it, so that no two watches look alike."""

import pytest

from kube.discovery import KindName
from kube.reflector import Reflector
from kube.resource import LEASES, NODES, Resource
from kube.transport import Transport
from tests.kube.objects import Widget


def test_watch_of_one_object_is_named_by_it(transport: Transport) -> None:
    reflector = Reflector(transport, NODES, Widget, name="a", notify=lambda _: None)
    assert reflector.name == "nodes with metadata.name=a"


@pytest.mark.parametrize(
    ("resource", "namespace", "selector", "name"),
    [
        (NODES, "", None, "nodes"),
        (LEASES, "", None, "leases.coordination.k8s.io"),
        (LEASES, "medik8s-leases", None, "leases.coordination.k8s.io in medik8s-leases"),
        (NODES, "", "role=worker", "nodes with role=worker"),
        (KindName("example.com/v1", "Widget"), "", None, "Widget (example.com/v1)"),
    ],
)
async def test_watch_is_named_by_resource_group_and_namespace(
    transport: Transport, resource: Resource | KindName, namespace: str, selector: str | None, name: str
) -> None:
    reflector = Reflector(
        transport,
        resource,
        Widget,
        namespace=namespace,
        label_selector=selector,
        notify=lambda _: None,
    )
    assert reflector.name == name
