"""Admission: may this incident act now? A pure function of the cluster state, called for each question.

The rules are the table of the check (`check_holds.py`), and then `target_holds` (NHC 2.1/17, NHC 2.4, rules
11, 13 and 21); the first rule that objects wins. Admission consumes nothing: the threshold counts health, and
a target that asks was already counted as unhealthy. Acts, status and Events use the same result.

The answer to a question of an incident (ADR 40):

| what is seen                           | the question     | the answer                         |
|----------------------------------------|------------------|------------------------------------|
| the check is in shadow                 | any              | what is seen, without an admission |
| a limit alone holds it                 | would not act    | that limit, for a second           |
| something else holds the step          | any              | that hold                          |
| back-off alone holds it                | skips back-off   | an admission, or a limit           |
| nothing holds it                       | would not act    | the hold `NoAdmission`             |
| nothing holds it                       | would act        | an admission, or a limit           |

An answer never has a hold and an admission. Workers that know no admission read an answer without a hold as
one, so a question that would not act is answered with a hold.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from health.check.check_snapshot import NO_HOLDS, CheckHolds
from health.model.admission import Admission, Intent
from health.model.boot import is_same_boot
from health.model.observation import NO_ADMISSION, Hold, HoldReason, Observation, TargetState
from health.model.remediation_order import RemediationOrder

ONE_AT_A_TIME = "one member of a quorum at a time"
HOLDER_ASK_AGAIN_SECONDS = 60.0
"""The requeue time of the NodeHealthCheck operator, for a holder without an expiry."""


@dataclass(frozen=True)
class CurrentHolder:
    """Another holder of the target, or another member of its quorum that is remediated or replaced."""

    name: str
    request: str | None = None
    """The request by which it holds; None: it holds a Lease, or `how` says how."""
    how: str = "has the lock"
    """How another member of the quorum keeps this one waiting."""
    seconds: float = HOLDER_ASK_AGAIN_SECONDS
    """Seconds until the hold of the other holder expires."""


@dataclass(frozen=True, kw_only=True)
class TargetFacts:
    """The facts about one target that admission uses."""

    is_excluded: bool = False
    annotated: Hold | None = None
    """The hold by an annotation on the target or its Node."""
    maintenance: str | None = None
    """The sign that the Node of the target is under maintenance, before its remediation begins."""
    owner: Hold | None = None
    """The hold of an owner that works on the target."""
    has_no_step: bool = False
    """Whether its check has no step for it, because no owner would replace it."""
    earlier_request: str | None = None
    """An existing request for an earlier target of this name."""
    lease_holder: CurrentHolder | None = None
    """Another holder of the Lease of the target."""
    requester: CurrentHolder | None = None
    """The owner of another request for the target; it may hold the Lease too."""
    outage: Hold | None = None
    """The hold of a suspected outage in a domain of its Node."""
    other_member: CurrentHolder | None = None
    """The other member of its quorum that the target waits for."""
    order_turn: Hold | None = None
    """The hold of an order to remediate while earlier orders for its check are in progress."""
    approval: Hold | None = None
    """The hold of a next step that waits for a person, or that a person rejected."""


NO_FACTS = TargetFacts()


def target_holds(facts: TargetFacts) -> Iterator[Hold]:
    """The holds of the target itself, in the order of precedence."""
    if facts.is_excluded:
        message = "the node is labelled to be excluded from remediation"
        yield Hold(reason=HoldReason.EXCLUDED, message=message)
    if facts.annotated is not None:
        yield facts.annotated
    if facts.maintenance:
        message = f"its Node is under maintenance: {facts.maintenance}"
        yield Hold(reason=HoldReason.NODE_MAINTENANCE, message=message)
    yield from (hold for hold in (facts.owner, facts.outage) if hold is not None)
    if facts.has_no_step:
        message = "no controller owns it, so nothing would replace it"
        yield Hold(reason=HoldReason.NO_CONTROLLER, message=message)
    if facts.earlier_request:
        message = f"{facts.earlier_request} of an earlier target of this name is still there"
        yield Hold(reason=HoldReason.EARLIER_REQUEST, message=message)

    # The requester may hold the Lease too.
    holders = [holder for holder in (facts.requester, facts.lease_holder) if holder is not None]
    if holders:
        words = (
            f"{holder.name} has the request {holder.request} for it"
            if holder.request
            else f"{holder.name} holds its Lease"
            for holder in holders
        )
        reason = HoldReason.TAKEN if facts.lease_holder else HoldReason.TAKEN_BY_REQUEST
        yield _hold_of(holders[0], reason, ", and ".join(words))
    if (other := facts.other_member) is not None:
        by = f", by the request {other.request}" if other.request else ""
        message = f"{ONE_AT_A_TIME}: {other.name} {other.how}{by}"
        yield _hold_of(other, HoldReason.CONTROL_PLANE, message)

    # A person is asked last, about a step that nothing else of check and target holds.
    yield from (hold for hold in (facts.order_turn, facts.approval) if hold is not None)


def target_hold(facts: TargetFacts) -> Hold | None:
    return next(target_holds(facts), None)


def _hold_of(current_holder: CurrentHolder, reason: HoldReason, message: str) -> Hold:
    return Hold(reason=reason, message=message, ask_again_seconds=max(1.0, current_holder.seconds))


@dataclass(frozen=True, kw_only=True)
class Question:
    """Everything that admission uses, at one moment."""

    of_check: CheckHolds = NO_HOLDS
    target: TargetFacts = NO_FACTS
    limit: Hold | None = None
    """Which limit the step would exceed."""
    order: RemediationOrder | None = None
    """A person's order to remediate the target, which passes some holds."""
    back_off: Hold | None = None
    """Why a first request would come too soon after an earlier remediation of the target."""


