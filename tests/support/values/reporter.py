"""A stand-in for the status reporter, without its API server."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from health.check.check_snapshot import CheckSnapshot
from health.kinds.check_kind import CheckKind
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from objects.event import Event, Severity
from tests.support.values.builders import NOW


class Reporter:
    """Reports as the status reporter does: it emits each Event once, and then writes the status."""

    def __init__(self, kind: CheckKind = NODE_HEALTH_CHECK) -> None:
        self._kind = kind
        self.before: CheckSnapshot | None = None
        self.stored: dict[str, Any] = {}
        self.events: dict[str, Event] = {}
        self.led_until: datetime | None = None

    def sees(self, after: CheckSnapshot, now: datetime = NOW) -> list[tuple[Severity, str, str]]:
        """The new Events, without the copies of those about Nodes that the Nodes get."""
        new = self.tells(after, now)
        return [(one.severity, one.reason, one.message) for one in new if not _is_on_node(one)]

    def tells(self, after: CheckSnapshot, now: datetime = NOW) -> list[Event]:
        """The same, with all that they say."""
        after = replace(after, reported_until=self.led_until)
        notes = self._kind.events(self.before, after, self.stored, now)
        told = {note.seed: note for note in notes}
        names = {f"{seed}{note.again if seed in self.events else ''}": note for seed, note in told.items()}
        new = [note for name, note in names.items() if name not in self.events]
        self.events |= names
        self.stored |= self._kind.status_patch(after, self.stored, now)
        self.before = after
        return new

    def is_forgotten(self) -> None:
        """The API server has forgotten all Events, while the detector goes on."""
        self.events.clear()

    def restarts(self) -> None:
        self.before = None

    def restarts_much_later(self, led_until: datetime = NOW + timedelta(hours=2)) -> None:
        """When the API server has forgotten all Events; the leader before led until then."""
        self.restarts()
        self.events.clear()
        self.led_until = led_until


def _is_on_node(event: Event) -> bool:
    return event.subject is not None and event.subject.kind == "Node"
