"""UpgradeView: all that the command knows of one upgrade pause; the page and the JSON are made of it. Pure.

docs/cli-json.md documents the fields of the JSON.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from health.cluster.upgrade import UpgradePhase
from health.upgrade.decision import CheckPauseState, OrderName
from objects.frozen import Frozen, OpenEnum
from workflows.upgrade_contracts import UpgradePauseState

_WITHOUT_ORDER: Mapping[str, str] = {
    CheckPauseState.PAUSED: "the upgrade",
    CheckPauseState.UNPAUSED: "the upgrade is over",
    CheckPauseState.AWAITED: "the upgrade",
}


@dataclass(frozen=True, kw_only=True)
class UpgradeSummary:
    """One run of an upgrade pause, open or closed, as Temporal lists it and as the workflow answers."""

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


class PauseOrderView(Frozen):
    """A person's order to an upgrade pause."""

    order: OpenEnum[OrderName]
    check: str
    reason: str
    identity: str
    given_at: datetime
    until: datetime | None


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
    """Its state in words; "" if it is unknown."""
    phase: OpenEnum[UpgradePhase] | None
    signal: str
    upgrading_since: datetime | None
    told_as_long_at: datetime | None
    checks: tuple[CheckPauseView, ...]
    """By their names."""
    checks_left_out: int
    orders: tuple[PauseOrderView, ...]

    @classmethod
    def of(cls, summary: UpgradeSummary) -> Self:
        state = summary.state or UpgradePauseState(details="")
        memory, synced = state.memory, state.memory.synced
        orders = {order.number: order for order in memory.orders}
        checks = []
        for row in sorted(synced.rows if synced else (), key=lambda row: row.check):
            order = orders.get(row.order)
            why = order.reason if order else _WITHOUT_ORDER.get(row.state, "another user or controller")
            checks.append(
                CheckPauseView(
                    check=row.check,
                    state=row.state,
                    since=row.since,
                    why=why,
                    identity=order.identity if order else "",
                    problem=row.problem,
                )
            )
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
            checks=tuple(checks),
            checks_left_out=synced.left_out if synced else 0,
            orders=tuple(
                PauseOrderView(
                    order=order.order,
                    check=order.check,
                    reason=order.reason,
                    identity=order.identity,
                    given_at=order.given,
                    until=order.until,
                )
                for order in memory.orders
            ),
        )


class UpgradesView(Frozen):
    """The JSON that `paramedic upgrade -o json` prints."""

    upgrades: tuple[UpgradeView, ...]
