"""The columns of `kubectl get nhc` (rule 24)."""

from collections.abc import AsyncIterator

import pytest

from devcluster.control_plane import ControlPlane
from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from kube.client import Client
from kube.resource import Object
from kube.transport import Transport
from tests.support.cluster.kubectl import kubectl
from tests.support.values.builders import check_object

pytestmark = pytest.mark.cluster


@pytest.fixture
async def transport(control_plane: ControlPlane) -> AsyncIterator[Transport]:
    async with await Transport.connect(str(control_plane.kubeconfig)) as connected:
        yield connected


@pytest.fixture
async def names(transport: Transport) -> AsyncIterator[list[str]]:
    """Of checks with no, one and two unhealthy nodes."""
    client = Client(transport)
    given = [f"columns-{unhealthy}" for unhealthy in range(3)]
    for unhealthy, name in enumerate(given):
        await client.create(NODE_HEALTH_CHECKS, check_object() | {"metadata": {"name": name}})
        patch = {"status": status(unhealthy)}
        await client.merge_patch(NODE_HEALTH_CHECKS, name, patch, subresource="status")
    yield given
    for name in given:
        await client.delete(NODE_HEALTH_CHECKS, name)


def status(unhealthy: int) -> Object:
    return {
        "phase": "Enabled",
        "observedNodes": 5,
        "healthyNodes": 5 - unhealthy,
        "unhealthyNodeCount": unhealthy,
        "unhealthyNodes": [{"name": f"node-{number}"} for number in range(unhealthy)],
        "reason": "NHC is enabled, no ongoing remediation",
    }


@pytest.mark.rule("NHC 1/kind", "rule 24")
async def test_kubectl_shows_the_numbers(control_plane: ControlPlane, names: list[str]) -> None:
    shown = await kubectl(control_plane.kubeconfig, "get", "nhc", *names)
    wide = await kubectl(control_plane.kubeconfig, "get", "nhc", *names, "--output=wide")

    header, *rows = (line.split() for line in shown[1].splitlines())
    assert header == ["NAME", "PHASE", "OBSERVED", "HEALTHY", "UNHEALTHY", "AGE"]
    numbers = ("5 5 0", "5 4 1", "5 3 2")
    assert [" ".join(row[:-1]) for row in rows] == [
        f"{name} Enabled {of}" for name, of in zip(names, numbers, strict=True)
    ]
    assert "REASON" in wide[1]
    assert wide[1].count("no ongoing remediation") == len(names)
