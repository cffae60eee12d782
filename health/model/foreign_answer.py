"""ForeignAnswer: reads answers of a detector of another version. Values that are not understood hold.

A target state or a step action that this version does not know may mean anything. The target then counts as
unknown, or the incident is held: existing requests stay, and nothing new is done. An unknown hold reason
needs no rule: it holds. Pure.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from objects.frozen import is_known

OTHER_VERSION = "OtherVersion"
ASK_AGAIN_SECONDS = 60.0
"""During a rolling update another worker may take the next answer and understand it."""

Wire = Mapping[str, Any]


def understood(answer: Wire, states: type[StrEnum], actions: type[StrEnum], otherwise: StrEnum) -> Wire:
    """The answer as this version can use it; an unknown state becomes `otherwise`."""
    state = answer.get("state")
    is_foreign = isinstance(state, str) and not is_known(state, states)
    foreign = [f"the state {state} of the target"] if is_foreign else [*_foreign_actions(answer, actions)]
    if not foreign:
        return answer
    message = f"the detector is of another version: {', '.join(foreign)} is not known here"
    hold = {"reason": OTHER_VERSION, "message": message, "ask_again_seconds": ASK_AGAIN_SECONDS}
    return {**answer, "state": otherwise if is_foreign else state, "hold": answer.get("hold") or hold}


def _foreign_actions(answer: Wire, actions: type[StrEnum]) -> Iterator[str]:
    steps = answer.get("steps")
    for step in steps if isinstance(steps, list) else ():
        action = step.get("action", "") if isinstance(step, Mapping) else ""
        if isinstance(action, str) and action and not is_known(action, actions):
            yield f"the action {action} of a step"
