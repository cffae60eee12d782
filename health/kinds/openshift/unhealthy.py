"""What makes a Machine unhealthy (MHC A.2.3). The first row that fits decides alone.

1. Its phase is Failed: expired at once, whatever its Node says, and also while it is being deleted.
2. It was never linked to a Node: expired strictly after nodeStartupTimeout, counted from status.lastUpdated,
   or from creation where that is unset (rule 25). Without that timeout it is not unhealthy, ever.
3. The Node that it is linked to is not there: expired at once, but no sooner than a minute after the API
   server was away (rule 50).
4. Conditions of its Node, as in `health.model.verdict`.

Rows 2 and 3 are nothing for a Machine that is being deleted: whoever deletes it takes its Node away first.
They are nothing either for one whose Node exists and cannot be decoded (rule 8).

The times of rows 1 to 3 are the Machine's last change, and move with each write of its status.

After a time in which conditions told nothing (an upgrade), the clocks of rows 2 and 4 restart (rule 37).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from health.kinds.openshift.machine import MachineTarget
from health.model.verdict import Fact, Health, Match, UnhealthyCondition, Verdict, judged, matches

PHASE, FAILED = "Phase", "Failed"
NODE, MISSING, GONE = "Node", "missing", "gone"


@dataclass(frozen=True)
class Rules:
    """What a check calls unhealthy."""

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
    """The verdict of `rules` on `target` at `now`; what was so before `blind_until` counts from then.

    Before `gone_from` no Node counts as gone.
    """
    lost = _lost(target)
    if lost is not None and lost.condition == NODE and gone_from is not None and now <= gone_from:
        return judged([Match(lost, timedelta(), gone_from)], now)
    if lost is not None:
        return Verdict(Health.EXPIRED, _in_words(lost, target), lost, lost.since)
    return judged(_matches(target, rules, blind_until), now)


def facts(target: MachineTarget, rules: Rules) -> tuple[Fact, ...]:
    """All that makes `target` unhealthy now, expired or not."""
    lost = _lost(target)
    if lost is not None:
        return (lost,)
    return tuple(match.fact for match in _matches(target, rules))


def still_states(fact: Fact, target: MachineTarget, rules: Rules) -> bool:
    """Whether that very fact is still among what makes `target` unhealthy, or did until it was deleted.

    An attempt to delete it that is made again finds the Machine going by its own hand.
    """
    known = facts(target, rules)
    if target.machine.is_going and not known and target.node is None:
        known = (_moving(NODE, GONE if target.node_name else MISSING, target),)
    return any(fact.same_as(one) for one in known)


def _lost(target: MachineTarget) -> Fact | None:
    """Rows 1 and 3, which need no timer."""
    if target.machine.has_failed:
        return _moving(PHASE, FAILED, target)
    if target.has_lost_its_node and not target.machine.is_going:
        return _moving(NODE, GONE, target)
    return None


def _in_words(lost: Fact, target: MachineTarget) -> str:
    if lost.condition == PHASE:
        return f"its phase is {FAILED}"
    # No object says since when; the time in the fact is that of the Machine.
    return f"its Node {target.node_name} is not there"


def _matches(target: MachineTarget, rules: Rules, blind_until: datetime | None = None) -> list[Match]:
    if target.node is not None:
        return matches(target.node, rules.conditions, blind_until)
    if not rules.node_startup or target.machine.is_going or target.is_node_unread:
        return []
    return [Match(_moving(NODE, MISSING, target), rules.node_startup, blind_until)]


def _moving(condition: str, status: str, target: MachineTarget) -> Fact:
    machine = target.machine
    since = machine.status.last_updated or machine.metadata.creation_timestamp
    return Fact(condition=condition, status=status, since=since, is_moving=True)
