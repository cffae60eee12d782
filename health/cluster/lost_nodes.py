"""Holds checks when many Nodes vanish together, because the API server may have lost them (rule 50).

A Machine that is linked to a Node and is not being deleted expects that Node. If many expected Nodes of one
cluster are gone at once, the API server is suspected (its etcd is empty or was restored), and not the
Machines. The checks of that cluster are held until each of these Nodes is back or no longer expected, or
until a person confirms the loss. The numbers are those of the outage guard, with its defaults if it is off.
There is no time limit, because a deleted Machine cannot be restored.

A Machine whose provider says that its instance is gone expects no Node: the reason of the loss is known.

Nodes that vanish one by one over a longer time are believed to be gone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from health.model.observation import Hold, HoldReason
from health.model.references import CheckReference
from health.policy.outage_guard import NodeGroup, OutageGuard, suspicions
from objects.durations import in_words
from objects.timestamps import stamp

CONFIRM = "paramedic.dev/confirmed-node-loss"
"""The annotation of a check by which a person confirms that Nodes that vanished until then are gone."""
WITHOUT_GUARD = OutageGuard()
"""The numbers without an outage guard, because a check may by default mark every Machine."""
BELIEVED = datetime.min.replace(tzinfo=UTC)
"""The time of loss of a Node that is believed to be gone."""
ASK_AGAIN_SECONDS = 60.0
CLOCK_TOLERANCE = timedelta(seconds=5)
"""A confirmation that is ahead by no more waits for its time; clocks of people and servers differ."""


def rule_of(guard: OutageGuard | None) -> OutageGuard:
    """The numbers that apply, by the outage guard of the policy."""
    return guard or WITHOUT_GUARD


@dataclass(frozen=True, kw_only=True)
class SuspectedLoss:
    """Nodes of one cluster that vanished together."""

    cluster: str
    names: frozenset[str]
    """The names of those that are still gone."""
    lost: int
    expected: int
    """How many Nodes were expected and not gone before."""
    began: datetime
    last: datetime
    """When the latest of them vanished."""

    @property
    def hold(self) -> Hold:
        lasted = self.last - self.began
        within = f"within {in_words(lasted)}" if lasted else "at once"
        message = (
            f"{self.lost} of {self.expected} Nodes of {NodeGroup(self.cluster)} that Machines are linked to "
            f"vanished {within}, from {stamp(self.began)} on: its API server may have lost them. If "
            f"they are gone for good, annotate a check of it with {CONFIRM}={stamp(self.last)}"
        )
        return Hold(reason=HoldReason.NODES_VANISHED, message=message, ask_again_seconds=ASK_AGAIN_SECONDS)


def suspected_loss(
    rule: OutageGuard, cluster: str, expected: int, lost: Mapping[str, datetime]
) -> SuspectedLoss | None:
    found = next(suspicions(rule, NodeGroup(cluster), expected, lost.values(), BELIEVED), None)
    if found is None:
        return None
    names = frozenset(name for name, since in lost.items() if since >= found.began)
    return SuspectedLoss(
        cluster=cluster,
        names=names,
        lost=found.silent,
        expected=found.seen,
        began=found.began,
        last=found.began + found.lasted,
    )


def refused_confirmations(
    written: Mapping[CheckReference, datetime], refused: Mapping[CheckReference, datetime], now: datetime
) -> dict[CheckReference, datetime]:
    """Those of the `written` confirmations that are in the future, or were when they were `refused` before.

    Otherwise such a confirmation would at its time confirm losses that happened after it was written. A
    process that starts after that time remembers none, and needs none: to it, all losses are later.
    """
    return {
        check: time
        for check, time in written.items()
        if time > now + CLOCK_TOLERANCE or refused.get(check) == time
    }


def after_confirmation(lost: Mapping[str, datetime], confirmed: datetime) -> dict[str, datetime]:
    """The losses, after a person confirmed those until `confirmed`, which has whole seconds."""
    return {name: BELIEVED if at.replace(microsecond=0) <= confirmed else at for name, at in lost.items()}


def still_suspected(
    rule: OutageGuard, before: SuspectedLoss, lost: Mapping[str, datetime]
) -> SuspectedLoss | None:
    """The suspicion now, with the Nodes that followed the others within a window; None: it is over.

    A Node that vanishes much later does not prolong it, whether or not the others are back.
    """
    until = before.last + rule.window
    since = {
        name: at for name, at in lost.items() if at >= before.began and (name in before.names or at <= until)
    }
    if not since:
        return None
    lost_until_now, expected = max(before.lost, len(since)), max(before.expected, len(since))
    return replace(
        before, names=frozenset(since), lost=lost_until_now, expected=expected, last=max(since.values())
    )
