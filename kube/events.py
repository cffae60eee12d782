"""Writes core v1 Events under deterministic names, so that retries do not repeat an Event.

The correlation of client-go would aggregate and drop Events; deterministic names make it unnecessary.
"""

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from kube.client import Client
from kube.errors import AlreadyExists
from kube.resource import EVENTS, Object
from objects.timestamps import stamp

_LONGEST_NAME = 253
_LONGEST_MESSAGE = 1024  # in characters, as in client-go's recorder
_HASH_DIGITS = 16
_NAMESPACE_OF_CLUSTER_SCOPED = "default"  # the only namespace that the API server accepts for them


@dataclass(frozen=True)
class ObjectReference:
    """The object that an Event is about, as its involvedObject."""

    api_version: str
    kind: str
    namespace: str
    """The namespace, or the empty string for a cluster-scoped object."""
    name: str
    uid: str


@dataclass(frozen=True)
class EventNote:
    """The content of an Event, before it has a name."""

    name_seed: str
    """Identifies the transition: equal seeds for one object give one Event."""
    type: Literal["Normal", "Warning"]
    reason: str
    message: str
    regarding: ObjectReference
    again: str = ""
    """Added to the seed if its name is taken by an Event for an earlier transition."""
    action: str = ""
    """The action in progress; "" is left out."""


class Events:
    """Writes Events in the name of one component."""

    def __init__(self, client: Client, component: str, instance: str) -> None:
        self._client = client
        self._component = component
        self._instance = instance

    async def write(self, note: EventNote, now: datetime) -> None:
        """Create the Event unless it exists; raises KubernetesError as the client does."""
        was_free = await self._create(note, now)
        if not was_free and note.again:
            await self._create(replace(note, name_seed=f"{note.name_seed}\n{note.again}"), now)

    async def _create(self, note: EventNote, now: datetime) -> bool:
        """True if the name of the Event was free."""
        namespace = note.regarding.namespace or _NAMESPACE_OF_CLUSTER_SCOPED
        try:
            await self._client.create(EVENTS, self._event(note, namespace, now), namespace)
        except AlreadyExists:
            return False
        return True

    def _event(self, note: EventNote, namespace: str, now: datetime) -> Object:
        action = {"action": note.action} if note.action else {}
        return action | {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": event_name(note), "namespace": namespace},
            "involvedObject": _reference(note.regarding),
            "type": note.type,
            "reason": note.reason,
            "message": _cut(note.message),
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": self._instance,
            "firstTimestamp": stamp(now),
            "lastTimestamp": stamp(now),
            "count": 1,
        }


def event_name(note: EventNote) -> str:
    """The name of the Event: `<object>.<hash of the seed>`."""
    digits = hashlib.sha256(note.name_seed.encode()).hexdigest()[:_HASH_DIGITS]
    stem = note.regarding.name[: _LONGEST_NAME - _HASH_DIGITS - 1].rstrip(".-")
    return f"{stem}.{digits}"


def _reference(regarding: ObjectReference) -> Object:
    whole = {
        "apiVersion": regarding.api_version,
        "kind": regarding.kind,
        "namespace": regarding.namespace,
        "name": regarding.name,
        "uid": regarding.uid,
    }
    return {key: value for key, value in whole.items() if value}


def _cut(message: str) -> str:
    return message if len(message) <= _LONGEST_MESSAGE else message[: _LONGEST_MESSAGE - 1] + "…"
