"""Reads the workload clusters known to the detector; the worker does so before each act (rule 50, ADR 41)."""

from health.cluster.cluster_identity import NOT_KNOWN, UNREADABLE, KnownCluster, read_note
from kube.absence import none_if_absent
from kube.resource import LEASES
from kube.shared_reads import SharedReads


class KnownClustersOnLease:
    """Reads the annotation of the leader Lease."""

    def __init__(self, shared: SharedReads, namespace: str, lease: str) -> None:
        self._shared = shared
        self._namespace = namespace
        self._lease = lease

    async def __call__(self, cluster: str) -> KnownCluster:
        """The record of `cluster`.

        Raises:
            KubernetesError: as the client does.

        """
        lease = await none_if_absent(self._shared.get(LEASES, self._lease, self._namespace))
        if lease is None:
            return NOT_KNOWN
        noted = read_note(lease["metadata"].get("annotations") or {})
        return UNREADABLE if noted is None else noted.get(cluster, NOT_KNOWN)
