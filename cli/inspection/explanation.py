"""Explains one target of a cluster under every check that selects it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType

from pydantic import Field
from rich.table import Table
from rich.text import Text

from cli.inspection.connecting import (
    no_leader,
    read_memories,
    reading_cluster,
    refused_incidents,
    unknown_orders,
)
from cli.inspection.explanation_view import (
    ConditionView,
    ExplanationView,
    HolderView,
    HoldView,
    SupposedView,
)
from cli.inspection.targets import invalid_checks_for, selected
from cli.shared.ages import ago, short
from cli.shared.options import ClusterChoice
from detector.inspection.decisions import Decided
from detector.inspection.explanation import explain
from health.model.invalid_check import InvalidCheckError
from health.model.references import CheckReference
from objects.durations import in_words
from objects.frozen import Frozen


class Explanations(Frozen):
    """The explanations of one target, one for each check that selects it; the fields are its JSON."""

    cluster: str
    at: datetime
    checks: tuple[ExplanationView, ...]
    invalid_checks: tuple[str, ...]
    """Checks of such a target that cannot be read, with the errors: whether they select it is unknown."""
    invalid: tuple[tuple[str, str], ...] = Field(default=(), exclude=True)
    """The names of these checks, each with its error."""
    unknown_policy: str = ""
    """Why the policy that the detector uses is unknown; "": it is known."""
    no_leader: str = ""
    """Why no detector leads, so that nothing is done; "": one leads."""
    refused: str = ""
    """The incidents that Temporal refuses to start or wake, with the errors; "": none."""
    unknown_orders: tuple[str, ...]
    """Why the orders to incidents could not be read; their steps then count as not approved."""


async def explanations(choice: ClusterChoice, name: str) -> Explanations:
    """Explain the target of that name.

    Raises:
        CommandError: nothing has that name, or the cluster cannot be read.

    """
    async with reading_cluster(choice) as inspection:
        targets = selected(inspection.cluster_state, name)
        incidents = (inspection.incident(check.reference, target) for check, target in targets)
        memories = await read_memories(inspection, incidents)
        targets = selected(inspection.cluster_state, name)  # as their incidents count them
        found = [explain(inspection, check, target, memories) for check, target in targets]
        now = inspection.state.now()
        invalid = invalid_checks_for(inspection.cluster_state, name)
        return Explanations(
            cluster=inspection.cluster_state.cluster,
            at=now,
            checks=tuple(ExplanationView.of(explanation, now) for explanation in found),
            invalid_checks=tuple(_words(invalid)),
            invalid=tuple((str(reference), str(error)) for reference, error in invalid),
            unknown_policy=inspection.unknown_policy,
            no_leader=await no_leader(inspection),
            refused=await refused_incidents(inspection),
            unknown_orders=unknown_orders(memories),
        )


def _words(invalid: Iterable[tuple[CheckReference, InvalidCheckError]]) -> Iterator[str]:
    for reference, error in invalid:
        yield f"{reference} cannot be read, so whether it selects the target is unknown: {error}"


Line = tuple[str, str | Text]
UNREAD = "unknown; the check may select it, and nothing new is done until the check is corrected"


def explanation_pages(found: Explanations, name: str) -> Iterator[Table | Text]:
    """A page for each check that selects the target, or may select it; or one sentence, without any."""
    for view in found.checks:
        yield explanation_page(view, found.at, found.no_leader, found.refused)
    for check, error in found.invalid:
        yield _page((("Check", check), ("Invalid", error), ("Decision", UNREAD)))
    if not found.checks and not found.invalid:
        yield Text(f"no check selects {name!r}, so nothing is done if it fails")


HEALTHY = "healthy, nothing to do"
REMEDIATED = "it would be remediated"
UNKNOWN = "unknown, the policy is invalid"


def explanation_page(view: ExplanationView, now: datetime, no_leader: str = "", refused: str = "") -> Table:
    """A table with a label and a value in each row; `no_leader`: why no detector leads."""
    return _page(_lines(view, now, no_leader, refused))


def _page(lines: Iterable[Line]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in lines:
        table.add_row(label, value if isinstance(value, Text) else Text(value))
    return table


def _lines(view: ExplanationView, now: datetime, no_leader: str, refused: str) -> Iterator[Line]:
    yield "Check", view.check
    yield "Target", f"{view.target} (uid {view.uid})"
    yield "Decision", Text(_decision(view, now, no_leader), style=_STYLES.get(view.decided, ""))
    if no_leader:
        yield "Detector", Text(no_leader, style="yellow")
    if refused:
        yield "Temporal", Text(refused, style="yellow")
    yield from view.order_lines
    if view.approval and not any(view.approval == hold.message for hold in view.holds):
        yield "Approval", view.approval
    if view.goes_on:
        yield "Goes on", view.goes_on
    yield from _also("Also held", _other_holds(view))
    yield "Verdict", _verdict(view, now)
    yield from _labelled("Conditions", [_condition(condition, now) for condition in view.conditions])
    yield "Threshold", view.threshold.words if view.threshold else "unknown"
    yield from _labelled(
        "Limits",
        [f"{limit.limits}, by {limit.chosen_by}; {limit.in_flight} in flight" for limit in view.limits],
    )
    yield "Windows", view.maintenance_windows
    yield from _labelled("Lease", [_holder(lease, now) for lease in view.leases] or ["free"])
    yield "Back-off", view.back_off
    yield from _labelled("Steps", view.steps or ["none"])
    yield from _labelled("Requests", view.requests)
    if view.if_it_failed is not None:
        yield from _supposed(view.if_it_failed, UNKNOWN if view.is_policy_unknown else REMEDIATED)


def _other_holds(view: ExplanationView) -> Sequence[HoldView]:
    """The holds beside the decision, which names the first one unless a person decides."""
    match view.decided:
        case Decided.MAY_ACT:  # a resume passes the back-off
            return ()
        case Decided.REMEDIATING if not _has_more_steps(view):
            return ()
        case Decided.HELD | Decided.UNKNOWN | Decided.REMEDIATING | Decided.WAITS:
            return view.holds[1:]
    return view.holds


_STYLES: Mapping[Decided, str] = MappingProxyType(
    {
        Decided.HELD: "yellow",
        Decided.HELD_BY_PERSON: "yellow",
        Decided.LEFT_ALONE: "magenta",
        Decided.EXHAUSTED: "yellow",
        Decided.UNKNOWN: "yellow",
        Decided.REMEDIATING: "cyan",
        Decided.MAY_ACT: "cyan",
        Decided.CLEANING_UP: "blue",
    }
)


def _decision(view: ExplanationView, now: datetime, no_leader: str) -> str:
    match view.decided:
        case Decided.WAITS:
            return _waits(view, now)
        case Decided.HELD_BY_PERSON | Decided.LEFT_ALONE:
            return view.words
        case Decided.HELD | Decided.UNKNOWN:
            return f"held: {view.holds[0]}" if view.holds else f"{view.decided}: {view.message}"
        case Decided.EXHAUSTED:
            return _exhausted(view)
        case Decided.CLEANING_UP:
            return _and("cleaning up its requests", view.words) if view.requests else HEALTHY
        case Decided.REMEDIATING:
            return _remediating(view, now)
        case Decided.MAY_ACT:
            shadow = "the check is in shadow, so it would only be recorded" if view.is_shadow else ""
            return _and("may act once a detector leads" if no_leader else "may act now", shadow)


def _waits(view: ExplanationView, now: datetime) -> str:
    held = f"then held: {view.holds[0]}" if view.holds else ""
    if view.deadline is None:
        return _and(f"waits: {view.message}", held)
    return _and(f"waits for {short(view.deadline - now)}, until {view.deadline:%H:%M:%SZ}", held)


def _exhausted(view: ExplanationView) -> str:
    if not view.is_held_by_person or view.is_shadow:
        return f"exhausted: {view.words}"
    return "exhausted: no template left to try, and held by a person"


def _remediating(view: ExplanationView, now: datetime) -> str:
    since = f" since {ago(view.begun, now)}" if view.begun else ""
    requests = "" if view.requests else ": its deletion, or a mark for another controller"
    is_held = view.holds and _has_more_steps(view)
    held = f"a next step would be held: {view.holds[0]}" if is_held else ""
    return _and(f"being remediated{since}{requests}", view.words, held)


def _has_more_steps(view: ExplanationView) -> bool:
    """True in an escalation: no step follows a remediation with one template."""
    return len(view.steps) > 1


def _and(*parts: str) -> str:
    return "; ".join(filter(None, parts))


def _verdict(view: ExplanationView, now: datetime) -> str:
    if view.deadline is None:
        return view.reason
    when = (
        f"due {ago(view.deadline, now)}" if view.deadline <= now else f"due in {short(view.deadline - now)}"
    )
    return f"{view.reason}; {when}"


def _condition(condition: ConditionView, now: datetime) -> str:
    duration = in_words(timedelta(seconds=condition.duration_seconds))
    rule = f"{condition.type}={condition.unhealthy_status} for {duration}"
    if condition.status is None:
        return f"{rule}: the Node has no such condition"
    since = f" since {ago(condition.since, now)}" if condition.since else ""
    if condition.deadline is not None:
        return f"{rule}: matches, {condition.words}"
    return f"{rule}: no match, {condition.type} is {condition.status}{since}"


def _holder(holder: HolderView, now: datetime) -> str:
    until = f" for {short(holder.until - now)} more" if holder.until else ""
    return f"{holder.lease} is held by {holder.holder}{until}"


def _supposed(view: SupposedView, otherwise: str) -> Iterator[Line]:
    after = in_words(timedelta(seconds=view.after_seconds))
    would = f"it would be held: {view.holds[0]}" if view.holds else otherwise
    yield "If it failed", f"{view.condition} for longer than {after}: {would}"
    yield from _also("", view.holds[1:])
    if view.threshold is not None:
        yield "", f"threshold then: {view.threshold.words}"


def _also(label: str, holds: Sequence[HoldView]) -> Iterator[Line]:
    yield from _labelled(label, [str(hold) for hold in holds])


def _labelled(label: str, values: Sequence[str]) -> Iterator[Line]:
    for number, value in enumerate(values):
        yield ("" if number else label), value
