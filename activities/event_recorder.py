"""EventRecorder: writes Events about targets and checks after an act, without delaying its answer.

An Event that cannot be written in time, normally half a second, is dropped, because the answer of an act
must not wait for the Event.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

from temporalio import activity

from health.kinds.check_kind import CheckKind
from health.kinds.registry import CHECK_KINDS
from health.model.references import IncidentReference
from kube.client import Client
from kube.errors import KubernetesError
from kube.events import Events
from objects.event import Event, InvolvedObject

LONGEST = timedelta(milliseconds=500)


class EventRecorder:
    """Writes Events with the component name of the kind of check."""

    def __init__(
        self, client: Client, instance: str, now: Callable[[], datetime], longest: timedelta = LONGEST
    ) -> None:
        self._client = client
        self._instance = instance
        self._now = now
        self._longest = longest

    async def emit(self, incident: IncidentReference, event: Event) -> None:
        """Write the Event once, about its subject or else the target of `incident`; never raises."""
        kind = CHECK_KINDS[incident.check.group_kind]
        await self.write(kind, event, event.subject or kind.involved(incident.target))

    async def write(self, kind: CheckKind, event: Event, about: InvolvedObject) -> None:
        """Write the Event once, about this object, for a kind of check; never raises."""
        events = Events(self._client, kind.component, self._instance)
        try:
            async with asyncio.timeout(self._longest.total_seconds()):
                await events.write(event, about, self._now())
        except KubernetesError as error:
            activity.logger.warning("Event not written", extra={"reason": error.message})
        except TimeoutError:
            activity.logger.warning("Event not written", extra={"reason": "it took too long"})
