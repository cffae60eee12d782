"""The flags of Kubernetes' servers: what differs from their defaults, and why."""

from datetime import timedelta
from pathlib import Path

from devcluster.credentials import CONTROLLER_MANAGER
from devcluster.layout import Layout

AUDIT_POLICY = Path(__file__).parent / "audit-policy.yaml"
CONTROLLERS = ("garbage-collector-controller", "namespace-controller", "clusterrole-aggregation-controller")
NODE_CONTROLLER = "node-lifecycle-controller"
QUOTA_BYTES = 8 * 1024**3  # a benchmark of 10,000 nodes fills the default, 2 GB, before it is compacted


def etcd(layout: Layout) -> tuple[str, ...]:
    """A single member that does not wait for the disk: it has to survive kills, not power cuts."""
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
    """RBAC, tokens from a file, an audit log. No Pod ever runs, so no Pod needs a ServiceAccount."""
    credentials = layout.credentials
    return (
        f"--etcd-servers=http://{layout.address('etcd')}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",  # else it looks for a default route, and a laptop may have none
        "--endpoint-reconciler-type=none",  # and it may not publish a loopback address
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
        "--audit-log-mode=blocking",  # a request is in the log before its answer is out
        "--audit-log-maxsize=0",  # one file, however long: whoever counts requests reads it whole
    )


def kube_controller_manager(layout: Layout, node_grace: timedelta | None) -> tuple[str, ...]:
    """The controllers that our objects need; the one of Nodes only where kubelets are simulated."""
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
