"""The Events about annotations that should order something, and do not. They are on the annotated object."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import NamedTuple

from detector.reporting.own_status import EmitEvents
from detector.state.cluster_state import ClusterState
from detector.state.target_store import place_of
from health.cluster.lost_nodes import CONFIRM
from health.kinds.registry import CHECK_KINDS
from health.model.node import involved_node
from health.model.order_annotations import ON_TARGETS, digest_of
from health.model.references import CheckReference
from health.model.remediation_order import REMEDIATE, problem_in, shown
from health.model.target import Target, node_name
from health.policy.check_choices import SETTINGS, annotation_hint
from kube.time_slice import TimeSlice
from objects.clusters import MANAGEMENT_CLUSTER
from objects.event import Event, InvolvedObject, Severity
from objects.timestamps import as_time

LOOK_AGAIN_SECONDS = 10.0
MOST_AT_ONCE = 20
"""Events of one look: the Events about remediations have the rest of the common rate."""


class _Found(NamedTuple):
    """An annotation that orders nothing, by the uid of its object, its name and a digest of its value."""

    uid: str
    annotation: str
    digest: str = ""
    """"": the value is not known."""


class _Refusal(NamedTuple):
    check: CheckReference
    found: _Found
    event: Callable[[], Event]
    """Its words are found only for an Event that is emitted."""


class RefusedAnnotations:
    """Emits an Event about each annotation of a target or check that should order something, and does not.

    The value of a `paramedic.dev/remediate` cannot be read, or it is on a check; a confirmation of lost Nodes
    is in the future; or a Machine, its Node or another Node has a `paramedic.dev/…` that does not exist.
    Without the Event, the person who wrote it gets no answer. The seed of an Event has the object and the
    annotation, so a new leader emits no second one.
    The detector skips targets that no check selects, and checks in shadow.
    """

    def __init__(self, cluster_state: ClusterState, emit: EmitEvents) -> None:
        self._cluster_state = cluster_state
        self._emit = emit
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
            if self._emit(refusal.check, [refusal.event()]):
                self._reported.add(refusal.found)

    async def _refusals(self) -> AsyncIterator[_Refusal]:
        context, piece = self._cluster_state.cluster_context, TimeSlice()
        for check, check_state in [*self._cluster_state.checks.items()]:
            if check_state.is_shadow_in(context):
                continue
            metadata = check_state.record.metadata
            if (text := metadata.annotations.get(REMEDIATE)) is not None:
                found = _Found(metadata.uid, REMEDIATE, digest_of(text))
                yield _Refusal(check, found, partial(_misplaced, found, text))
            text, refused = metadata.annotations.get(CONFIRM), context.refused_confirmations.get(check)
            if text is not None and refused is not None and as_time(text) == refused:
                found = _Found(metadata.uid, CONFIRM, digest_of(text))
                yield _Refusal(check, found, partial(_in_the_future, found, check, text))
            for name in [*check_state.selected]:
                await piece.yield_if_over()
                target = self._cluster_state.targets.get(check, name)
                for refusal in self._of_target(check, target) if target else ():
                    yield refusal

    def _of_target(self, check: CheckReference, target: Target) -> Iterator[_Refusal]:
        if problem := problem_in(target.order_text):
            found = _Found(target.metadata.uid, REMEDIATE, digest_of(target.order_text))
            yield _Refusal(check, found, partial(_unreadable, found, check, target, problem))
        if name := target.unknown_annotation:
            found = _Found(target.metadata.uid, name)
            yield _Refusal(check, found, partial(_without_effect, found, _involved(check, target)))
        node = self._node_of(target)
        if node is not None and (name := node.unknown_annotation):
            found = _Found(node.metadata.uid, name)
            subject = involved_node(node.metadata.name, node.metadata.uid)
            yield _Refusal(check, found, partial(_without_effect, found, subject))

    def _node_of(self, target: Target) -> Target | None:
        """The Node of a Machine, as its annotations give orders to the incident of the Machine; else None."""
        if target.node_cluster != MANAGEMENT_CLUSTER:
            return None
        named = node_name(target.node_name)
        node = self._cluster_state.targets.at(named.place).get(named.name)
        return None if node is target else node


def _misplaced(found: _Found, text: str) -> Event:
    words = f"orders nothing: it belongs on a Node or Machine (found {shown(text)!r})"
    return _refused(found, words, None)


def _in_the_future(found: _Found, check: CheckReference, text: str) -> Event:
    words = (
        f"confirms nothing for {check}: the time is in the future (found {shown(text)!r}); "
        f"write the time that the hold names"
    )
    return _refused(found, words, None)


def _unreadable(found: _Found, check: CheckReference, target: Target, problem: str) -> Event:
    words = f"{problem} (found {shown(target.order_text)!r})"
    return _refused(found, words, _involved(check, target))


def _without_effect(found: _Found, subject: InvolvedObject) -> Event:
    if found.annotation in SETTINGS:
        return _refused(found, "has no effect: it belongs on a check", subject)
    hint = annotation_hint(found.annotation, ON_TARGETS)
    return _refused(found, f"has no effect: there is no such annotation of a Node or Machine{hint}", subject)


def _refused(found: _Found, words: str, subject: InvolvedObject | None) -> Event:
    return Event(
        seed="\n".join(found),
        severity=Severity.WARNING,
        reason="OrderRefused",
        message=f"metadata.annotations[{found.annotation}]: {words}",
        subject=subject,
    )


def _involved(check: CheckReference, target: Target) -> InvolvedObject:
    reference = place_of(check).reference(target.metadata.name, target.metadata.uid)
    return CHECK_KINDS[check.group_kind].involved(reference)
