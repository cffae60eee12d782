"""Admission: may this incident act now? A pure function of the state of the cluster, asked when it acts.

The rules stand in two tables, those of the check before those of its target (NHC 2.1/17, NHC 2.4, rules 11,
13 and 21); the first that objects wins. Admission consumes nothing: the threshold counts health, and a target
that asks was already counted unhealthy. What acts, what status shows and what people are told come from here.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta

from health.gate.check_context import NO_CONTEXT, CheckContext
from health.gate.threshold import Allowance
from health.model.observation import Hold, HoldReason
from objects.durations import in_words

HOLDER_ASK_AGAIN_SECONDS = 60.0
"""As the NodeHealthCheck operator requeues, where another holder's hold does not end by itself."""
STALE_ASK_AGAIN_SECONDS = 10.0


@dataclass(frozen=True)
class CurrentHolder:
    """Somebody else who holds the target, or the control-plane lock."""

    name: str
    request: str = ""
    """By this request; "" is by a Lease."""
    seconds: float = HOLDER_ASK_AGAIN_SECONDS
    """When that hold runs out by itself."""


@dataclass(frozen=True)
class TargetFacts:
    """What matters of one target, at one moment."""

    is_excluded: bool = False
    maintenance: str = ""
    """What says that others work on its Node, before its remediation begins."""
    has_no_step: bool = False
    """Whether its check has no step for it: nobody would replace it."""
    earlier_request: str = ""
    """A request for an earlier target of this name that still exists."""
    lease_holder: CurrentHolder | None = None
    """Who else holds the Lease of the target."""
    requester: CurrentHolder | None = None
    """Whose request for the target is in the way; whoever made it may hold the Lease too."""
    outage: Hold | None = None
    """Why what sees the Nodes of its zone is suspected, not they."""
    control_plane_lock: CurrentHolder | None = None
    """Who has the control-plane lock, where the target is a node of it."""


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


def _outage_of_its_zone(facts: TargetFacts) -> Hold | None:
    return facts.outage


def _maintenance(facts: TargetFacts) -> Hold | None:
    if not facts.maintenance:
        return None
    message = f"its Node is being worked on: {facts.maintenance}"
    return Hold(reason=HoldReason.NODE_MAINTENANCE, message=message)


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
    holds = [
        current_holder
        for current_holder in (facts.requester, facts.lease_holder)
        if current_holder is not None
    ]
    if not holds:
        return None
    reason = HoldReason.TAKEN if facts.lease_holder else HoldReason.TAKEN_BY_REQUEST
    return _hold_of(holds[0], reason, ", and ".join(map(_how, holds)))


def _how(current_holder: CurrentHolder) -> str:
    if current_holder.request:
        return f"{current_holder.name} has the request {current_holder.request} for it"
    return f"{current_holder.name} holds its Lease"


def _control_plane_lock(facts: TargetFacts) -> Hold | None:
    if facts.control_plane_lock is None:
        return None
    by = f", by the request {facts.control_plane_lock.request}" if facts.control_plane_lock.request else ""
    message = f"one control-plane node at a time: {facts.control_plane_lock.name} has the lock{by}"
    return _hold_of(facts.control_plane_lock, HoldReason.CONTROL_PLANE, message)


def _hold_of(current_holder: CurrentHolder, reason: HoldReason, message: str) -> Hold:
    return Hold(reason=reason, message=message, ask_again_seconds=max(1.0, current_holder.seconds))


_RULES: tuple[Callable[[TargetFacts], Hold | None], ...] = (
    _excluded,
    _maintenance,
    _outage_of_its_zone,
    _no_step,
    _earlier_request,
    _taken,
    _control_plane_lock,
)


