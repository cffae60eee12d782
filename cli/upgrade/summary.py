"""UpgradeSummary: one upgrade pause with the state of each of its checks. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from health.model.references import CheckReference
from health.upgrade.memory import CheckPauseState, Handled
from workflows.upgrade_contracts import UpgradePauseState

AWAITED = "Awaited"
"""The pause has not reached the check yet; until then the upgrade itself holds it."""
_SINCE_UNPAUSED = {CheckPauseState.UNPAUSED, CheckPauseState.UNPAUSED_BY_OTHERS}


@dataclass(frozen=True, kw_only=True)
class CheckStanding:
    """The state of one check in an upgrade."""

    check: CheckReference
    uid: str
    standing: CheckPauseState | str
    """CheckPauseState it was handled; AWAITED if it was not yet."""
    since: datetime | None
    """When it was paused or unpaused; None if unknown."""
    why: str
    identity: str
    """The sender of the order to pause or unpause it; "" without an order."""
    is_deleted: bool = False


@dataclass(frozen=True, kw_only=True)
class UpgradeSummary:
    """One run of an upgrade pause, open or closed."""

    cluster: str
    workflow_id: str
    run_id: str
    status: str
    """Temporal's status, such as "Running"."""
    started: datetime
    closed: datetime | None = None
    state: UpgradePauseState | None = None
    """Its present or last state; None: see `problem`."""
    problem: str = ""
    is_unreadable: bool = False
    """Whether the key to decrypt its state is missing."""

    @property
    def is_open(self) -> bool:
        return self.closed is None

    @property
    def known_checks(self) -> tuple[CheckReference, ...]:
        """The checks that upgrades pause, as the detector observed them last."""
        seen = self.state.observed if self.state else None
        return tuple(check.reference for check in seen.checks) if seen else ()

    @property
    def standings(self) -> list[CheckStanding]:
        """The state of each check, sorted by its name."""
        return sorted(self._standings(), key=lambda standing: (str(standing.check), standing.uid))

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
                yield CheckStanding(
                    check=check.reference, uid=check.uid, standing=AWAITED, since=None, why=why, identity=""
                )


def _standing(one: Handled) -> CheckStanding:
    since = one.unpaused_at if one.how in _SINCE_UNPAUSED else one.paused_at
    return CheckStanding(
        check=one.reference,
        uid=one.uid,
        standing=one.how,
        since=since,
        why=_why(one),
        identity=one.identity,
        is_deleted=one.is_deleted,
    )


def _why(one: Handled) -> str:
    if one.how is CheckPauseState.PAUSED:
        return one.reason or "the upgrade"
    if one.how is CheckPauseState.UNPAUSED:
        return one.reason or "the upgrade is over"
    return "another user or controller"
