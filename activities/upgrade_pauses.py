"""The activities of an upgrade pause: annotations on checks, and the Event about a long upgrade.

Each check is read and patched once, both annotations together, if it is unchanged since the decision:
its uid and resourceVersion are compared, and are preconditions of the patch. A pause without our mark is left
alone (rule 52). Right before the patch the age of the observation is tested, as for an act: an UNPAUSE of one
upgrade must not be applied in the next one. At most `AT_ONCE` checks are written at a time. Each check has
its own answer, so one failure stops no other write. The activity repeats nothing.
"""

from collections.abc import Callable
from datetime import timedelta

from temporalio import activity

from activities.attempt import Attempt, AttemptFailure
from activities.event_recorder import EventRecorder
from activities.fact_age import Clock, waited_too_long
from health.kinds.registry import CHECK_KINDS
from health.model.references import CheckReference
from health.upgrade.failed_write import PauseAnswer, WriteOutcome
from health.upgrade.memory import Handled
from health.upgrade.pausable_check import PausableCheck, PauseAction, PauseAnnotations, PausePatch
from kube.bounded import bounded
from kube.connection import ClusterConnection
from kube.errors import Conflict, KindUnknown, NotFound, RequestRefused, TooManyRequests, Unauthorized
from kube.resource import Object
from objects.event import Event, InvolvedObject, Severity
from objects.frozen import is_known
from objects.metadata import ObjectMetadata
from workflows.upgrade_contracts import (
    WARN_OF_LONG_UPGRADE,
    WRITE_PAUSES,
    WarnOfLongUpgradeInput,
    WarnOfLongUpgradeResult,
    WritePausesInput,
    WritePausesResult,
)

AT_ONCE = 20
"""Concurrent requests: 500 checks take seconds, without starving other clients of the API server."""
TAKES_LONG = "UpgradeTakesLong"
"""The reason of the Warning Event."""
EVENT_TIMEOUT = timedelta(seconds=5)
"""No workflow waits for the Event, and each is written once."""


class WritePauses:
    """The activity `write_pauses`: pauses and unpauses checks."""

    def __init__(self, connection: ClusterConnection, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock

    @activity.defn(name=WRITE_PAUSES.name)
    async def write_pauses(self, writes: WritePausesInput) -> WritePausesResult:
        """Try each patch once, within the time of one attempt."""
        attempt, began = Attempt(WRITE_PAUSES), self._clock.monotonic()
        waited = waited_too_long()

        async def answered(patch: PausePatch) -> PauseAnswer:
            writing = self._write(patch, lambda: waited or self._clock.too_old(writes.seen_at, began))
            tried = await attempt.tried(str(patch), writing)
            return _failed(patch, tried) if isinstance(tried, AttemptFailure) else tried

        return WritePausesResult(answers=await bounded(AT_ONCE, answered, writes.patches))

    async def _write(self, patch: PausePatch, too_old: Callable[[], str]) -> PauseAnswer:
        kind, reference = CHECK_KINDS.get(patch.reference.group_kind), patch.reference
        if kind is None or kind.upgrade_pause is None or not is_known(patch.action, PauseAction):
            return _refused(patch, f"this version cannot {patch}")
        client, resource = self._connection.client, await self._connection.discovery.first_served(kind)
        found = await client.get(resource, reference.name, reference.namespace)
        if not _is_as_decided_on(patch, _pausable(reference, found, kind.upgrade_pause)):
            return _refused(patch, f"{reference} was paused by another user or tool")
        if why := too_old():
            return _refused(patch, f"{why}: asking again")
        body = _body(patch, kind.upgrade_pause)
        await client.merge_patch(resource, reference.name, body, reference.namespace)
        return PauseAnswer(uid=patch.uid, outcome=WriteOutcome.WRITTEN)


class WarnOfLongUpgrade:
    """The activity `warn_of_long_upgrade`: one Event for each check."""

    def __init__(self, event_recorder: EventRecorder) -> None:
        self._event_recorder = event_recorder

    @activity.defn(name=WARN_OF_LONG_UPGRADE.name)
    async def warn_of_long_upgrade(self, warning: WarnOfLongUpgradeInput) -> WarnOfLongUpgradeResult:
        """Write an Event about each check, once for each upgrade."""
        event = Event(
            seed=f"{TAKES_LONG} {warning.since.isoformat()}",
            severity=Severity.WARNING,
            reason=TAKES_LONG,
            message=warning.message,
        )

        async def emit(check: Handled) -> None:
            kind, named = CHECK_KINDS[check.reference.group_kind], check.reference
            about = InvolvedObject(
                api_version=kind.api_version,
                kind=named.kind,
                namespace=named.namespace,
                name=named.name,
                uid=check.uid,
            )
            await self._event_recorder.write(kind, event, about)

        await bounded(AT_ONCE, emit, warning.checks)
        return WarnOfLongUpgradeResult()


def _pausable(reference: CheckReference, found: Object, annotations: PauseAnnotations) -> PausableCheck:
    return PausableCheck.of(reference, ObjectMetadata.model_validate(found["metadata"]), annotations)


def _is_as_decided_on(patch: PausePatch, found: PausableCheck) -> bool:
    """True if the patch may be written; False: the pause is not ours.

    Raises:
        NotFound: another check has its name.
        Conflict: it changed since it was seen.

    """
    if found.uid != patch.uid:
        raise NotFound(f"{patch.reference} has another uid now: {found.uid}.")
    if found.resource_version != patch.resource_version:
        raise Conflict(f"{patch.reference} changed since it was seen.")
    return found.admits(patch.action)


def _body(patch: PausePatch, annotations: PauseAnnotations) -> Object:
    metadata = {
        "uid": patch.uid,
        "resourceVersion": patch.resource_version,
        "annotations": annotations.patch(PauseAction(patch.action), patch.resource_version),
    }
    return {"metadata": metadata}


def _refused(patch: PausePatch, why: str) -> PauseAnswer:
    return PauseAnswer(uid=patch.uid, outcome=WriteOutcome.REFUSED, why=why)


def _failed(patch: PausePatch, tried: AttemptFailure) -> PauseAnswer:
    return PauseAnswer(
        uid=patch.uid,
        outcome=_outcome(tried),
        why=tried.why,
        is_refused=tried.is_refused,
        wait_seconds=tried.wait_seconds,
    )


def _outcome(failure: AttemptFailure) -> WriteOutcome:
    match failure.error:
        case Conflict():
            return WriteOutcome.CONFLICT
        case KindUnknown() | Unauthorized() | RequestRefused() | TooManyRequests():
            return WriteOutcome.REFUSED
        case NotFound():
            return WriteOutcome.GONE
    return WriteOutcome.FAILED
