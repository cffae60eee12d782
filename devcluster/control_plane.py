"""A real Kubernetes control plane on this machine: etcd, kube-apiserver and kube-controller-manager.

Loopback only, RBAC on, every request in an audit log, the data kept in a directory. There are no
nodes and no kubelets, so Pods never run; Nodes, custom resources, Leases, watches, garbage collection
and RBAC are the real thing.
"""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path

import aiohttp

from devcluster import server_flags
from devcluster.assets import Servers
from devcluster.credentials import CLUSTER_ADMIN, DETECTOR, WORKER
from devcluster.keeper import COLLECT_RARELY, Program
from devcluster.layout import Layout, lay_out
from devcluster.supervisor import Supervisor

PATIENCE = timedelta(seconds=90)
API_SERVER = "control_plane"
"""What the program kube-apiserver is called under the supervisor."""


@dataclass(frozen=True)
class ControlPlane:
    """How to reach it: one kubeconfig per user."""

    server: str
    kubeconfig: Path
    """Of the cluster-admin."""

    detector_kubeconfig: Path
    worker_kubeconfig: Path
    audit_log: Path


@asynccontextmanager
async def control_plane(
    directory: Path, servers: Servers, *, node_grace: timedelta | None = None
) -> AsyncIterator[ControlPlane]:
    """Run a control plane on `directory`, ready when the block begins, ended when it is left.

    For `node_grace` and the errors see `start`.
    """
    async with Supervisor() as supervisor:
        yield await start(supervisor, lay_out(directory), servers, node_grace=node_grace)


async def start(
    supervisor: Supervisor, layout: Layout, servers: Servers, *, node_grace: timedelta | None = None
) -> ControlPlane:
    """Start the servers under `supervisor` and wait until they are ready.

    With `node_grace`, a Node whose kubelet has been silent for so long becomes `Ready=Unknown`; without
    it nothing touches Nodes. Raises NotReadyError or HopelessError when a server does not become ready.
    """
    await _start(supervisor, layout, "etcd", servers.etcd + server_flags.etcd(layout))
    await _etcd_is_ready(supervisor, layout)
    await start_api_server(supervisor, layout, servers)
    manager = servers.kube_controller_manager + server_flags.kube_controller_manager(layout, node_grace)
    await _start(supervisor, layout, "manager", manager)
    credentials = layout.credentials
    return ControlPlane(
        server=f"https://{layout.address('kube-apiserver')}",
        kubeconfig=credentials.kubeconfig(CLUSTER_ADMIN),
        detector_kubeconfig=credentials.kubeconfig(DETECTOR),
        worker_kubeconfig=credentials.kubeconfig(WORKER),
        audit_log=layout.audit_log,
    )


async def start_api_server(supervisor: Supervisor, layout: Layout, servers: Servers) -> None:
    """Start kube-apiserver alone, where etcd runs, and wait until it is ready; errors as of `start`."""
    command = servers.kube_apiserver + server_flags.kube_apiserver(layout)
    await _start(supervisor, layout, API_SERVER, command)
    await _api_server_is_ready(supervisor, layout)


async def _start(supervisor: Supervisor, layout: Layout, name: str, command: tuple[str, ...]) -> None:
    await supervisor.start(Program(name, command, layout.log(name), COLLECT_RARELY))


async def _etcd_is_ready(supervisor: Supervisor, layout: Layout) -> None:
    address = f"http://{layout.address('etcd')}/health"

    async def answers() -> bool:
        async with aiohttp.ClientSession() as session:
            return await _is_ok(session, address)

    sentence = f"etcd does not start: see why in {layout.log('etcd')}"
    await supervisor.until(answers, within=PATIENCE, otherwise=sentence)


async def _api_server_is_ready(supervisor: Supervisor, layout: Layout) -> None:
    credentials = layout.credentials
    address = f"https://{layout.address('kube-apiserver')}/readyz"
    headers = {"Authorization": f"Bearer {credentials.token(CLUSTER_ADMIN)}"}
    certificate = credentials.certificates / "apiserver.crt"

    async def answers() -> bool:
        if not certificate.exists():
            return False
        trust = ssl.create_default_context(cafile=certificate)
        connector = aiohttp.TCPConnector(ssl=trust)
        async with aiohttp.ClientSession(headers=headers, connector=connector) as session:
            return await _is_ok(session, address)

    sentence = f"kube-apiserver does not become ready: see why in {layout.log(API_SERVER)}"
    await supervisor.until(answers, within=PATIENCE, otherwise=sentence)


async def _is_ok(session: aiohttp.ClientSession, address: str) -> bool:
    try:
        async with session.get(address, timeout=aiohttp.ClientTimeout(total=5)) as answer:
            return answer.status == HTTPStatus.OK
    except (aiohttp.ClientError, TimeoutError):
        return False
