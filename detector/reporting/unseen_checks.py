"""UnseenChecks: finds checks with stale sources, so that their status reports it (rule 55).

A cache grows old without an event, so all checks are looked at every five seconds. A check counts as unseen
from the second look on, so that a flicker, or the moment after a start, causes no write. The message of the
first look stays while the reasons are the same: it contains an age, and the status is written on transitions
only.
"""

import asyncio
from collections.abc import Callable
from dataclasses import fields

from detector.state.cluster_state import ClusterState
from health.gate.check_holds import ALL_SEEN, Unseen
from health.model.references import CheckReference

LOOK_AGAIN_SECONDS = 5.0


class UnseenChecks:
    """Looks for stale sources of checks while this detector is the leader."""

    def __init__(self, cluster_state: ClusterState, unseen: Callable[[CheckReference], Unseen]) -> None:
        self._cluster_state = cluster_state
        self._unseen_now = unseen
        self._looked: dict[CheckReference, Unseen] = {}
        """The result of the latest look."""
        self._unseen: dict[CheckReference, Unseen] = {}

    def of(self, check: CheckReference) -> Unseen:
        """The stale sources that the status of the check reports."""
        return self._unseen.get(check, ALL_SEEN)

    async def lead(self, changed: Callable[[CheckReference, None], None]) -> None:
        """Look until cancelled; `changed` is called for each check whose status has to change."""
        self._looked.clear()
        self._unseen.clear()
        while True:
            for check in self.look():
                changed(check, None)
            await asyncio.sleep(LOOK_AGAIN_SECONDS)

    def look(self) -> list[CheckReference]:
        """Look once at all checks; returns those whose status has to change."""
        for gone in (self._looked.keys() | self._unseen.keys()) - self._cluster_state.checks.keys():
            self._looked.pop(gone, None)
            self._unseen.pop(gone, None)
        return [check for check in tuple(self._cluster_state.checks) if self._look_at(check)]

    def _look_at(self, check: CheckReference) -> bool:
        with self._cluster_state.guard.item("status", check):
            reported, before, now = self.of(check), self._looked.get(check, ALL_SEEN), self._unseen_now(check)
            self._looked[check] = now
            if _reasons(now) == _reasons(reported) or (now != ALL_SEEN and _reasons(now) != _reasons(before)):
                return False
            self._unseen[check] = now
            return True
        return False


def _reasons(unseen: Unseen) -> tuple[object, ...]:
    values = (getattr(unseen, field.name) for field in fields(unseen))
    return tuple(getattr(value, "reason", bool(value)) for value in values)
