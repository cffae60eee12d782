"""What makes a Machine unhealthy (A.2.3). The first row that fits decides alone.

1. Its phase is Failed: expired at once, whatever its Node says, and also while it is being deleted.
2. It was never linked to a Node: expired strictly after nodeStartupTimeout, counted from status.lastUpdated,
   or from creation where that is unset (decision 25). Without that timeout it is not unhealthy, ever.
3. The Node that it is linked to is not there: expired at once.
4. Conditions of its Node, as in `health.verdict`.

After a time in which conditions told nothing (an upgrade), the clocks of rows 2 and 4 restart (decision 37).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from health.openshift.machine import Machine
from health.openshift.machine_target import MachineTarget
from health.verdict import Fact, Health, Match, UnhealthyCondition, Verdict, judged, matches

PHASE, FAILED = "Phase", "Failed"
NODE, MISSING, GONE = "Node", "missing", "gone"


@dataclass(frozen=True)
class Rules:
    """What a check calls unhealthy."""

    conditions: Sequence[UnhealthyCondition]
    node_startup: timedelta
    """Zero: a Machine may wait for its Node for ever."""


def verdict(
    target: MachineTarget, rules: Rules, now: datetime, blind_until: datetime | None = None
) -> Verdict:
    """The verdict of `rules` on `target` at `now`; what was so before `blind_until` counts from then."""
    lost = _lost(target)
    if lost is not None:
        return Verdict(Health.EXPIRED, _in_words(lost, target), lost, lost.since)
    return judged(_matches(target, rules, blind_until), now)


def facts(target: MachineTarget, rules: Rules) -> tuple[Fact, ...]:
    """All that makes `target` unhealthy now, expired or not."""
    lost = _lost(target)
    if lost is not None:
        return (lost,)
    return tuple(match.fact for match in _matches(target, rules))


def _lost(target: MachineTarget) -> Fact | None:
    """Rows 1 and 3, which need no timer."""
    if target.machine.has_failed:
        return Fact(condition=PHASE, status=FAILED, since=_last_change(target.machine))
    if target.has_lost_its_node:
        return Fact(condition=NODE, status=GONE, since=_last_change(target.machine))
    return None


def _in_words(lost: Fact, target: MachineTarget) -> str:
    if lost.condition == PHASE:
        return f"its phase is {FAILED}"
    # No object says since when; the time in the fact is that of the Machine.
    return f"its Node {target.node_name} is not there"


def _matches(target: MachineTarget, rules: Rules, blind_until: datetime | None = None) -> list[Match]:
    if target.node is not None:
        return matches(target.node, rules.conditions, blind_until)
    if not rules.node_startup:
        return []
    missing = Fact(condition=NODE, status=MISSING, since=_last_change(target.machine))
    return [Match(missing, rules.node_startup, blind_until)]


def _last_change(machine: Machine) -> datetime:
    return machine.status.last_updated or machine.metadata.creation_timestamp