def holds(question: Question) -> Iterator[Hold]:
    """The holds of check and target, in the order of precedence.

    Back-off is the last, so that `resume`, which skips it, skips no other rule.
    """
    passed = reasons_passed_by(question.order)
    found = (
        *(held.hold for held in question.of_check.found),
        *target_holds(question.target),
        *(hold for hold in (question.limit, question.back_off) if hold is not None),
    )
    return (hold for hold in found if hold.reason not in passed)


def reasons_passed_by(order: RemediationOrder | None) -> frozenset[HoldReason]:
    """The reasons of holds that do not stop the remediation that a person ordered."""
    if order is None:
        return frozenset()
    return PASSED_BY_FORCE if order.is_forced else PASSED_BY_ORDER


PASSED_BY_ORDER = frozenset({HoldReason.BACK_OFF, HoldReason.MAINTENANCE_WINDOW})
PASSED_BY_FORCE = PASSED_BY_ORDER | {HoldReason.THRESHOLD, HoldReason.STORM}


def admission(question: Question) -> Hold | None:
    """The first hold of check or target; None means go."""
    return next(holds(question), None)


Admit = Callable[[], Admission | Hold]
"""Reserves a slot for the step; or says which limit is reached."""


def answered(observation: Observation, intent: Intent, admit: Admit) -> Observation:
    """The answer to a question with this intent; calls `admit` once at most."""
    if observation.is_shadow:
        return observation
    hold, state = observation.hold, observation.state
    reason = None if hold is None else hold.reason
    if hold is not None and reason is HoldReason.LIMIT and not intent.would_act:
        # The queue passes over an incident that would not act, so that it waits for no turn. It asks again:
        # shadow, or the back-off after a failed act, may have ended since it asked.
        seconds = NO_ADMISSION.ask_again_seconds
        return observation.held_by(hold.asking_again_after(seconds))
    skips_back_off = intent.skips_back_off and reason is HoldReason.BACK_OFF and state is TargetState.EXPIRED
    if not (observation.may_be_admitted or skips_back_off):
        return observation
    # A healthy target is acted on only where the incident knows that it did not boot.
    is_unproven = is_same_boot(observation.boot_id, intent.unproven_boot or "")
    if not intent.would_act or (state is TargetState.HEALTHY and not is_unproven):
        return observation.without_admission()
    outcome = admit()
    return observation.held_by(outcome) if isinstance(outcome, Hold) else observation.admitted(outcome)
