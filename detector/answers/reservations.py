"""Reservations: what was admitted, and may be beginning without anybody seeing it yet.

Each lasts until its remediation is seen, or until the state is proven to be younger than anything that the
admission can have made: of that nothing will be seen any more.
"""

from collections.abc import Callable, Iterator, KeysView
from dataclasses import dataclass
from datetime import datetime, timedelta

from detector.state.in_flight import Remediated
from health.gate.limits import Remediation
from health.model.references import CheckReference, IncidentReference
from workflows.contracts import ACT, CLOCK_TOLERANCE, FRESH

LIVES = FRESH + CLOCK_TOLERANCE + ACT.attempt
"""What an admission leads to is written by then: no act writes on an older one, and none lasts longer."""

Proves = Callable[[CheckReference, timedelta], bool]
"""Whether all that matters to a check was proven, within the time given, to be as it is seen."""


@dataclass(frozen=True)
class Reserved:
    """One that may be beginning now."""

    incident: IncidentReference
    since: datetime
    remediation: Remediation


class Reservations:
    """Those of the detector that leads."""

    def __init__(self, proves: Proves) -> None:
        self._proves = proves
        self._reserved: dict[Remediated, Reserved] = {}
        """The oldest first."""

    def reserve(self, one: Reserved) -> None:
        """Reserve one; one of the same target that was reserved before is reserved anew."""
        key = Remediated.of(one.incident)
        self._reserved.pop(key, None)
        self._reserved[key] = one

    def of(self, incident: IncidentReference) -> Reserved | None:
        """What an incident has."""
        found = self._reserved.get(Remediated.of(incident))
        return found if found is not None and found.incident == incident else None

    def at(self, remediated: Remediated) -> Reserved | None:
        """What is reserved for a target."""
        return self._reserved.get(remediated)

    def targets(self) -> KeysView[Remediated]:
        """The targets of all."""
        return self._reserved.keys()

    def take(self, remediated: Remediated) -> Reserved | None:
        """What was reserved for a remediation that is seen now."""
        return self._reserved.pop(remediated, None)

    def clear(self) -> tuple[Remediated, ...]:
        """Forget all; returns their targets."""
        targets = tuple(self._reserved)
        self._reserved.clear()
        return targets

    def pop_settled(self, now: datetime) -> Iterator[Reserved]:
        """Those of which nothing will be seen any more; they are forgotten."""
        unproven = set()  # what is reserved later for the same check is not proven either
        for remediated, reserved in list(self._reserved.items()):
            if remediated.check in unproven:
                continue
            if self._is_proven_after(reserved.since + LIVES, remediated.check, now):
                del self._reserved[remediated]
                yield reserved
            else:
                unproven.add(remediated.check)

    def _is_proven_after(self, time: datetime, check: CheckReference, now: datetime) -> bool:
        return now > time and self._proves(check, now - time)
