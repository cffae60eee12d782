"""PolicyReporter: emits Events on the ConfigMap about each of its edits, or on a missing policy.

Each edit is reported once, by whichever leader: the name of its Event is derived from the edit.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime

from detector.reporting.event_queue import write_or_wait
from health.policy.policy import policy_subject
from health.policy.policy_in_force import PolicyInForce
from kube.client import Client
from kube.events import Events
from runtime.process_names import DETECTOR


class PolicyReporter:
    """Reports on the policy while this detector is the leader."""

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
