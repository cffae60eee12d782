"""AnnotatedHold: `paramedic.dev/hold` on a check, on a target or on the Node of a Machine. Pure.

Nothing new is done while it stands; existing requests stay. The gate and the act use the same functions. A
workload cluster gives no orders: its API server could hold off the remediation of its Nodes.

`PAUSED` is the annotation that pauses a check of Machines of either API (rule 7, MHC A.2.8, CAPI B.2.7).

While a check has it, with any value, nothing is written for the check, except a condition that it is paused
where its API has one. A check that cannot be read may be paused too, and its problem is then not reported.
The Lease of a target with a request is still renewed, to keep other holders away.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime

from health.check.check_snapshot import CheckSnapshot
from health.check.health_check import HealthCheck
from health.model.annotations import HOLD, AnnotatedAnswer, HoldAnnotation, answer_in, hold_in
from health.model.observation import Hold, HoldReason
from health.model.target import Target
from health.policy.policy import Policy
from objects.clusters import MANAGEMENT_CLUSTER
from objects.timestamps import stamp


def annotated(target: Target) -> Iterator[Target]:
    """The objects whose annotations give orders for a target: itself, and the Node of a Machine."""
    yield target
    node = target.node
    if node is not None and node is not target and target.node_cluster == MANAGEMENT_CLUSTER:
        yield node


def _place(holder: Target, target: Target) -> str:
    return "it" if holder is target else f"its Node {holder.metadata.name}"


def hold_on_target(target: Target, policy: Policy, now: datetime) -> Hold | None:
    """The hold by an annotation on the target or its Node; None: there is none, or it is over."""
    for holder in annotated(target) if policy.orders_by_annotation else ():
        text = holder.annotations.hold
        hold = None if text is None else _hold(hold_in(text), _place(holder, target), now)
        if hold is not None:
            return hold
    return None


def hold_on_check(check: HealthCheck, policy: Policy, now: datetime) -> Hold | None:
    """The hold by an annotation on the check; None: there is none, or it is over."""
    found = check.choices.hold
    return _hold(found, "the check", now) if found is not None and policy.orders_by_annotation else None


def answers_on(target: Target, policy: Policy) -> tuple[AnnotatedAnswer, ...]:
    """The answers to questions on the target or its Node; a rejection comes before an approval."""
    if not policy.orders_by_annotation:
        return ()
    return tuple(
        answer_in(text, is_approval=is_approval, place=_place(holder, target))
        for holder in annotated(target)
        for text, is_approval in ((holder.annotations.reject, False), (holder.annotations.approve, True))
        if text is not None
    )


def _hold(found: HoldAnnotation, place: str, now: datetime) -> Hold | None:
    if found.is_over(now):
        return None
    words = f"the annotation {HOLD} on {place}"
    if found.reason:
        words += f": {found.reason}"
    if found.problem:
        words += f" {found.why_endless}"
    if found.until is None:
        return Hold(reason=HoldReason.HOLD_ANNOTATION, message=words)
    return Hold(
        reason=HoldReason.HOLD_ANNOTATION,
        message=f"{words}, until {stamp(found.until)}",
        ask_again_seconds=(found.until - now).total_seconds(),
    )


PAUSED = "cluster.x-k8s.io/paused"


def pause_hold(annotations: Mapping[str, str]) -> Hold | None:
    if PAUSED not in annotations:
        return None
    return Hold(reason=HoldReason.PAUSED, message=f"paused by the annotation {PAUSED}")


def is_paused(snapshot: CheckSnapshot) -> bool:
    return snapshot.parsed.is_paused if snapshot.check is None else snapshot.holds.is_fully_paused
