"""A real Kubernetes control plane on this machine: etcd, kube-apiserver and kube-controller-manager.

It listens on loopback only, with RBAC, an audit log of every request, and its data in a directory. There are
no nodes and kubelets, so Pods never run; Nodes, custom resources, Leases, watches, garbage collection and
RBAC are real. Each flag below differs from its default, with the reason beside it.
"""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path

import aiohttp

from devcluster.assets import Servers
from devcluster.credentials import CLUSTER_ADMIN, CONTROLLER_MANAGER, DETECTOR, WORKER
from devcluster.layout import Layout
from devcluster.supervisor import COLLECT_RARELY, Program, Supervisor

AUDIT_POLICY = Path(__file__).parent / "audit-policy.yaml"
CONTROLLERS = ("garbage-collector-controller", "namespace-controller", "clusterrole-aggregation-controller")
NODE_CONTROLLER = "node-lifecycle-controller"
QUOTA_BYTES = 8 * 1024**3  # a benchmark of 10,000 nodes would exceed the default of 2 GB before a compaction
PATIENCE = timedelta(seconds=90)
API_SERVER = "control_plane"
"""The name of kube-apiserver under the supervisor."""


def etcd(layout: Layout) -> tuple[str, ...]:
    """Flags for a single member without fsync: it must survive a kill, but not a power failure."""
    address = f"http://{layout.address('etcd')}"
    return (
        f"--data-dir={layout.etcd_data}",
        f"--listen-client-urls={address}",
        f"--advertise-client-urls={address}",
        f"--listen-peer-urls=http://{layout.address('etcd-peers')}",
        "--unsafe-no-fsync",
        f"--quota-backend-bytes={QUOTA_BYTES}",
        "--log-level=warn",
    )


def kube_apiserver(layout: Layout) -> tuple[str, ...]:
    """Flags for RBAC, tokens from a file and an audit log; without Pods, ServiceAccount admission is off."""
    credentials = layout.credentials
    return (
        f"--etcd-servers=http://{layout.address('etcd')}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",  # by default it needs a default route, which a laptop may lack
        "--endpoint-reconciler-type=none",  # a loopback address cannot be published
        f"--secure-port={layout.ports['kube-apiserver']}",
        f"--cert-dir={credentials.certificates}",
        f"--token-auth-file={credentials.tokens}",
        "--authorization-mode=RBAC",
        "--disable-admission-plugins=ServiceAccount",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={credentials.signing_key}",
        f"--service-account-signing-key-file={credentials.signing_key}",
        "--service-cluster-ip-range=10.0.0.0/24",
        f"--audit-policy-file={AUDIT_POLICY}",
        f"--audit-log-path={layout.audit_log}",
        "--audit-log-mode=blocking",  # a request is logged before it is answered
        "--audit-log-maxsize=0",  # one file: tests and benchmarks count all its requests
    )


def kube_controller_manager(layout: Layout, node_grace: timedelta | None) -> tuple[str, ...]:
    """Flags for the controllers that we need; the node controller only with simulated kubelets."""
    controllers = CONTROLLERS if node_grace is None else (*CONTROLLERS, NODE_CONTROLLER)
    flags = (
        f"--kubeconfig={layout.credentials.kubeconfig(CONTROLLER_MANAGER)}",
        f"--controllers={','.join(controllers)}",
        "--use-service-account-credentials",  # each controller with its own rights, as in production
        "--leader-elect=false",
        "--secure-port=0",
    )
    if node_grace is None:
        return flags
    return (
        *flags,
        "--node-monitor-period=1s",
        f"--node-monitor-grace-period={node_grace.total_seconds():g}s",
    )


@dataclass(frozen=True, kw_only=True)
class ControlPlane:
    """The address of a control plane, and a kubeconfig for each user."""

    server: str
    kubeconfig: Path
    """The kubeconfig of the cluster-admin."""

    detector_kubeconfig: Path
    worker_kubeconfig: Path
    audit_log: Path

    def kubeconfig_of(self, process: str) -> Path:
        """The kubeconfig of our process with that name."""
        return {"detector": self.detector_kubeconfig, "worker": self.worker_kubeconfig}[process]


@asynccontextmanager
async def control_plane(
    layout: Layout, servers: Servers, *, node_grace: timedelta | None = None
) -> AsyncIterator[ControlPlane]:
    """Run a control plane on `layout` while the block runs; it is ready at the start of the block.

    For `node_grace` and the errors see `start`.
    """
    async with Supervisor() as supervisor:
        yield await start(supervisor, layout, servers, node_grace=node_grace)


async def start(
    supervisor: Supervisor, layout: Layout, servers: Servers, *, node_grace: timedelta | None = None
) -> ControlPlane:
    """Start the servers under `supervisor` and wait until they are ready.

    With `node_grace`, a Node whose kubelet is silent for that time becomes `Ready=Unknown`; without it, no
    controller changes Nodes. Raises NotReadyError or HopelessError if a server does not become ready.
    """
    await _start(supervisor, layout, "etcd", servers.etcd + etcd(layout))
    url = f"http://{layout.address('etcd')}/health"
    await _until_ok(supervisor, url, f"etcd does not start: see why in {layout.log('etcd')}")
    await start_api_server(supervisor, layout, servers)
    manager = servers.kube_controller_manager + kube_controller_manager(layout, node_grace)
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
    """Start kube-apiserver beside a running etcd, and wait until it is ready; errors as of `start`."""
    await _start(supervisor, layout, API_SERVER, servers.kube_apiserver + kube_apiserver(layout))
    url, credentials = f"https://{layout.address('kube-apiserver')}/readyz", layout.credentials
    sentence = f"kube-apiserver does not become ready: see why in {layout.log(API_SERVER)}"
    trust = ssl.create_default_context(cafile=credentials.certificate)
    await _until_ok(supervisor, url, sentence, credentials.token(CLUSTER_ADMIN), trust)


async def _start(supervisor: Supervisor, layout: Layout, name: str, command: tuple[str, ...]) -> None:
    await supervisor.start(Program(layout.prefix + name, command, layout.log(name), COLLECT_RARELY))


async def _until_ok(
    supervisor: Supervisor, url: str, otherwise: str, token: str = "", trust: ssl.SSLContext | None = None
) -> None:
    """Return when the server answers with status 200."""

    async def is_ok() -> bool:
        connector = aiohttp.TCPConnector(ssl=trust or True)
        headers, timeout = {"Authorization": f"Bearer {token}"}, aiohttp.ClientTimeout(total=5)
        try:
            async with (
                aiohttp.ClientSession(headers=headers, connector=connector, timeout=timeout) as session,
                session.get(url) as answer,
            ):
                return answer.status == HTTPStatus.OK
        except (aiohttp.ClientError, TimeoutError):
            return False

    await supervisor.until(is_ok, within=PATIENCE, otherwise=otherwise)
