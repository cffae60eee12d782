"""The Events about annotations that should order something, and do not. They are on the annotated object."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from datetime import datetime
from functools import cached_property
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


class _Found(NamedTuple):
    """An annotation that orders nothing, by the uid of its object, its name and a digest of its value."""

    uid: str
    annotation: str
    digest: str = ""
    """"": the value is not known."""


class _Refusal(NamedTuple):
    check: CheckReference
    found: _Found
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
        self._reported: set[_Found] = set()

    async def lead(self) -> None:
        """Emit Events about new ones every ten seconds, until cancelled."""
        self._reported.clear()
        while True:
            with self._cluster_state.guard.item("status", "Events about refused annotations"):
                await self.look()
            await asyncio.sleep(LOOK_AGAIN_SECONDS)

    async def look(self) -> None:
        """Emit Events about annotations that came or changed since the last look, at most `MOST_AT_ONCE`."""
        present = {refusal.found: refusal async for refusal in self._refusals()}
        self._reported &= present.keys()
        unreported = [refusal for found, refusal in present.items() if found not in self._reported]
        for refusal in unreported[:MOST_AT_ONCE]:
            if self._emit(refusal.check, [refusal.event]):
                self._reported.add(refusal.found)

    async def _refusals(self) -> AsyncIterator[_Refusal]:
        context, piece = self._cluster_state.cluster_context, TimeSlice()
        questions = _OpenQuestions(self._cluster_state)
        for check, check_state in [*self._cluster_state.checks.items()]:
            if check_state.is_shadow_in(context):
                continue
            for refusal in self._of_check(check, check_state):
                yield refusal
            targets = self._cluster_state.targets.of(check)
            for name in [*check_state.selected]:
                await piece.yield_if_over()
                target = targets.get(name)
                for holder in annotated(target) if target else ():
                    for refusal in self._of_target(check, holder, is_target=holder is target):
                        yield refusal
                    for refusal in self._of_answers(check, holder, questions):
                        yield refusal

    def _of_check(self, check: CheckReference, check_state: CheckState) -> Iterator[_Refusal]:
        context, metadata = self._cluster_state.cluster_context, check_state.record.metadata
        for name in sorted(ON_TARGETS - {HOLD}):
            if (text := metadata.annotations.get(name)) is not None:
                words = f"orders nothing: it belongs on a Node or Machine (found {shown(text)!r})"
                yield _refusal(check, _Found(metadata.uid, name, digest_of(text)), words)
        if (text := metadata.annotations.get(HOLD)) is not None and (
            words := self._problem_of_hold(text[:LONGEST_VALUE])
        ):
            yield _refusal(check, _Found(metadata.uid, HOLD, digest_of(text)), words)
        text, refused = metadata.annotations.get(CONFIRM), context.refused_confirmations.get(check)
        if text is not None and refused is not None and as_time(text) == refused:
            words = (
                f"confirms nothing for {check}: the time is in the future (found {shown(text)!r}); "
                f"write the time that the hold names"
            )
            yield _refusal(check, _Found(metadata.uid, CONFIRM, digest_of(text)), words)

    def _of_target(self, check: CheckReference, holder: Target, *, is_target: bool) -> Iterator[_Refusal]:
        uid, subject, annotations = holder.metadata.uid, _involved(check, holder), holder.annotations
        if is_target and (problem := problem_in(annotations.remediate)):
            words = f"{problem} (found {shown(annotations.remediate)!r})"
            yield _refusal(check, _Found(uid, REMEDIATE, digest_of(annotations.remediate)), words, subject)
        if annotations.hold is not None and (words := self._problem_of_hold(annotations.hold)):
            yield _refusal(check, _Found(uid, HOLD, digest_of(annotations.hold)), words, subject)
        if name := annotations.unknown:
            words = "has no effect: it belongs on a check"
            if name not in SETTINGS:
                hint = annotation_hint(name, ON_TARGETS)
                words = f"has no effect: there is no such annotation of a Node or Machine{hint}"
            yield _refusal(check, _Found(uid, name), words, subject)

    def _problem_of_hold(self, text: str) -> str:
        if not self._cluster_state.cluster_context.policy.policy.orders_by_annotation:
            return TURNED_OFF
        hold = hold_in(text)
        if hold.until is not None and hold.is_over(self._now()):
            return f"holds nothing any more: it ended at {stamp(hold.until)}"
        return hold.why_endless

    def _of_answers(
        self, check: CheckReference, holder: Target, questions: "_OpenQuestions"
    ) -> Iterator[_Refusal]:
        """Refuse an answer while another question is open; an accepted one may stay on the object."""
        for name, text in ((APPROVE, holder.annotations.approve), (REJECT, holder.annotations.reject)):
            if text is None:
                continue
            found = _Found(holder.metadata.uid, name, digest_of(text))
            if not self._cluster_state.cluster_context.policy.policy.orders_by_annotation:
                yield _refusal(check, found, TURNED_OFF, _involved(check, holder))
                continue
            ids = questions.of(holder)
            if ids and question_in(text) not in ids and not questions.may_be_unknown(holder):
                words = f"answers no open question (found {shown(text)!r}); open is {', '.join(sorted(ids))}"
                yield _refusal(check, found, words, _involved(check, holder))


class _OpenQuestions:
    """The questions of incidents, by the uid of each object whose annotations can answer them."""

    def __init__(self, cluster_state: ClusterState) -> None:
        self._cluster_state = cluster_state

    def of(self, holder: Target) -> Collection[str]:
        """The ids of the questions that an annotation on this object can answer."""
        return self._by_holder[0].get(holder.metadata.uid, ())

    def may_be_unknown(self, holder: Target) -> bool:
        """True if an incident has not reported to this leader whether it asks something."""
        return holder.metadata.uid in self._by_holder[1]

    @cached_property
    def _by_holder(self) -> tuple[Mapping[str, set[str]], set[str]]:
        state, ids, unknown = self._cluster_state, defaultdict[str, set[str]](set), set[str]()
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
        return ids, unknown


def _refusal(
    check: CheckReference, found: _Found, words: str, subject: InvolvedObject | None = None
) -> _Refusal:
    """The Event with these words; `subject`: None for the check itself."""
    event = Event(
        seed="\n".join(found),
        severity=Severity.WARNING,
        reason="OrderRefused",
        message=f"metadata.annotations[{found.annotation}]: {words}",
        subject=subject,
    )
    return _Refusal(check, found, event)


def _involved(check: CheckReference, holder: Target) -> InvolvedObject:
    if isinstance(holder, Node):
        return involved_node(holder.metadata.name, holder.metadata.uid)
    return involved(check, holder)
