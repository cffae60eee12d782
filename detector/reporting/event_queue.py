"""EventQueue: writes the Events of one check, beside its remediations and its status.

`PolicyReporter` writes those about the policy.

A storm causes two Events for each node. They are written at a pace that all checks share, so that they do not
compete with the requests. An Event that cannot be written is retried, and does not delay other checks.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from datetime import datetime

from health.kinds.registry import CHECK_KINDS
from health.model.references import CheckReference
from health.policy.policy import policy_subject
from health.policy.policy_in_force import PolicyInForce
from kube.client import Client
from kube.errors import KubernetesError, retry_after
from kube.events import Events
from kube.rate_limiter import RateLimiter
from objects.event import Event, InvolvedObject
from runtime.process_names import DETECTOR

_log = logging.getLogger(__name__)

TRY_AGAIN_SECONDS = 1.0


async def write_or_wait(events: Events, event: Event, about: InvolvedObject, now: datetime) -> bool:
    """True if the Event was written; False after a wait, until it may be written again."""
    try:
        await events.write(event, about, now)
    except KubernetesError as error:
        _log.warning("Event not written yet", extra={"subject": about, "reason": error.message})
        await asyncio.sleep(retry_after(error).total_seconds() + TRY_AGAIN_SECONDS)
        return False
    return True


class EventQueue:
    """Writes the Events of one check while its task runs."""

    def __init__(
        self,
        client: Client,
        instance: str,
        reference: CheckReference,
        rate_limiter: RateLimiter,
        now: Callable[[], datetime],
    ) -> None:
        self._kind = CHECK_KINDS[reference.group_kind]
        self._reference = reference
        self._events = Events(client, self._kind.component, instance)
        self._rate_limiter = rate_limiter
        self._now = now
        self._unwritten: dict[str, tuple[Event, InvolvedObject]] = {}
        self._filled = asyncio.Event()

    def emit(self, notes: Iterable[Event], uid: str) -> None:
        """Add Events about the check with this uid; an Event that waits already is written once."""
        check = self._reference
        of_check = InvolvedObject(
            api_version=self._kind.api_version,
            kind=check.kind,
            namespace=check.namespace,
            name=check.name,
            uid=uid,
        )
        for note in notes:
            self._unwritten[note.seed] = (note, note.subject or of_check)
            self._filled.set()

    def forget(self) -> None:
        """Drop the waiting Events: from now on nothing may be written for the check."""
        self._unwritten.clear()

    async def run(self) -> None:
        """Write Events at the shared rate until cancelled."""
        while True:
            await self._filled.wait()
            while self._unwritten:
                await self._rate_limiter.acquire()
                if not self._unwritten:  # dropped meanwhile
                    break
                event, about = next(iter(self._unwritten.values()))
                if await write_or_wait(self._events, event, about, self._now()):
                    self._unwritten.pop(event.seed, None)
            self._filled.clear()


class PolicyReporter:
    """Emits Events on the ConfigMap about each of its edits, or on a missing policy, as the leader.

    Each edit is reported once, by whichever leader: the name of its Event is derived from the edit.
    """

    def __init__(
        self,
        client: Client,
        instance: str,
        namespace: str,
        policy: Callable[[], PolicyInForce],
        now: Callable[[], datetime],
    ) -> None:
        """`namespace` is where the ConfigMap is expected."""
        self._missing = policy_subject(namespace)
        self._events = Events(client, DETECTOR, instance)
        self._policy = policy
        self._now = now
        self._emitted = ""
        """The seed of the latest Event."""
        self._changed = asyncio.Event()

    def changed(self) -> None:
        """Check soon whether there is an Event to emit."""
        self._changed.set()

    async def lead(self) -> None:
        self._changed.set()
        while True:
            await self._changed.wait()
            self._changed.clear()
            policy = self._policy()
            about = policy.stored.subject if policy.stored else self._missing
            if (policy.stored or policy.is_missing) and policy.event.seed != self._emitted:
                if await write_or_wait(self._events, policy.event, about, self._now()):
                    self._emitted = policy.event.seed
                else:
                    self._changed.set()
