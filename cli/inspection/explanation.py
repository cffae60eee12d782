"""The decision about one target in words, and the pages of `paramedic explain`. Pure.

`explain` has a page for each check that selects the target, or may select it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from rich.text import Text

from cli.incidents.show import order_words, standing_lines
from cli.shared.ages import ago, in_time, short
from cli.shared.terminal import Line, labelled
from health.model.details import HoldWords
from health.model.observation import Hold, HoldReason
from objects.durations import in_words
from workflows.inspection_contracts import (
    ConditionAnswer,
    Decided,
    ExplainAnswer,
    ExplanationAnswer,
    TargetAnswer,
)

QUESTIONS = (HoldReason.APPROVAL_REQUIRED, HoldReason.STEP_REJECTED)
"""Holds with times, which differ from target to target."""


def title(decision: TargetAnswer) -> str:
    """The decision with its reason, by which `check` counts."""
    hold = decision.hold
    match decision.decided:
        case Decided.WAITS if hold:
            return f"{Decided.WAITS}, then held: {hold.words.short}"
        case Decided.HELD | Decided.UNKNOWN if hold:
            return f"{decision.decided}: {hold.words.short}"
        case Decided.REMEDIATING | Decided.EXHAUSTED if decision.ordered is not None:
            return f"{decision.decided}, and {Decided.HELD_BY_PERSON}"
    return decision.decided


def message(decision: TargetAnswer, now: datetime) -> str:
    """The order of a person, or else the hold or condition that decides."""
    return order_words(decision.ordered, now) if decision.ordered else decision.message


def dated(hold: HoldWords, now: datetime) -> str:
    """The hold, and since when it holds, if that is known."""
    return f"{hold}; since {ago(hold.since, now)}" if hold.since else str(hold)


HEALTHY = "healthy, nothing to do"
UNREAD = "unknown; the check may select it, and nothing new is done until the check is corrected"
_STYLES: Mapping[str, str] = {
    Decided.HELD: "yellow",
    Decided.HELD_BY_PERSON: "yellow",
    Decided.LEFT_ALONE: "magenta",
    Decided.EXHAUSTED: "yellow",
    Decided.UNKNOWN: "yellow",
    Decided.REMEDIATING: "cyan",
    Decided.MAY_ACT: "cyan",
    Decided.CLEANING_UP: "blue",
}


def explanation_pages(found: ExplainAnswer) -> Iterator[Iterable[Line]]:
    """The lines of each page; none if no check selects the target, or may select it."""
    for each in found.checks:
        yield explanation_lines(each, found.at)
    for invalid in found.invalid_checks:
        yield (("Check", invalid.check), ("Invalid", invalid.problem), ("Decision", UNREAD))


def explanation_lines(view: ExplanationAnswer, now: datetime) -> Iterator[Line]:
    decision = view.decision
    yield "Check", view.check
    yield "Target", f"{decision.target} (uid {view.uid})"
    yield "Decision", Text(_decision(view, now), style=_STYLES.get(decision.decided, ""))
    yield from standing_lines(view.standing, now)
    if view.approval and not any(view.approval == hold.message for hold in view.holds):
        yield "Approval", view.approval
    if view.goes_on:
        yield (
            "Goes on",
            f"{in_time(view.goes_on_at, now)}: {view.goes_on}" if view.goes_on_at else view.goes_on,
        )
    yield from labelled("Also held", map(str, _other_holds(view)))
    verdict = view.reason
    if view.deadline is not None:
        is_due = view.deadline <= now
        verdict += f"; due {ago(view.deadline, now) if is_due else f'in {short(view.deadline - now)}'}"
    yield "Verdict", verdict
    yield from labelled("Conditions", (_condition(condition, now) for condition in view.conditions))
    yield "Threshold", view.threshold.words if view.threshold else "unknown"
    limits = (f"{one.limits}, by {one.chosen_by}; {one.in_flight} in flight" for one in view.limits)
    yield from labelled("Limits", limits)
    yield "Windows", view.maintenance_windows
    leases = []
    for lease in view.leases:
        until = f" for {short(lease.until - now)} more" if lease.until else ""
        leases.append(f"{lease.lease} is held by {lease.holder}{until}")
    yield from labelled("Lease", leases or ["free"])
    yield "Back-off", view.back_off
    yield from labelled("Steps", view.steps or ["none"])
    yield from labelled("Requests", decision.requests)
    if (supposed := view.if_it_failed) is not None:
        after, holds = timedelta(seconds=supposed.after_seconds), [*map(str, supposed.holds)]
        would = f"it would be held: {holds[0]}" if holds else "it would be remediated"
        yield "If it failed", f"{supposed.condition} for longer than {in_words(after)}: {would}"
        yield from labelled("", holds[1:])
        if supposed.threshold is not None:
            yield "", f"threshold then: {supposed.threshold.words}"


def _other_holds(view: ExplanationAnswer) -> Sequence[Hold]:
    """The holds beside the decision, which names the first one unless a person decides."""
    match view.decision.decided:
        case Decided.MAY_ACT:  # a resume passes the back-off
            return ()
        case Decided.REMEDIATING if not _has_more_steps(view):
            return ()
        case Decided.HELD | Decided.UNKNOWN | Decided.REMEDIATING | Decided.WAITS:
            return view.holds[1:]
    return view.holds


def _decision(view: ExplanationAnswer, now: datetime) -> str:
    decision, first = view.decision, dated(view.holds[0].words, now) if view.holds else ""
    decided = str(decision.decided)
    parts: tuple[str, ...]
    match decision.decided:
        case Decided.WAITS:
            left = None if view.deadline is None else short(view.deadline - now)
            until = f" for {left}, until {view.deadline:%H:%M:%SZ}" if left else f": {decision.message}"
            parts = (f"waits{until}", first and f"then held: {first}")
        case Decided.HELD_BY_PERSON | Decided.LEFT_ALONE:
            parts = (view.words or f"{decided}: {message(decision, now)}",)
        case Decided.HELD | Decided.UNKNOWN:
            parts = (f"held: {first}" if first else f"{decided}: {decision.message}",)
        case Decided.EXHAUSTED:
            is_held = decision.ordered is not None and not view.is_shadow
            words = "no template left to try, and held by a person" if is_held else view.words
            parts = (f"exhausted: {words}",)
        case Decided.CLEANING_UP:
            parts = ("cleaning up its requests", view.words) if decision.requests else (HEALTHY,)
        case Decided.REMEDIATING:
            since = f" since {ago(view.begun, now)}" if view.begun else ""
            by = "" if decision.requests else ": its deletion, or a mark for another controller"
            held = f"a next step would be held: {first}" if first and _has_more_steps(view) else ""
            parts = (f"being remediated{since}{by}", view.words, held)
        case Decided.MAY_ACT:
            shadow = "the check is in shadow, so it would only be recorded" if view.is_shadow else ""
            parts = ("may act now", shadow)
        case _:
            parts = (decided,)
    return "; ".join(filter(None, parts))


def _has_more_steps(view: ExplanationAnswer) -> bool:
    """True in an escalation: no step follows a remediation with one template."""
    return len(view.steps) > 1


def _condition(condition: ConditionAnswer, now: datetime) -> str:
    duration = in_words(timedelta(seconds=condition.duration_seconds))
    rule = f"{condition.type}={condition.unhealthy_status} for {duration}"
    if condition.status is None:
        return f"{rule}: the Node has no such condition"
    if condition.deadline is not None:
        return f"{rule}: matches, {condition.words}"
    since = f" since {ago(condition.since, now)}" if condition.since else ""
    return f"{rule}: no match, {condition.type} is {condition.status}{since}"
