"""Nodes that vanish together are not believed to be gone (rule 50).

A Machine that is linked to a Node, and is not being deleted, expects that Node. Where so many of the expected
Nodes of one cluster are gone at once, the API server is suspected (its etcd is empty, or was restored), and
not the Machines. Checks of that cluster are held until each of these Nodes is back or no Machine expects it
any more, or a person confirms the loss. The numbers are those of the outage guard where that is on; without
it, most of the Nodes are enough, and at least two. There is no limit of time: a Machine is deleted for good.

Nodes that vanish one by one, over a longer time, are believed to be gone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from health.gate.outage_guard import NodeGroup, OutageGuard, suspicions
from health.model.observation import Hold, HoldReason
from objects.durations import in_words
from objects.timestamps import stamp

CONFIRM = "paramedic.dev/confirmed-node-loss"
"""The annotation of a check by which a person confirms that Nodes which vanished until then are gone."""
WITHOUT_GUARD = OutageGuard(minimum_nodes=2)
"""Its numbers apply where the policy has no outage guard: by default a check may mark every Machine."""
BELIEVED = datetime.min.replace(tzinfo=UTC)
"""Since when a Node is gone that is believed to be."""
ASK_AGAIN_SECONDS = 60.0


def rule_of(guard: OutageGuard | None) -> OutageGuard:
    """The numbers that apply, by the outage guard of the policy."""
    return guard or WITHOUT_GUARD


@dataclass(frozen=True)
class SuspectedLoss:
    """Nodes of one cluster that vanished together."""

    cluster: str
    names: frozenset[str]
    """Those that are still gone."""
    lost: int
    expected: int
    """Of so many that Machines expected, and that were not gone before."""
    began: datetime
    last: datetime
    """When the latest of them vanished."""

    @property
    def hold(self) -> Hold:
        """The hold of each incident in that cluster."""
        lasted = self.last - self.began
        within = f"within {in_words(lasted)}" if lasted else "at once"
        message = (
            f"{self.lost} of {self.expected} Nodes of {NodeGroup(self.cluster)} that Machines are linked to "
            f"vanished {within}, from {stamp(self.began)} on: its API server is suspected, not they. Where "
            f"they are gone for good, annotate a check of it with {CONFIRM}={stamp(self.last)}"
        )
        return Hold(reason=HoldReason.NODES_VANISHED, message=message, ask_again_seconds=ASK_AGAIN_SECONDS)


def suspected_loss(
    rule: OutageGuard, cluster: str, expected: int, lost: Mapping[str, datetime]
) -> SuspectedLoss | None:
    """The Nodes that vanished together, of those that are `lost`, since then; None: none did."""
    found = next(suspicions(rule, NodeGroup(cluster), expected, lost.values(), BELIEVED), None)
    if found is None:
        return None
    names = frozenset(name for name, since in lost.items() if since >= found.began)
    return SuspectedLoss(cluster, names, found.silent, found.seen, found.began, found.began + found.lasted)


def still_suspected(
    before: SuspectedLoss, lost: Mapping[str, datetime], confirmed: datetime | None
) -> SuspectedLoss | None:
    """The suspicion as it is now, with the Nodes that vanished since; None: it is over."""
    since = {name: at for name, at in lost.items() if at >= before.began}
    last = max(since.values(), default=before.last)
    if not since or (confirmed is not None and confirmed >= last.replace(microsecond=0)):
        return None
    return SuspectedLoss(
        before.cluster, frozenset(since), max(before.lost, len(since)), before.expected, before.began, last
    )
