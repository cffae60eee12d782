import pytest

from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from kube.resource import EVENTS, LEASES, NODES, Resource


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
