"""TargetHold: why one target must be left alone now, whatever its check as a whole allows. Pure.

The rules stand in a table, the first that objects wins (semantics 2.1/17, 2.4, decisions 11, 13, 21).
"""

from collections.abc import Callable
from dataclasses import dataclass

from health.observation import Hold, HoldReason

RIVAL_ASK_AGAIN_SECONDS = 60.0
"""As the reference's requeue, where a rival's hold does not end by itself."""


@dataclass(frozen=True)
class Rival:
    """Somebody else who holds the target, or the control plane's turn."""

    name: str
    request: str = ""
    """By this request; "" is by a Lease."""
    seconds: float = RIVAL_ASK_AGAIN_SECONDS
    """When that hold runs out by itself."""


@dataclass(frozen=True)
class TargetFacts:
    """What matters of one target, at one moment."""

    is_excluded: bool = False
    has_no_step: bool = False
    """Whether its check has no step for it: nobody would replace it."""
    earlier_request: str = ""
    """A request for an earlier target of this name that still exists."""
    lease_holder: Rival | None = None
    """Who else holds the Lease of the target."""
    requester: Rival | None = None
    """Whose request for the target is in the way; whoever made it may hold the Lease too."""
    turn: Rival | None = None
    """Who has the control plane's turn, where the target is a node of it."""


NO_FACTS = TargetFacts()


def target_hold(facts: TargetFacts) -> Hold | None:
    """Why nothing new may be done for the target; None if nothing of its own holds it."""
    for rule in _RULES:
        hold = rule(facts)
        if hold is not None:
            return hold
    return None


def _excluded(facts: TargetFacts) -> Hold | None:
    if not facts.is_excluded:
        return None
    return Hold(reason=HoldReason.EXCLUDED, message="the node is labelled to be excluded from remediation")


def _no_step(facts: TargetFacts) -> Hold | None:
    if not facts.has_no_step:
        return None
    return Hold(reason=HoldReason.NO_CONTROLLER, message="no controller owns it: nobody would replace it")


def _earlier_request(facts: TargetFacts) -> Hold | None:
    if not facts.earlier_request:
        return None
    message = f"{facts.earlier_request} of an earlier target of this name is still there"
    return Hold(reason=HoldReason.EARLIER_REQUEST, message=message)


def _taken(facts: TargetFacts) -> Hold | None:
    holds = [rival for rival in (facts.requester, facts.lease_holder) if rival is not None]
    if not holds:
        return None
    reason = HoldReason.TAKEN if facts.lease_holder else HoldReason.TAKEN_BY_REQUEST
    return _hold_of(holds[0], reason, ", and ".join(map(_how, holds)))


def _how(rival: Rival) -> str:
    if rival.request:
        return f"{rival.name} has the request {rival.request} for it"
    return f"{rival.name} holds its Lease"


def _turn(facts: TargetFacts) -> Hold | None:
    if facts.turn is None:
        return None
    by = f", by the request {facts.turn.request}" if facts.turn.request else ""
    message = f"one control-plane node at a time: {facts.turn.name} has the turn{by}"
    return _hold_of(facts.turn, HoldReason.CONTROL_PLANE, message)


def _hold_of(rival: Rival, reason: HoldReason, message: str) -> Hold:
    return Hold(reason=reason, message=message, ask_again_seconds=max(1.0, rival.seconds))


_RULES: tuple[Callable[[TargetFacts], Hold | None], ...] = (
    _excluded,
    _no_step,
    _earlier_request,
    _taken,
    _turn,
)
