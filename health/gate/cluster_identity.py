"""Which cluster a Cluster leads to, told by the uid of the namespace kube-system in it (rule 50).

The first uid that is seen under a Cluster is believed. Another one under the same Cluster is another cluster:
its etcd is new, or the kubeconfig points elsewhere. Its Nodes say nothing of the Machines here, so all checks
of that Cluster are held until the first uid is back, or a person confirms the new one. A Cluster that was
deleted and made again is another Cluster, which its own uid tells.

The detector notes the known clusters on the leader Lease, and the worker reads them there before each act
(ADR 41).
"""

from collections.abc import Collection, Mapping

from pydantic import TypeAdapter, ValidationError

from health.model.observation import Hold, HoldReason
from objects.frozen import Frozen

ANNOTATION = "paramedic.dev/known-clusters"
CONFIRM = "paramedic.dev/confirmed-cluster"
"""The annotation of a check by which a person confirms the uid of its workload cluster."""
ASK_AGAIN_SECONDS = 60.0


class KnownCluster(Frozen):
    """The cluster that a Cluster leads to, as the detector knows it."""

    owner: str = ""
    """The uid of the Cluster."""
    uid: str = ""
    """The uid of the namespace kube-system there; "": none was seen yet."""
    lost: int = 0
    """How many Nodes of its Machines are known to be gone, and believed to be."""
    is_readable: bool = True
    """Whether what is noted can be read; what cannot may be any cluster."""

    def after(self, owner: str, uid: str, confirmed: Collection[str]) -> "KnownCluster":
        """The known cluster after `uid` was seen under the Cluster `owner`."""
        is_first = self.is_readable and (not self.uid or self.owner != owner)
        if is_first or uid in confirmed:
            return KnownCluster(owner=owner, uid=uid, lost=self.lost if self.owner == owner else 0)
        return self

    def is_one(self, owner: str, uid: str) -> bool:
        """Whether that is the cluster which is known; no cluster is without a uid."""
        return self.is_readable and bool(uid) and (self.owner, self.uid) == (owner, uid)


NOT_KNOWN = KnownCluster()
UNREADABLE = KnownCluster(is_readable=False)
_NOTE = TypeAdapter(dict[str, KnownCluster])


def read_note(annotations: Mapping[str, str]) -> dict[str, KnownCluster] | None:
    """The known clusters in the annotations of the leader Lease, by name; None: they cannot be read."""
    try:
        return _NOTE.validate_json(annotations.get(ANNOTATION, "{}"))
    except ValidationError:
        return None


def changed_hold(cluster: str, known: KnownCluster, uid: str) -> Hold:
    """Why a cluster is held that shows this uid, and not the one that is known; "": it shows none."""
    why = f"the workload cluster {cluster} is not known to be the one it was"
    if uid:
        message = (
            f"{why}: the uid of its namespace kube-system is {uid}, {_before(known)}. Mend its kubeconfig, "
            f"or confirm it: annotate a check of it with {CONFIRM}={uid}"
        )
    else:
        message = f"{why}: it has no namespace kube-system, {_before(known)}. Mend its kubeconfig"
    reason = HoldReason.WORKLOAD_CLUSTER_CHANGED
    return Hold(reason=reason, message=message, ask_again_seconds=ASK_AGAIN_SECONDS)


def _before(known: KnownCluster) -> str:
    if not known.is_readable:
        return "and what is noted on the leader Lease cannot be read"
    return f"it was {known.uid}" if known.uid else "and no detector has noted it on the leader Lease yet"
