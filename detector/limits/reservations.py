"""Reservations: admissions whose remediation is not seen yet.

A reservation lasts until the remediation is seen, or until the state is proven to be younger than anything
that the admission can have caused: then the remediation will not appear any more.
"""

from collections.abc import Callable, Iterator, KeysView
from dataclasses import dataclass
from datetime import datetime, timedelta

from detector.state.in_flight import Remediated
from health.model.references import CheckReference, IncidentReference
from health.policy.limits import LimitedRemediation
from workflows.contracts import ACT, CLOCK_TOLERANCE, FRESH

LIVES = FRESH + CLOCK_TOLERANCE + ACT.attempt
"""After this time an admission can have no further effect: no act writes on an older one or runs longer."""

Proves = Callable[[CheckReference, timedelta], bool]
"""Returns whether every source of a check was confirmed within the given time."""


@dataclass(frozen=True)
class Reserved:
    """An admission whose remediation may be starting now."""

    incident: IncidentReference
    since: datetime
    remediation: LimitedRemediation


class Reservations:
    """The reservations of the leading detector, by target."""

    def __init__(self, proves: Proves) -> None:
        self._proves = proves
        self._reserved: dict[Remediated, Reserved] = {}
        """In the order of admission, oldest first."""

    def reserve(self, one: Reserved) -> None:
        """Reserve for a target, in place of an earlier reservation."""
        key = Remediated.of(one.incident)
        self._reserved.pop(key, None)
        self._reserved[key] = one

    def of(self, incident: IncidentReference) -> Reserved | None:
        """The reservation of an incident; None without one."""
        found = self._reserved.get(Remediated.of(incident))
        return found if found is not None and found.incident == incident else None

    def at(self, remediated: Remediated) -> Reserved | None:
        return self._reserved.get(remediated)

    def targets(self) -> KeysView[Remediated]:
        return self._reserved.keys()

    def take(self, remediated: Remediated) -> Reserved | None:
        """Remove and return the reservation of a remediation that is seen now."""
        return self._reserved.pop(remediated, None)

    def clear(self) -> tuple[Remediated, ...]:
        """Forget all reservations; returns the targets that had one."""
        targets = tuple(self._reserved)
        self._reserved.clear()
        return targets

    def pop_settled(self, now: datetime) -> Iterator[Reserved]:
        """Remove and return reservations whose remediation cannot appear any more."""
        unproven = set()  # later reservations of the same check are not proven either
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
