"""Retries: what an incident could not do so far and tries again, for people and scripts."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from health.model.moves import Phase
from workflows.messages import State


@dataclass(frozen=True)
class Retry:
    """One thing that failed, up to now."""

    what: str
    """"act", or a chore: "delete Reboot/ns/node-1"."""
    why: str
    """The latest answer."""
    failures: int
    """In a row."""
    since: datetime
    """The first of them."""
    next_try: datetime


def retries(state: State) -> Iterator[Retry]:
    """Its act first, then its chores by their next try."""
    failing = state.memory.failing
    if failing is not None and state.phase is Phase.HELD:
        yield Retry("act", str(failing.hold), failing.count, failing.since, failing.next_act)
    for note in sorted(state.memory.notes, key=lambda one: one.next_try):
        yield Retry(note.what, note.reason, note.failures, note.since, note.next_try)
