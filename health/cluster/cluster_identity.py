"""Verifies that a Cluster leads to the same cluster as before, by its kube-system uid (rule 50).

The first uid of the namespace kube-system seen for a Cluster is trusted. Another uid for the same Cluster
means another cluster: its etcd is new, or the kubeconfig points elsewhere. Its Nodes prove nothing about the
Machines here, so all checks of that Cluster are held until the first uid is back or a person confirms the
new one. A Cluster that was deleted and created again has another uid of its own, and counts as new.

The detector records the known clusters on the leader Lease, and the worker reads them there before each act
(ADR 41). Beside the uid the record has the Nodes that are known to be gone, as digests of their names: the
names of 5,000 Nodes would fill the annotations of an object (256 KiB).
"""

from collections.abc import Collection, Mapping
from functools import lru_cache
from hashlib import sha256

from pydantic import TypeAdapter, ValidationError

from health.model.observation import Hold, HoldReason
from objects.frozen import Frozen

ANNOTATION = "paramedic.dev/known-clusters"
CONFIRM = "paramedic.dev/confirmed-cluster"
"""The annotation of a check by which a person confirms the uid of its workload cluster."""
ASK_AGAIN_SECONDS = 60.0
MOST_BELIEVED = 6000
"""How many believed losses the record of all clusters has: about 80 KB."""


class KnownCluster(Frozen):
    """The cluster behind a Cluster, as far as the detector knows."""

    owner: str = ""
    """The uid of the Cluster."""
    uid: str = ""
    """The uid of the namespace kube-system there; "": not seen yet."""
    believed: tuple[str, ...] = ()
    """The Nodes of its Machines that are known and believed to be gone, by `node_digest`."""
    is_readable: bool = True
    """False if the record cannot be read; it may then be any cluster."""

    def after(self, owner: str, uid: str, confirmed: Collection[str]) -> "KnownCluster":
        """The known cluster after `uid` was seen under the Cluster `owner`."""
        is_first = self.is_readable and (not self.uid or self.owner != owner)
        if is_first or uid in confirmed:
            return KnownCluster(owner=owner, uid=uid, believed=self.believed if self.owner == owner else ())
        return self

    def is_one(self, owner: str, uid: str) -> bool:
        """True if this is the known cluster; an empty uid never matches."""
        return self.is_readable and bool(uid) and (self.owner, self.uid) == (owner, uid)


NOT_KNOWN = KnownCluster()
UNREADABLE = KnownCluster(is_readable=False)
_NOTE = TypeAdapter(dict[str, KnownCluster])


@lru_cache(maxsize=2 * MOST_BELIEVED)
def node_digest(name: str) -> str:
    return sha256(name.encode(errors="surrogatepass")).hexdigest()[:10]


def bounded(records: Mapping[str, KnownCluster]) -> dict[str, KnownCluster]:
    """The records with `MOST_BELIEVED` losses at most, of the clusters with the fewest.

    The others are suspected by the next process, which holds their clusters.
    """
    left, kept = MOST_BELIEVED, dict(records)
    for cluster, record in sorted(records.items(), key=lambda item: len(item[1].believed)):
        kept[cluster] = record.model_copy(update={"believed": record.believed[:left]})
        left -= len(kept[cluster].believed)
    return kept


def read_note(annotations: Mapping[str, str]) -> dict[str, KnownCluster] | None:
    """The known clusters in the annotations of the leader Lease, by name; None: they cannot be read."""
    try:
        return _NOTE.validate_json(annotations.get(ANNOTATION, "{}"))
    except ValidationError:
        return None


def changed_hold(cluster: str, known: KnownCluster, uid: str) -> Hold:
    """The hold of a cluster that shows this uid instead of the known one; "": it shows none."""
    why = f"the workload cluster {cluster} may no longer be the same cluster"
    if uid:
        message = (
            f"{why}: the uid of its namespace kube-system is {uid}, {_before(known)}. Repair its kubeconfig, "
            f"or confirm it: annotate a check of it with {CONFIRM}={uid}"
        )
    else:
        message = f"{why}: it has no namespace kube-system, {_before(known)}. Repair its kubeconfig"
    reason = HoldReason.WORKLOAD_CLUSTER_CHANGED
    return Hold(reason=reason, message=message, ask_again_seconds=ASK_AGAIN_SECONDS)


def _before(known: KnownCluster) -> str:
    if not known.is_readable:
        return "and the record on the leader Lease cannot be read"
    return f"it was {known.uid}" if known.uid else "and no detector has recorded it on the leader Lease yet"
