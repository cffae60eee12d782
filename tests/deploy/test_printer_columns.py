"""What `kubectl get nhc` shows (rule 24)."""

from collections.abc import AsyncIterator

import pytest

from devcluster.control_plane import ControlPlane
from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from kube.client import Client
from kube.transport import Transport
from tests.devcluster.kubectl import kubectl
from tests.objects import check_object

pytestmark = pytest.mark.cluster


@pytest.fixture
async def transport(control_plane: ControlPlane) -> AsyncIterator[Transport]:
    async with await Transport.connect(str(control_plane.kubeconfig)) as connected:
        yield connected


@pytest.mark.rule("NHC 1/kind", "rule 24")
@pytest.mark.parametrize(
    ("unhealthy", "row"),
    [
        pytest.param(0, "Enabled 5 5 0", id="none"),
        pytest.param(1, "Enabled 5 4 1", id="one"),
        pytest.param(2, "Enabled 5 3 2", id="two"),
    ],
)
async def test_kubectl_shows_the_numbers(
    transport: Transport, control_plane: ControlPlane, unhealthy: int, row: str
) -> None:
    client = Client(transport)
    name = f"columns-{unhealthy}"
    await client.create(NODE_HEALTH_CHECKS, check_object() | {"metadata": {"name": name}})
    status = {
        "phase": "Enabled",
        "observedNodes": 5,
        "healthyNodes": 5 - unhealthy,
        "unhealthyNodeCount": unhealthy,
        "unhealthyNodes": [{"name": f"node-{number}"} for number in range(unhealthy)],
        "reason": "NHC is enabled, no ongoing remediation",
    }
    try:
        await client.merge_patch(NODE_HEALTH_CHECKS, name, {"status": status}, subresource="status")
        shown = await kubectl(control_plane.kubeconfig, "get", "nhc", name)
        wide = await kubectl(control_plane.kubeconfig, "get", "nhc", name, "--output=wide")
    finally:
        await client.delete(NODE_HEALTH_CHECKS, name)

    header, line = shown[1].splitlines()
    assert header.split() == ["NAME", "PHASE", "OBSERVED", "HEALTHY", "UNHEALTHY", "AGE"]
    assert line.split()[:-1] == [name, *row.split()]
    assert "REASON" in wide[1]
    assert "no ongoing remediation" in wide[1]
