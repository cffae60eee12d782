"""The Events about annotations that should order something, and do not. They are on the annotated object."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from datetime import datetime
from functools import cache, partial
from typing import NamedTuple

from detector.reporting.event_reporter import EmitEvents, involved
from detector.state.check_state import CheckState
from detector.state.cluster_state import ClusterState
from health.check.annotated_hold import annotated
from health.cluster.lost_nodes import CONFIRM
from health.model.annotations import APPROVE, HOLD, ON_TARGETS, REJECT, digest_of, hold_in, question_in
from health.model.node import Node, involved_node
from health.model.references import CheckReference
from health.model.remediation_order import LONGEST_VALUE, REMEDIATE, problem_in, shown
from health.model.target import Target
from health.policy.check_choices import SETTINGS, annotation_hint
from kube.time_slice import TimeSlice
from objects.event import Event, InvolvedObject, Severity
from objects.timestamps import as_time, stamp

LOOK_AGAIN_SECONDS = 10.0
MOST_AT_ONCE = 20
"""Events of one look: the Events about remediations have the rest of the common rate."""
TURNED_OFF = "the policy turns orders by annotation off (ordersByAnnotation)"


class _Problem(NamedTuple):
    """An annotation that should order something, and why it does not."""

    annotation: str
    text: str | None
    """Its value; None: it is not known."""
    words: str


class _Refusal(NamedTuple):
    check: CheckReference
    event: Event


class RefusedAnnotations:
    """Emits an Event about each annotation of a target or check that should order something, and does not.

    Its value cannot be read, it is on an object where it orders nothing, the policy turns orders by
    annotation off, it answers no open question, or there is no such annotation. Without the Event, the
    person who wrote it gets no answer. The seed of an Event has the object and the annotation, so a new
    leader emits no second one. The detector skips targets that no check selects, and checks in shadow.
    """

    def __init__(self, cluster_state: ClusterState, emit: EmitEvents, now: Callable[[], datetime]) -> None:
        self._cluster_state = cluster_state
        self._emit = emit
        self._now = now
        self._reported: set[str] = set()
        """The seeds of the Events about the present annotations."""

    async def lead(self) -> None:
        """Emit Events about new ones every ten seconds, until cancelled."""
        self._reported.clear()
        while True:
            with self._cluster_state.guard.item("status", "Events about refused annotations"):
                await self.look()
            await asyncio.sleep(LOOK_AGAIN_SECONDS)

    async def look(self) -> None:
        """Emit Events about annotations that came or changed since the last look, at most `MOST_AT_ONCE`."""
        present = {refusal.event.seed: refusal async for refusal in self._refusals()}
        self._reported &= present.keys()
        unreported = [refusal for seed, refusal in present.items() if seed not in self._reported]
        for refusal in unreported[:MOST_AT_ONCE]:
            if self._emit(refusal.check, [refusal.event]):
                self._reported.add(refusal.event.seed)

    async def _refusals(self) -> AsyncIterator[_Refusal]:
        context, piece = self._cluster_state.cluster_context, TimeSlice()
        questions = cache(partial(_open_questions, self._cluster_state))
        for check, check_state in [*self._cluster_state.checks.items()]:
            if check_state.is_shadow_in(context):
                continue
            for problem in self._of_check(check, check_state):
                yield _refusal(check, check_state.record.metadata.uid, problem)
            targets = self._cluster_state.targets.of(check)
            for name in [*check_state.selected]:
                await piece.yield_if_over()
                target = targets.get(name)
                for holder in annotated(target) if target else ():
                    for problem in self._of_holder(holder, questions, is_target=holder is target):
                        yield _refusal(check, holder.metadata.uid, problem, _involved(check, holder))

    def _of_check(self, check: CheckReference, check_state: CheckState) -> Iterator[_Problem]:
        context, annotations = self._cluster_state.cluster_context, check_state.record.metadata.annotations
        for name in sorted(ON_TARGETS - {HOLD}):
            if (text := annotations.get(name)) is not None:
                words = f"orders nothing: it belongs on a Node or Machine (found {shown(text)!r})"
                yield _Problem(name, text, words)
        text = annotations.get(HOLD)
        if text is not None and (words := self._problem_of_hold(text[:LONGEST_VALUE])):
            yield _Problem(HOLD, text, words)
        text, refused = annotations.get(CONFIRM), context.refused_confirmations.get(check)
        if text is not None and refused is not None and as_time(text) == refused:
            words = (
                f"confirms nothing for {check}: the time is in the future (found {shown(text)!r}); "
                f"write the time that the hold names"
            )
            yield _Problem(CONFIRM, text, words)

    def _of_holder(
        self, holder: Target, questions: Callable[[], "_OpenQuestions"], *, is_target: bool
    ) -> Iterator[_Problem]:
        """The problems of the annotations on one object, which is a target, or its Node."""
        annotations = holder.annotations
        if is_target and (problem := problem_in(annotations.remediate)):
            found = f"(found {shown(annotations.remediate)!r})"
            yield _Problem(REMEDIATE, annotations.remediate, f"{problem} {found}")
        if annotations.hold is not None and (words := self._problem_of_hold(annotations.hold)):
            yield _Problem(HOLD, annotations.hold, words)
        if name := annotations.unknown:
            words = "has no effect: it belongs on a check"
            if name not in SETTINGS:
                hint = annotation_hint(name, ON_TARGETS)
                words = f"has no effect: there is no such annotation of a Node or Machine{hint}"
            yield _Problem(name, None, words)
        # An answer is refused while another question is open; an accepted one may stay on the object.
        for name, text in ((APPROVE, annotations.approve), (REJECT, annotations.reject)):
            if text is None:
                continue
            if not self._cluster_state.cluster_context.policy.policy.orders_by_annotation:
                yield _Problem(name, text, TURNED_OFF)
                continue
            ids = questions().ids.get(holder.metadata.uid, ())
            if ids and question_in(text) not in ids and holder.metadata.uid not in questions().unknown:
                open_ids = ", ".join(sorted(ids))
                words = f"answers no open question (found {shown(text)!r}); open is {open_ids}"
                yield _Problem(name, text, words)

    def _problem_of_hold(self, text: str) -> str:
        if not self._cluster_state.cluster_context.policy.policy.orders_by_annotation:
            return TURNED_OFF
        hold = hold_in(text)
        if hold.until is not None and hold.is_over(self._now()):
            return f"holds nothing any more: it ended at {stamp(hold.until)}"
        return hold.why_endless


class _OpenQuestions(NamedTuple):
    """The questions of incidents, by the uid of each object whose annotations can answer them."""

    ids: Mapping[str, set[str]]
    unknown: frozenset[str]
    """The objects of incidents that have not reported to this leader whether they ask something."""


def _open_questions(state: ClusterState) -> _OpenQuestions:
    ids, unknown = defaultdict[str, set[str]](set), set[str]()
    for check, check_state in state.checks.items():
        for name in check_state.unhealthy:
            target = state.targets.get(check, name)
            if target is None:
                continue
            approval = state.progress.of(check, name, target.metadata.uid).approval
            is_heard = state.act_findings.is_heard(check, name, target.metadata.uid)
            for holder in annotated(target):
                if approval is not None and approval.id is not None:
                    ids[holder.metadata.uid].add(approval.id)
                elif not is_heard:
                    unknown.add(holder.metadata.uid)
    return _OpenQuestions(ids, frozenset(unknown))


def _refusal(
    check: CheckReference, uid: str, problem: _Problem, subject: InvolvedObject | None = None
) -> _Refusal:
    """The Event about the object with this uid; `subject`: None for the check itself."""
    digest = "" if problem.text is None else digest_of(problem.text)
    event = Event(
        seed=f"{uid}\n{problem.annotation}\n{digest}",
        severity=Severity.WARNING,
        reason="OrderRefused",
        message=f"metadata.annotations[{problem.annotation}]: {problem.words}",
        subject=subject,
    )
    return _Refusal(check, event)


def _involved(check: CheckReference, holder: Target) -> InvolvedObject:
    if isinstance(holder, Node):
        return involved_node(holder.metadata.name, holder.metadata.uid)
    return involved(check, holder)
