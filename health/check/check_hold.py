"""CheckHolds: the holds of one check as a whole at one moment, with the way in which its API reports each.

`health/gate/check_holds.py` has the table of the holds. Answers to incidents, status, Events and storms read
its result from here, so that they name no hold of the table.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from health.cluster.cluster_context import CheckProblem
from health.model.observation import Hold, HoldReason
from objects.event import Severity


@dataclass(frozen=True)
class HoldReport:
    """How a hold is reported besides the status, which names the first hold of a check (rule 55)."""

    event: Severity | None = Severity.WARNING
    """The type of its Event; None: it has no Event, or its kind of check has one of its own for it."""
    is_brief: bool = False
    """True for a hold that is likely to end soon: targets keep their Events, or they would be repeated."""
    prevents_storms: bool = True
    """True if no storm begins meanwhile, because the hold keeps back the targets without the threshold."""
    hides_targets: bool = False
    """True if the targets are unknown meanwhile, so that numbers in the status stay."""


ORDINARY_REPORT = HoldReport()


@dataclass(frozen=True)
class CheckHold:
    """One hold of a check as a whole."""

    hold: Hold
    report: HoldReport
    version: str = ""
    """Distinguishes it from an earlier hold with the same words."""


@dataclass(frozen=True)
class CheckHolds:
    """All holds of a check as a whole, in the order of the table; the default is none."""

    found: tuple[CheckHold, ...] = ()
    problem: CheckProblem | None = None
    """The problem that disables the check."""
    is_fully_paused: bool = False
    """True if the pause also stops clean-up and marks, so that nothing is written (rule 7)."""
    reported_at: datetime | None = None
    """When a hold that is not reported yet is reported; None: all are."""

    @property
    def first(self) -> Hold | None:
        """The hold that incidents are answered and the status names."""
        return self.found[0].hold if self.found else None

    @property
    def suppress_target_events(self) -> bool:
        """True if the check has one Event and its targets have none, because all are held (rule 6)."""
        return any(not found.report.is_brief for found in self.found)

    @property
    def prevent_storms(self) -> bool:
        return any(found.report.prevents_storms for found in self.found)

    @property
    def hiding_targets(self) -> Hold | None:
        """The first hold during which the targets are unknown."""
        return next((found.hold for found in self.found if found.report.hides_targets), None)

    def of(self, reason: HoldReason) -> Hold | None:
        return next((found.hold for found in self.found if found.hold.reason is reason), None)

    def events(self) -> Iterator[tuple[CheckHold, Severity]]:
        """The holds that have an Event, with its type."""
        return ((found, found.report.event) for found in self.found if found.report.event is not None)

    def shown(self, hold: Hold) -> CheckProblem:
        """Reason and message of a hold in conditions, which show a problem by its own reason."""
        if hold.reason is HoldReason.DISABLED and self.problem is not None:
            return self.problem
        return CheckProblem(hold.reason, hold.message)


NO_HOLDS = CheckHolds()
