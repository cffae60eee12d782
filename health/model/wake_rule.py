"""WakeRule: how a change of a field wakes the incident that was answered with another value.

The fields of Observation declare their rules. `health.runbook.wake_up` has the function of each rule.
"""

from enum import Enum, auto

from pydantic import BaseModel


class WakeRule(Enum):
    """The rule of a field, as in `Annotated[int, WakeRule.ON_CHANGE]`; with several rules, each may wake."""

    NEVER = auto()
    """The incident need not know: the field describes another one, or the incident has a timer for it."""
    ON_CHANGE = auto()
    IF_ENDED_OTHERWISE = auto()
    IF_RESTARTED = auto()
    IF_ANOTHER_FACT = auto()
    IF_HELD_OTHERWISE = auto()
    IF_WAS_UNDER_WAY = auto()
    IF_REQUEST_LOST = auto()
    IF_REMEDIATOR_REPORTS = auto()
    IF_LEASE_ACQUIRED_ANEW = auto()
    IF_ANOTHER_CHANCE = auto()
    IF_RECOVERY_INTERRUPTED = auto()
    IF_SHADOW_CHANGED = auto()
    IF_RECORDED_IN_SHADOW = auto()
    IF_APPROVAL_CHANGED = auto()


def wake_rules(answer: type[BaseModel]) -> dict[str, tuple[WakeRule, ...]]:
    """The rules of each field of `answer`.

    Raises:
        TypeError: a field declares none.

    """
    declared = {
        name: tuple(rule for rule in field.metadata if isinstance(rule, WakeRule))
        for name, field in answer.model_fields.items()
    }
    if undeclared := [name for name, rules in declared.items() if not rules]:
        raise TypeError(f"{answer.__name__}: no WakeRule for {', '.join(undeclared)}")
    return declared