@dataclass(frozen=True)
class Question:
    """Everything that an admission is decided by, at one moment."""

    allowance: Allowance
    blind: Hold | None = None
    """Why nothing can be told of any target: the state is too old, or a clock is off."""
    unread_requests: str = ""
    """Why it is not known which requests exist; then numbers and other holders are not known either."""
    target: TargetFacts = NO_FACTS
    storm: Hold | None = None
    """Why a storm allows nothing yet."""
    back_off: Hold | None = None
    """Why a first request comes too soon after an earlier remediation of the target."""
    limit: Hold | None = None
    """Why it would be one remediation too many."""
    context: CheckContext = NO_CONTEXT
    unread_context: str = ""
    """Why the cluster context is not known well enough."""
    unread_templates: str = ""
    """Why it is not known whether the templates can be used."""


_Rule = Callable[[Question], Hold | None]


def stale_cache(age: timedelta | None, limit: timedelta) -> Hold | None:
    """Why nothing can be said at all: the state is older than `limit`, or (None) was never complete."""
    if age is not None and age <= limit:
        return None
    message = (
        "the cluster was not read completely yet"
        if age is None
        else f"the last activity of the API server is {in_words(age)} old"
    )
    return Hold(reason=HoldReason.STALE_CACHE, message=message, ask_again_seconds=STALE_ASK_AGAIN_SECONDS)


def admission(question: Question) -> Hold | None:
    """Why not; None means: go."""
    return common_hold(question) or _first(_OF_TARGET, question)


def common_hold(question: Question) -> Hold | None:
    """Why the check may act on none of its targets, whichever it is; it is told of the check alone."""
    return _first(OF_CHECK, question)


def _first(rules: Iterable[_Rule], question: Question) -> Hold | None:
    return next((hold for rule in rules if (hold := rule(question)) is not None), None)


def _stopped(question: Question) -> Hold | None:
    stop = question.context.stop
    return None if stop is None else stop.hold


def _blind(question: Question) -> Hold | None:
    return question.blind


def _policy_unknown(question: Question) -> Hold | None:
    return question.context.policy


def _disabled(question: Question) -> Hold | None:
    problem = question.context.problem
    return None if problem is None else problem.hold


def _unread_context(question: Question) -> Hold | None:
    return _unread(HoldReason.CLUSTER_CONTEXT_UNREAD, question.unread_context)


def _unread_templates(question: Question) -> Hold | None:
    return _unread(HoldReason.TEMPLATES_UNREAD, question.unread_templates)


def _upgrading(question: Question) -> Hold | None:
    return question.context.upgrade


def _paused(question: Question) -> Hold | None:
    return question.context.pause


def _window(question: Question) -> Hold | None:
    return None if question.context.window is None else question.context.window.hold


def _unreachable(question: Question) -> Hold | None:
    return question.context.unreachable


def _outage(question: Question) -> Hold | None:
    return question.context.outage


def _unread_requests(question: Question) -> Hold | None:
    return _unread(HoldReason.REQUESTS_UNREAD, question.unread_requests)


def _unread(reason: HoldReason, why: str) -> Hold | None:
    if not why:
        return None
    return Hold(reason=reason, message=why, ask_again_seconds=STALE_ASK_AGAIN_SECONDS)


def _threshold(question: Question) -> Hold | None:
    if question.allowance.allowed:
        return None
    return Hold(reason=HoldReason.THRESHOLD, message=question.allowance.words)


def _storm(question: Question) -> Hold | None:
    return question.storm


def _target(question: Question) -> Hold | None:
    return target_hold(question.target)


def _limit(question: Question) -> Hold | None:
    return question.limit


def _back_off(question: Question) -> Hold | None:
    return question.back_off


OF_CHECK: tuple[_Rule, ...] = (
    _stopped,
    _blind,
    _unread_context,
    _policy_unknown,
    _disabled,
    _unread_templates,
    _upgrading,
    _paused,
    _window,
    _unreachable,
    _outage,
    _unread_requests,
    _threshold,
    _storm,
)
"""The one table of what holds a check as a whole: the status of each kind says the first (rule 55)."""
_OF_TARGET: tuple[_Rule, ...] = (
    _target,
    _limit,
    _back_off,  # the last: who may skip it (`resume`) skips nothing else
)
