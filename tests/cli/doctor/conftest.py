"""Fixtures of `paramedic doctor` with a real control plane and a real Temporal server."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from devcluster.control_plane import ControlPlane
from devcluster.temporal import TemporalServer
from kube.client import Client
from kube.transport import Transport
from tests.cli.doctor.status_writes import new_check
from tests.support.cluster.command import Command

KINDS = "nodehealthchecks.remediation.medik8s.io,machinehealthchecks.machine.openshift.io"
CLUSTER = "doctored"

AsUser = Callable[[Path], Command]


@pytest.fixture
def as_user(temporal_server: TemporalServer) -> AsUser:
    """The command with a kubeconfig, for both kinds of check."""

    def command(kubeconfig: Path) -> Command:
        environment = {
            **temporal_server.environment,
            "KUBECONFIG": str(kubeconfig),
            "PARAMEDIC_CLUSTER": CLUSTER,
            "PARAMEDIC_CHECK_KINDS": KINDS,
        }
        return Command(environment)

    return command


@pytest.fixture
async def transport(control_plane: ControlPlane) -> AsyncIterator[Transport]:
    """The shared control plane, as an administrator."""
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        yield transport


@pytest.fixture
def client(transport: Transport) -> Client:
    """An administrator of the shared control plane."""
    return Client(transport)


@pytest.fixture
async def machine_check(transport: Transport) -> AsyncIterator[str]:
    """The name of a MachineHealthCheck in the namespace default, whose status we have written."""
    async with new_check(transport) as name:
        yield name
