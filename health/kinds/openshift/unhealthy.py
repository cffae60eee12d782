"""The rules by which a Machine is unhealthy (MHC A.2.3). Only the first row that matches counts.

1. Its phase is Failed: expired at once, regardless of its Node, and also while it is being deleted.
2. It was never linked to a Node: expired strictly after nodeStartupTimeout, counted from status.lastUpdated,
   or from creation without it (rule 25). Without that timeout it is never unhealthy for this reason.
3. Its linked Node does not exist: expired at once, but no sooner than a minute after the connection to the
   API server was restored (rule 50).
4. Conditions of its Node, as in `health.model.verdict`.

Rows 2 and 3 do not apply to a Machine that is being deleted, because its Node is deleted first, nor to one
whose Node exists and cannot be decoded (rule 8). The times of rows 1 to 3 are the Machine's last change, and
move with each write of its status. After a blind period (an upgrade), the clocks of rows 2 and 4 restart
(rule 37).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from health.kinds.machines.machine import GONE, MISSING, NODE
from health.kinds.openshift.machine import MachineTarget
from health.model.verdict import Fact, Health, Match, UnhealthyCondition, Verdict, judged
from health.model.verdict import matches as matches_of_node

PHASE, FAILED = "Phase", "Failed"


@dataclass(frozen=True)
class Rules:
    """The rules of a check for unhealthy Machines."""

    conditions: Sequence[UnhealthyCondition]
    node_startup: timedelta
    """Zero: a Machine may wait for its Node for ever."""


def verdict(
    target: MachineTarget,
    rules: Rules,
    now: datetime,
    blind_until: datetime | None = None,
    gone_from: datetime | None = None,
) -> Verdict:
    """The verdict of `rules` on `target` at `now`.

    Conditions older than `blind_until` count from then. Before `gone_from` no Node counts as gone.
    """
    lost = _lost(target)
    if lost is not None and lost.condition == NODE and gone_from is not None and now <= gone_from:
        return judged([Match(lost, timedelta(), gone_from)], now)
    if lost is not None:
        return Verdict(Health.EXPIRED, _in_words(lost, target), lost, lost.since)
    return judged(matches(target, rules, blind_until), now)


def matches(target: MachineTarget, rules: Rules, blind_until: datetime | None = None) -> list[Match]:
    """All rules that `target` matches now, expired or not."""
    lost = _lost(target)
    if lost is not None:
        return [Match(lost, timedelta())]
    if target.node is not None:
        return matches_of_node(target.node, rules.conditions, blind_until)
    if not rules.node_startup or target.machine.is_going or target.is_node_unread:
        return []
    return [Match(target.fact(NODE, MISSING), rules.node_startup, blind_until)]


def facts(target: MachineTarget, rules: Rules) -> tuple[Fact, ...]:
    """All facts that make `target` unhealthy now, expired or not."""
    return tuple(match.fact for match in matches(target, rules))


def still_states(fact: Fact, target: MachineTarget, rules: Rules) -> bool:
    """True if that fact still makes `target` unhealthy, or did until it was deleted.

    A repeated attempt to delete it finds the Machine already being deleted by the first one.
    """
    found = facts(target, rules)
    if target.machine.is_going and not found and target.node is None:
        found = (target.fact(NODE, GONE if target.node_name else MISSING),)
    return any(fact.same_as(current) for current in found)


def _lost(target: MachineTarget) -> Fact | None:
    """Rows 1 and 3, which need no timer."""
    if target.machine.has_failed:
        return target.fact(PHASE, FAILED)
    if target.has_lost_its_node and not target.machine.is_going:
        return target.fact(NODE, GONE)
    return None


def _in_words(lost: Fact, target: MachineTarget) -> str:
    if lost.condition == PHASE:
        return f"its phase is {FAILED}"
    # No object has the time of the loss; the fact has the time of the Machine.
    return f"its Node {target.node_name} is not there"
