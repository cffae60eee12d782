"""UpgradeSummary: one upgrade pause with the state of each of its checks; UpgradesView: its JSON. Pure.

docs/cli-json.md documents the fields of the JSON.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from cli.incidents.document import Retry
from health.cluster.upgrade import UpgradePhase
from health.model.references import CheckReference
from health.upgrade.failed_write import FailedWrite
from health.upgrade.memory import CheckPauseState, Handled
from health.upgrade.orders import OrderName, PauseOrderRecord
from objects.frozen import Frozen, OpenEnum
from workflows.upgrade_contracts import UpgradePauseState

AWAITED = "Awaited"
"""The pause has not reached the check yet; until then the upgrade itself holds it."""
_SINCE_UNPAUSED = {CheckPauseState.UNPAUSED, CheckPauseState.UNPAUSED_BY_OTHERS}


class CheckView(Frozen):
    """The state of one check in an upgrade."""

    check: str
    uid: str
    state: str
    """A CheckPauseState if it was handled; AWAITED if it was not yet."""
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
    """True if the key to decrypt its state is missing."""

    @property
    def is_open(self) -> bool:
        return self.closed is None

    @property
    def known_checks(self) -> tuple[CheckReference, ...]:
        """The checks that upgrades pause, as the detector observed them last."""
        observation = self.state.observed if self.state else None
        return tuple(check.reference for check in observation.checks) if observation else ()

    @property
    def checks(self) -> tuple[CheckView, ...]:
        """The state of each check, sorted by its name."""
        return tuple(sorted(self._checks(), key=lambda check: (check.check, check.uid)))

    def _checks(self) -> Iterator[CheckView]:
        if self.state is None:
            return
        observed = self.state.observed.checks if self.state.observed else ()
        for handled in self.state.handled:
            yield _handled(handled)
        uids = {handled.uid for handled in self.state.handled}
        for check in observed:
            if check.uid not in uids:
                why = "the upgrade pause has not come to it yet"
                yield CheckView(
                    check=str(check.reference), uid=check.uid, state=AWAITED, since=None, why=why, identity=""
                )


def _handled(check: Handled) -> CheckView:
    since = check.unpaused_at if check.how in _SINCE_UNPAUSED else check.paused_at
    return CheckView(
        check=str(check.reference),
        uid=check.uid,
        state=check.how,
        since=since,
        why=_why(check),
        identity=check.identity,
        is_deleted=check.is_deleted,
    )


def _why(check: Handled) -> str:
    if check.how is CheckPauseState.PAUSED:
        return check.reason or "the upgrade"
    if check.how is CheckPauseState.UNPAUSED:
        return check.reason or "the upgrade is over"
    return "another user or controller"


class PauseOrderView(Frozen):
    """A person's order to an upgrade pause."""

    order: OpenEnum[OrderName]
    check: str
    reason: str
    identity: str
    given_at: datetime
    until: datetime | None

    @classmethod
    def of(cls, record: PauseOrderRecord) -> Self:
        return cls(
            order=record.order,
            check=record.check,
            reason=record.reason,
            identity=record.identity,
            given_at=record.given,
            until=record.until,
        )


class UpgradeView(Frozen):
    """One run of a cluster's upgrade pause, with its checks and orders."""

    workflow_id: str
    run_id: str
    status: str
    cluster: str
    started_at: datetime
    closed_at: datetime | None
    problem: str
    details: str
    phase: OpenEnum[UpgradePhase] | None
    signal: str
    upgrading_since: datetime | None
    told_as_long_at: datetime | None
    checks: tuple[CheckView, ...]
    checks_left_out: int
    retries: tuple[Retry, ...]
    orders: tuple[PauseOrderView, ...]

    @classmethod
    def of(cls, summary: UpgradeSummary, now: datetime) -> Self:
        state = summary.state
        observation = state.observed if state else None
        view = cls(
            workflow_id=summary.workflow_id,
            run_id=summary.run_id,
            status=summary.status,
            cluster=summary.cluster,
            started_at=summary.started,
            closed_at=summary.closed,
            problem=summary.problem,
            details=state.details if state else "",
            phase=observation.phase if observation else None,
            signal=observation.sign if observation else "",
            upgrading_since=state.upgrading_since if state else None,
            told_as_long_at=state.warned_at if state else None,
            checks=(),
            checks_left_out=state.left_out if state else 0,
            retries=tuple(_retry(write, now) for write in state.failed) if state else (),
            orders=tuple(map(PauseOrderView.of, state.orders)) if state else (),
        )
        return view.model_copy(update={"checks": summary.checks})  # more than the 10,000 items that are read


class UpgradesView(Frozen):
    """The JSON that `paramedic upgrade -o json` prints."""

    upgrades: tuple[UpgradeView, ...]


def _retry(write: FailedWrite, now: datetime) -> Retry:
    """The retry of a failed write; a write that is due already shows `now`."""
    return Retry(
        what=write.what,
        why=write.why,
        failures=write.failures,
        since=write.since,
        next_try_at=max(write.next_try or now, now),
    )
