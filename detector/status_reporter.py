"""StatusReporter: writes status and Events of one check, on change, at most two writes a second.

A write carries all that changed since the last one. What is published changes by changes of the picture and
by deadlines that pass; the reporter wakes for both and for nothing else. It is off the path of every
remediation: whatever fails here is tried again and holds nobody up.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from detector.picture import Picture
from detector.sighting import sighting
from detector.sources import Sources
from detector.storms import Storms
from health.announcement import Announcement
from health.check_sight import CheckSight
from health.kinds import CHECK_KINDS
from health.references import CheckReference
from health.verdict import Health
from kube.client import Client
from kube.errors import KubernetesError, NotFound
from kube.events import EventNote, Events, ObjectReference
from kube.resource import resource_of

BETWEEN_WRITES = timedelta(seconds=0.5)
GATHER = timedelta(seconds=0.2)
"""Changes come in groups (a deadline, and the request that it leads to): one write carries the group."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Desk:
    """What all reporters share."""

    client: Client
    picture: Picture
    sources: Sources
    storms: Storms
    instance: str
    now: Callable[[], datetime]


class StatusReporter:
    """Reports on one check for as long as it is in the picture."""

    def __init__(self, desk: Desk, reference: CheckReference) -> None:
        self._desk = desk
        self._reference = reference
        self._kind = CHECK_KINDS[reference.kind]
        self._events = Events(desk.client, self._kind.component, desk.instance)
        self._before: CheckSight | None = None
        self._untold: dict[str, Announcement] = {}
        self.changed = asyncio.Event()
        """Set it when something about the check may have changed."""

    async def run(self) -> None:
        """Report until the check is gone."""
        while True:
            await asyncio.sleep(GATHER.total_seconds())
            await self._desk.sources.wait_kinds(self._reference)
            self.changed.clear()
            sight = self._sight()
            if sight is None:
                return
            await self._report(sight)
            await asyncio.sleep((BETWEEN_WRITES - GATHER).total_seconds())
            await self._wait(_next_deadline(sight))

    def _sight(self) -> CheckSight | None:
        """What is to be reported; None if the check is gone. Another one of its name begins anew."""
        storm = self._desk.storms.of(self._reference)
        sight = sighting(self._desk.picture, self._reference, storm, self._desk.now())
        if sight is not None and self._before is not None and sight.uid != self._before.uid:
            self._before = None
        return sight

    async def _report(self, sight: CheckSight) -> None:
        stored, now = self._desk.picture.checks[self._reference].record, self._desk.now()
        for note in self._kind.announcements(self._before, sight, stored.status, now):
            self._untold[note.seed] = note
        self._before = sight
        try:
            patch = self._kind.status_patch(sight, stored.status, now)
            if patch:
                await self._write(patch, stored.metadata.resource_version)
            await self._announce(stored.metadata.uid)
        except NotFound:
            return
        except KubernetesError as error:
            _log.warning("status not written yet", extra={"check": self._reference, "reason": error.message})
            self.changed.set()

    async def _write(self, status: dict[str, object], resource_version: str) -> None:
        kind = self._kind
        resource = resource_of(kind)
        # The version makes it conditional: what it was computed from must be what is there.
        body = {"metadata": {"resourceVersion": resource_version}, "status": status}
        await self._desk.client.merge_patch(
            resource, self._reference.name, body, self._reference.namespace, subresource="status"
        )

    async def _announce(self, uid: str) -> None:
        regarding = ObjectReference(
            self._kind.api_version,
            self._reference.kind,
            self._reference.namespace,
            self._reference.name,
            uid,
        )
        for seed, note in list(self._untold.items()):
            event = EventNote(seed, note.severity.value, note.reason, note.message, regarding)
            await self._events.write(event, self._desk.now())
            del self._untold[seed]

    async def _wait(self, deadline: datetime | None) -> None:
        timeout = None
        if deadline is not None:
            timeout = max(0.0, (deadline - self._desk.now()).total_seconds()) + 0.001
        try:
            async with asyncio.timeout(timeout):
                await self.changed.wait()
        except TimeoutError:
            return


def _next_deadline(sight: CheckSight) -> datetime | None:
    """When a target's timer or step runs out next, and so is to be published."""
    targets = sight.targets.values()
    waiting = [target.verdict.deadline for target in targets if target.verdict.health is Health.WAITING]
    steps = [target.step_ends for target in targets]
    return min((deadline for deadline in (*waiting, *steps) if deadline is not None), default=None)
