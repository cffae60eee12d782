"""UpgradeSummary: one upgrade pause with the state of each of its checks; UpgradesView: its JSON. Pure.

docs/cli-json.md documents the fields of the JSON.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from health.cluster.upgrade import UpgradePhase
from health.upgrade.decision import CheckPauseState
from health.upgrade.memory import CheckRow
from health.upgrade.orders import OrderName, PauseOrderRecord
from objects.frozen import Frozen, OpenEnum
from workflows.upgrade_contracts import UpgradePauseState

_WITHOUT_ORDER: Mapping[str, str] = {
    CheckPauseState.PAUSED: "the upgrade",
    CheckPauseState.UNPAUSED: "the upgrade is over",
    CheckPauseState.AWAITED: "the upgrade",
}


class CheckPauseView(Frozen):
    """The state of one check in an upgrade."""

    check: str
    state: OpenEnum[CheckPauseState]
    since: datetime | None
    """When it was first seen in this state."""
    why: str
    identity: str
    """The sender of the order to pause or unpause it; "" without an order."""
    problem: str
    """Why its latest write failed; "": it did not."""

    @classmethod
    def of(cls, row: CheckRow, order: PauseOrderRecord | None) -> Self:
        without = _WITHOUT_ORDER.get(row.state, "another user or controller")
        return cls(
            check=row.check,
            state=row.state,
            since=row.since,
            why=order.reason if order else without,
            identity=order.identity if order else "",
            problem=row.problem,
        )


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
    def checks(self) -> tuple[CheckPauseView, ...]:
        """The state of each check, sorted by its name."""
        if self.state is None or self.state.memory.synced is None:
            return ()
        orders = {order.number: order for order in self.state.memory.orders}
        rows = sorted(self.state.memory.synced.rows, key=lambda row: row.check)
        return tuple(CheckPauseView.of(row, orders.get(row.order)) for row in rows)


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
    checks: tuple[CheckPauseView, ...]
    checks_left_out: int
    orders: tuple[PauseOrderView, ...]

    @classmethod
    def of(cls, summary: UpgradeSummary) -> Self:
        state = summary.state or UpgradePauseState(details="")
        memory = state.memory
        return cls(
            workflow_id=summary.workflow_id,
            run_id=summary.run_id,
            status=summary.status,
            cluster=summary.cluster,
            started_at=summary.started,
            closed_at=summary.closed,
            problem=summary.problem,
            details=state.details,
            phase=state.phase,
            signal=state.sign,
            upgrading_since=memory.upgrade.since if memory.upgrade else None,
            told_as_long_at=memory.warned_at,
            checks=summary.checks,
            checks_left_out=memory.synced.left_out if memory.synced else 0,
            orders=tuple(map(PauseOrderView.of, memory.orders)),
        )


class UpgradesView(Frozen):
    """The JSON that `paramedic upgrade -o json` prints."""

    upgrades: tuple[UpgradeView, ...]
