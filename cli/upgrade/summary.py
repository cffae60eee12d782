"""UpgradeSummary: one upgrade pause as a command sees it, and how each of its checks stands. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from health.model.references import CheckReference
from health.upgrade.memory import CheckPauseState, Handled
from workflows.upgrade_contracts import UpgradePauseState

AWAITED = "Awaited"
"""The pause has not come to the check yet; until then the upgrade itself holds it."""
_SINCE_UNPAUSED = {CheckPauseState.UNPAUSED, CheckPauseState.UNPAUSED_BY_OTHERS}


@dataclass(frozen=True)
class CheckStanding:
    """One check."""

    check: CheckReference
    uid: str
    standing: CheckPauseState | str
    """How it stands; AWAITED where nothing was done with it."""
    since: datetime | None
    """When it was paused, or unpaused; None: nobody knows."""
    why: str
    identity: str
    """Who had it paused or unpaused; "": no order."""
    is_deleted: bool = False


@dataclass(frozen=True)
class UpgradeSummary:
    """One run of its workflow."""

    cluster: str
    workflow_id: str
    run_id: str
    status: str
    """Temporal's word."""
    started: datetime
    closed: datetime | None = None
    state: UpgradePauseState | None = None
    """What it says of itself, or ended with; None: see `problem`."""
    problem: str = ""
    is_unreadable: bool = False
    """Whether that is because it is encrypted, and we lack the key."""

    @property
    def is_open(self) -> bool:
        """Whether it runs."""
        return self.closed is None

    @property
    def known_checks(self) -> tuple[CheckReference, ...]:
        """Those that upgrades pause, as far as the detector said."""
        seen = self.state.observed if self.state else None
        return tuple(one.reference for one in seen.checks) if seen else ()

    @property
    def standings(self) -> list[CheckStanding]:
        """Of each check, by name."""
        return sorted(self._standings(), key=lambda one: (str(one.check), one.uid))

    def _standings(self) -> Iterator[CheckStanding]:
        if self.state is None:
            return
        seen = self.state.observed.checks if self.state.observed else ()
        for one in self.state.handled:
            yield _standing(one)
        handled = {one.uid for one in self.state.handled}
        for check in seen:
            if check.uid not in handled:
                why = "the upgrade pause has not come to it yet"
                yield CheckStanding(check.reference, check.uid, AWAITED, None, why, "")


def _standing(one: Handled) -> CheckStanding:
    since = one.unpaused_at if one.how in _SINCE_UNPAUSED else one.paused_at
    return CheckStanding(one.reference, one.uid, one.how, since, _why(one), one.identity, one.is_deleted)


def _why(one: Handled) -> str:
    if one.how is CheckPauseState.PAUSED:
        return one.reason or "the upgrade"
    if one.how is CheckPauseState.UNPAUSED:
        return one.reason or "the upgrade is over"
    return "somebody else"
