"""The activity `sync_pauses`: brings the annotations of all checks in line with the upgrade and the orders.

It lists the checks from the API server, in pages, and decides for each one by the live object
(`health.upgrade.decision`). A patch names the uid and the resourceVersion of the object that was decided on.
If the object changed meanwhile, it is read and decided again. Each check is written on its own, so one
failure stops no other write; the next sync tries it again.

A worker may be frozen at any moment. So right before each patch the age of the upgrade's state is tested, and
what is left then is put off to the next sync.
"""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.attempt import Attempt, AttemptFailure, Clock, heartbeats, waited_too_long
from activities.event_recorder import EventRecorder
from health.kinds.check_kind import CheckKind
from health.kinds.registry import CHECK_KINDS
from health.model.references import CheckReference
from health.upgrade.decision import CheckPauseState, PauseDecision, PauseMoment, decide, with_full_names
from health.upgrade.memory import PUT_OFF, CheckDone, SyncedChecks, summed_up
from health.upgrade.pausable_check import PausableCheck, PauseAnnotations
from kube.connection import ClusterConnection
from kube.decoding import Decoder
from kube.errors import Conflict, KindUnknown, NotFound
from kube.listing import Paging, list_all
from kube.rate_limiter import bounded
from kube.resource import Resource
from objects.event import Event, InvolvedObject, Severity
from objects.frozen import FrozenObject
from objects.metadata import ObjectMetadata
from workflows.upgrade_contracts import SYNC_PAUSES, SyncPausesInput

AT_ONCE = 20
"""Concurrent requests: 500 checks take a second or two, without starving other clients of the API server."""
FACTS_LAST = timedelta(seconds=20)
"""How long after its begin a sync writes by the state of the upgrade that it was given."""
TRIES = 3
"""How often a check is decided that others change at the same moment."""
LISTING = timedelta(seconds=1)
"""The precision of creation times, and of the API server's clock."""
TAKES_LONG = "UpgradeTakesLong"
"""The reason of the Warning Event."""
EVENT_TIMEOUT = timedelta(seconds=5)
"""The limit of one Event, which is written once: nothing depends on it."""
WARNS_WITHIN = timedelta(seconds=10)
"""The limit of the Events about all checks."""
PAGING = Paging(limit=500, timeout=timedelta(seconds=10))


class ListedCheck(FrozenObject):
    """The part of a check that is read from a list: its metadata."""

    metadata: ObjectMetadata


CHECKS = Decoder(ListedCheck)


@dataclass(frozen=True)
class PausableKind:
    """A kind of checks that upgrades pause, as this API server serves it."""

    kind: CheckKind
    resource: Resource
    annotations: PauseAnnotations

    def check(self, metadata: ObjectMetadata) -> PausableCheck:
        reference = CheckReference(
            kind=self.kind.kind, group=self.kind.group, namespace=metadata.namespace, name=metadata.name
        )
        return PausableCheck.of(reference, metadata, self.annotations)


@dataclass(frozen=True)
class FoundCheck:
    """One check as the API server listed it."""

    kind: PausableKind
    metadata: ObjectMetadata
    check: PausableCheck


class SyncPauses:
    """The activity `sync_pauses`, with its connection and clocks."""

    def __init__(self, connection: ClusterConnection, clock: Clock, event_recorder: EventRecorder) -> None:
        self._connection = connection
        self._clock = clock
        self._event_recorder = event_recorder

    @activity.defn(name=SYNC_PAUSES.name)
    async def sync_pauses(self, asked: SyncPausesInput) -> SyncedChecks:
        """List all checks, and write those that need it, each once."""
        attempt, began = Attempt(SYNC_PAUSES), self._clock.monotonic()
        if why := waited_too_long() or self._clock.too_old(asked.seen_at, began):
            raise ApplicationError(f"{why}: asking again")
        async with heartbeats():
            listed_at = (self._clock.now() - LISTING).replace(microsecond=0)
            found = await self._list()
            orders, refused = with_full_names(asked.moment.orders, [one.check for one in found])
            moment = replace(asked.moment, orders=orders)

            async def done(one: FoundCheck) -> CheckDone:
                writing = self._write(one, moment, lambda: self._clock.since(began) > FACTS_LAST)
                tried = await attempt.tried(f"pause {one.check.reference}", writing)
                if not isinstance(tried, AttemptFailure):
                    return tried
                return CheckDone(one.check, decide(one.check, moment), tried.why)

            all_done = await bounded(AT_ONCE, done, found)
            if asked.warning:
                await self._warn(asked.warning, moment, zip(found, all_done, strict=True))
        return summed_up(all_done, moment, refused, listed_at)

    async def _list(self) -> list[FoundCheck]:
        """All checks of all kinds; none of a kind that is not served."""
        found = []
        for kind in CHECK_KINDS.values():
            if kind.upgrade_pause is None:
                continue
            try:
                resource = await self._connection.discovery.first_served(kind)
            except KindUnknown:
                continue
            served = PausableKind(kind, resource, kind.upgrade_pause)
            listed = await list_all(self._connection.transport, resource.path(), CHECKS, (), PAGING)
            for undecodable in listed.undecodable:
                activity.logger.warning("a check cannot be read", extra={"problem": str(undecodable)})
            found += [
                FoundCheck(served, record.metadata, served.check(record.metadata))
                for record in listed.records
            ]
        return found

    async def _write(
        self, found: FoundCheck, moment: PauseMoment, is_too_late: Callable[[], bool]
    ) -> CheckDone:
        """Decide and write until no other writer comes in between.

        Raises:
            Conflict: another writer came in between each time.

        """
        client, kind, metadata = self._connection.client, found.kind, found.metadata
        for _ in range(TRIES):
            decision = decide(kind.check(metadata), moment)
            if decision.action is None:
                return CheckDone(found.check, decision)
            if is_too_late():
                return CheckDone(found.check, decision, PUT_OFF)
            body = {
                "metadata": {
                    "uid": metadata.uid,
                    "resourceVersion": metadata.resource_version,
                    "annotations": kind.annotations.patch(decision.action, moment.began),
                }
            }
            try:
                await client.merge_patch(kind.resource, metadata.name, body, metadata.namespace)
            except KindUnknown:
                raise
            except NotFound:
                return CheckDone(found.check, PauseDecision())
            except Conflict:
                live = await client.get(kind.resource, metadata.name, metadata.namespace)
                metadata = ObjectMetadata.model_validate(live["metadata"])
            else:
                return CheckDone(found.check, decision)
        raise Conflict(f"{found.check.reference} was changed by others {TRIES} times.")

    async def _warn(
        self, message: str, moment: PauseMoment, all_done: Iterable[tuple[FoundCheck, CheckDone]]
    ) -> None:
        """Write an Event about each check that is paused by us, once for each upgrade."""
        event = Event(
            seed=f"{TAKES_LONG} {moment.began.isoformat()}",
            severity=Severity.WARNING,
            reason=TAKES_LONG,
            message=message,
        )

        async def emit(found: FoundCheck) -> None:
            kind, named = found.kind.kind, found.check
            about = InvolvedObject(
                api_version=kind.api_version,
                kind=named.reference.kind,
                namespace=named.reference.namespace,
                name=named.reference.name,
                uid=named.uid,
            )
            await self._event_recorder.write(kind, event, about)

        paused = [found for found, done in all_done if done.state is CheckPauseState.PAUSED]
        with suppress(TimeoutError):
            async with asyncio.timeout(WARNS_WITHIN.total_seconds()):
                await bounded(AT_ONCE, emit, paused)
