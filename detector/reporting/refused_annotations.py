"""The Events about annotations that should order something, and do not. They are on the annotated object."""

import asyncio
from collections.abc import Iterator
from typing import NamedTuple

from detector.reporting.own_status import EmitEvents
from detector.state.cluster_state import ClusterState
from detector.state.target_store import place_of
from health.kinds.registry import CHECK_KINDS
from health.model.order_annotations import ON_TARGETS, PREFIX, digest_of
from health.model.references import CheckReference
from health.model.remediation_order import REMEDIATE, problem_in, shown
from health.model.target import Target
from health.policy.check_choices import SETTINGS
from objects.close_names import meant
from objects.event import Event, InvolvedObject, Severity

LOOK_AGAIN_SECONDS = 10.0


class _Found(NamedTuple):
    """An annotation that orders nothing, by the uid of its object, its name and a digest of its value."""

    uid: str
    annotation: str
    digest: str = ""
    """"": the value is not known."""


class RefusedAnnotations:
    """Emits an Event about each annotation of a target or check that should order something, and does not.

    The value of a `paramedic.dev/remediate` cannot be read, or it is on a check; or a Node or Machine has a
    `paramedic.dev/…` that does not exist. Such an annotation would otherwise be ignored without a trace. The
    seed of an Event has the object and the annotation, so a new leader emits no second one. A target that no
    check selects is not looked at, and nothing is emitted for a check in shadow.
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
                self.look()
            await asyncio.sleep(LOOK_AGAIN_SECONDS)

    def look(self) -> None:
        """Emit the Events about annotations that came or changed since the last look."""
        present: set[_Found] = set()
        for check, found, event in self._all():
            present.add(found)
            if found not in self._reported and self._emit(check, [event]):
                self._reported.add(found)
        self._reported &= present

    def _all(self) -> Iterator[tuple[CheckReference, _Found, Event]]:
        context = self._cluster_state.cluster_context
        for check, check_state in self._cluster_state.checks.items():
            if check_state.is_shadow_in(context):
                continue
            metadata = check_state.record.metadata
            if (text := metadata.annotations.get(REMEDIATE)) is not None:
                problem = "orders nothing: it belongs on a Node or Machine"
                yield (check, *_unreadable(metadata.uid, text, problem))
            for name in check_state.selected:
                target = self._cluster_state.targets.get(check, name)
                for found, event in _ineffective(check, target) if target else ():
                    yield check, found, event


def _ineffective(check: CheckReference, target: Target) -> Iterator[tuple[_Found, Event]]:
    uid = target.metadata.uid
    if problem := problem_in(target.order_text):
        yield _unreadable(uid, target.order_text, problem, _involved(check, target))
    if name := target.unknown_annotation:
        found = _Found(uid, name)
        yield found, _refused(found, _without_effect(name), _involved(check, target))


def _without_effect(annotation: str) -> str:
    if annotation in SETTINGS:
        return "has no effect: it belongs on a check"
    hint = meant(annotation, ON_TARGETS, PREFIX) or "; see docs/annotations.md"
    return f"has no effect: there is no such annotation of a Node or Machine{hint}"


def _unreadable(
    uid: str, text: str, problem: str, subject: InvolvedObject | None = None
) -> tuple[_Found, Event]:
    found = _Found(uid, REMEDIATE, digest_of(text))
    return found, _refused(found, f"{problem} (found {shown(text)!r})", subject)


def _refused(found: _Found, problem: str, subject: InvolvedObject | None) -> Event:
    return Event(
        seed="\n".join(found),
        severity=Severity.WARNING,
        reason="OrderRefused",
        message=f"metadata.annotations[{found.annotation}]: {problem}",
        subject=subject,
    )


def _involved(check: CheckReference, target: Target) -> InvolvedObject:
    reference = place_of(check).reference(target.metadata.name, target.metadata.uid)
    return CHECK_KINDS[check.group_kind].involved(reference)
