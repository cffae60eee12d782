"""Writes core v1 Events under deterministic names, so that retries do not repeat an Event.

The correlation of client-go would aggregate and drop Events; deterministic names make it unnecessary.
"""

import hashlib
from datetime import datetime

from kube.client import Client
from kube.errors import AlreadyExists
from kube.resource import EVENTS, Object
from objects.event import Event, InvolvedObject
from objects.short_text import cut_to_length
from objects.timestamps import stamp

_LONGEST_NAME = 253
_LONGEST_MESSAGE = 1024  # in characters, as in client-go's recorder
_HASH_DIGITS = 16
_NAMESPACE_OF_CLUSTER_SCOPED = "default"  # the only namespace that the API server accepts for them


class Events:
    """Writes Events in the name of one component."""

    def __init__(self, client: Client, component: str, instance: str) -> None:
        self._client = client
        self._component = component
        self._instance = instance

    async def write(self, event: Event, about: InvolvedObject, now: datetime) -> None:
        """Create the Event with `about` as its object, unless it exists.

        Raises KubernetesError: the API server did not create it.
        """
        was_free = await self._create(event_name(event.seed, about), event, about, now)
        if not was_free and event.again:
            await self._create(event_name(f"{event.seed}\n{event.again}", about), event, about, now)

    async def _create(self, name: str, event: Event, about: InvolvedObject, now: datetime) -> bool:
        """True if the name of the Event was free."""
        namespace = about.namespace or _NAMESPACE_OF_CLUSTER_SCOPED
        involved = {
            "apiVersion": about.api_version,
            "kind": about.kind,
            "namespace": about.namespace,
            "name": about.name,
            "uid": about.uid,
        }
        body: Object = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": {key: value for key, value in involved.items() if value},
            "type": event.severity.value,
            "reason": event.reason,
            "message": cut_to_length(event.message, _LONGEST_MESSAGE),
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": self._instance,
            "firstTimestamp": stamp(now),
            "lastTimestamp": stamp(now),
            "count": 1,
            **({"action": event.action} if event.action else {}),
        }
        try:
            await self._client.create(EVENTS, body, namespace)
        except AlreadyExists:
            return False
        return True


def event_name(seed: str, about: InvolvedObject) -> str:
    """The name of the Event: `<object>.<hash of the seed>`."""
    digits = hashlib.sha256(seed.encode()).hexdigest()[:_HASH_DIGITS]
    stem = about.name[: _LONGEST_NAME - _HASH_DIGITS - 1].rstrip(".-")
    return f"{stem}.{digits}"
