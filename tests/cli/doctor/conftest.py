"""`paramedic doctor` against the real servers."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from devcluster.control_plane import ControlPlane
from devcluster.temporal import TemporalServer
from kube.client import Client
from kube.transport import Transport
from tests.cli.command import Command

KINDS = "nodehealthchecks.remediation.medik8s.io,machinehealthchecks.machine.openshift.io"
CLUSTER = "doctored"

AsUser = Callable[[Path], Command]


@pytest.fixture
def as_user(temporal_server: TemporalServer) -> AsUser:
    """The command with a kubeconfig, for both kinds of check."""

    def command(kubeconfig: Path) -> Command:
        environment = {
            "TEMPORAL_ADDRESS": temporal_server.address,
            "TEMPORAL_NAMESPACE": temporal_server.namespace,
            "KUBECONFIG": str(kubeconfig),
            "PARAMEDIC_CLUSTER": CLUSTER,
            "PARAMEDIC_CHECK_KINDS": KINDS,
        }
        return Command(environment)

    return command


@pytest.fixture
async def client(control_plane: ControlPlane) -> AsyncIterator[Client]:
    """An administrator of the shared control plane."""
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        yield Client(transport)
