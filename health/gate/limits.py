"""Limits: how many remediations may be under way, and how many may begin within an hour.

They are chosen for the whole cluster by the policy, and for one check by annotations; nothing is limited that
nobody chose. A remediation begins with its first request, deletion or mark, and is under way until nothing of
that is left; the next step of an escalation begins nothing. One must satisfy every limit that bears on it, so
the most restrictive wins. `limit_usage.py` counts, `selection.py` says which of the waiting targets go first.

A target whose label nobody can tell, as its Node is gone, counts for every value of the label: the number for
a value is never above what was chosen.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from health.model.observation import Hold, HoldReason
from health.model.references import CheckReference
from objects.bounds import Bounded

HOUR = timedelta(hours=1)
MOST = 100_000
_QUALIFIED_NAME = re.compile(
    r"([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
)


def is_qualified_name(name: str) -> bool:
    """Whether Kubernetes takes `name` for the key of a label or a taint."""
    return _QUALIFIED_NAME.fullmatch(name) is not None


def label_name(name: str) -> str:
    """`name`, if a label may be called so."""
    if not is_qualified_name(name):
        raise ValueError(f"{name!r} is no name of a label")
    return name


Count = Annotated[int, Field(strict=True, ge=1, le=MOST)]
"""None at all would be a stop, which has a command of its own."""
ByLabel = Mapping[Annotated[str, AfterValidator(label_name)], Count]


class Limits(Bounded):
    """What is chosen in one place."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    max_in_flight: Count | None = None
    """Remediations that are under way."""
    max_in_flight_by_label: ByLabel = Field(default_factory=dict)
    """The same for each value of a label of the Node, by the name of the label."""
    max_starts_per_hour: Count | None = None

    @property
    def is_off(self) -> bool:
        """Whether nothing is limited."""
        return not (self.max_in_flight or self.max_in_flight_by_label or self.max_starts_per_hour)

    def __str__(self) -> str:
        """The same text for the same limits; "" where nothing is limited."""
        chosen = {
            "maxInFlight": self.max_in_flight,
            **{f"maxInFlight[{label}]": most for label, most in sorted(self.max_in_flight_by_label.items())},
            "maxStartsPerHour": self.max_starts_per_hour,
        }
        return ", ".join(f"{name}={number}" for name, number in chosen.items() if number is not None)


NO_LIMITS = Limits()


@dataclass(frozen=True)
class LimitScope:
    """Limits, and the remediations that count for them."""

    limits: Limits
    chosen_by: str
    """In words."""
    check: CheckReference | None = None
    """That of the remediations; None: of all checks."""


ScopesOf = Callable[[CheckReference], Iterable[LimitScope]]
"""Which limits bear on a remediation of a check."""


@dataclass(frozen=True)
class Remediation:
    """One that is under way, or is to begin."""

    check: CheckReference
    labels: Mapping[str, str | None]
    """Of its Node; "" where it has no such label, None or missing where nobody can tell."""

    @property
    def counts_as(self) -> tuple[CheckReference, frozenset[tuple[str, str | None]]]:
        """Equal for those that the same limits bear on in the same way."""
        return self.check, frozenset(self.labels.items())


Place = tuple[datetime, str]
"""In the line: the earlier, the sooner."""


@dataclass(frozen=True)
class Waiting:
    """A target that would be remediated but for the limits."""

    since: datetime
    """Since when it is unhealthy."""
    name: str
    """Settles who comes first of those that failed in the same second."""
    remediation: Remediation

    @property
    def place(self) -> Place:
        """Its place in the line: the earlier, the sooner."""
        return self.since, self.name


def limit_hold(words: str, ask_again_seconds: float) -> Hold:
    """What it means for an incident that it would be one too many, or that nobody knows whether."""
    return Hold(reason=HoldReason.LIMIT, message=words, ask_again_seconds=max(1.0, ask_again_seconds))
