"""Receivers of notifications, as the policy names them. Pure.

A receiver refers to its address by the name of a file: the worker reads it in a directory that is mounted
from a Secret. So neither the policy nor Temporal has the address, which has the token of the service.
"""

import re
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field, StrictInt, StrictStr
from pydantic.alias_generators import to_camel

from health.model.notification import DEFAULT_EVENTS, NotificationEvent, WantedEvents
from objects.bounds import Bounded
from objects.durations import WrittenDuration, within
from objects.field_problem import SaysItsValueError
from objects.patterns import LABEL

MOST_RECEIVERS = 10
SHORTEST_HOLD, LONGEST_HOLD = timedelta(minutes=1), timedelta(hours=168)
MOST_PER_MINUTE = 600
_FILE = re.compile(r"[A-Za-z0-9][-._A-Za-z0-9]{0,252}")
"""A key of a Secret that begins with a letter or digit, so it is no path, and not `..`."""


def _file(name: str) -> str:
    if not _FILE.fullmatch(name):  # an address may be there by mistake, and is a secret
        raise SaysItsValueError("must be the name of a file (a key of a Secret), and no path or address")
    return name


def _without_duplicates(events: tuple[NotificationEvent, ...]) -> tuple[NotificationEvent, ...]:
    twice = next((event for event in events if events.count(event) > 1), None)
    if twice is not None:
        raise SaysItsValueError(f"must name each event once, and names {twice} {events.count(twice)} times")
    return events


class Receiver(Bounded):
    """One receiver of notifications, as the policy defines it."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    name: Annotated[StrictStr, LABEL]
    url_file: Annotated[StrictStr, AfterValidator(_file)]
    """The name of the file that contains its apprise URL."""
    events: Annotated[
        tuple[NotificationEvent, ...], Field(min_length=1), AfterValidator(_without_duplicates)
    ] = DEFAULT_EVENTS
    held_for: Annotated[WrittenDuration, within(SHORTEST_HOLD, LONGEST_HOLD)] = timedelta(minutes=30)
    max_per_minute: Annotated[StrictInt, Field(ge=1, le=MOST_PER_MINUTE)] = 10
    """The most messages that one worker sends to it; further ones are summarized."""

    @property
    def wanted(self) -> WantedEvents:
        """The part that goes to incidents, without its address."""
        return WantedEvents(
            receiver=self.name, events=self.events, held_for_seconds=self.held_for.total_seconds()
        )
