"""The JSON of upgrade pauses for `-o json`; docs/cli-json.md documents the fields."""

from datetime import datetime
from typing import Self

from cli.incidents.page import Retry
from cli.incidents.view import RetryView
from cli.upgrade.summary import CheckStanding, UpgradeSummary
from health.cluster.upgrade import UpgradePhase
from health.upgrade.failed_write import FailedWrite
from health.upgrade.orders import OrderName, PauseOrderRecord
from objects.frozen import Frozen, OpenEnum


class CheckView(Frozen):
    """The state of one check in an upgrade."""

    check: str
    uid: str
    state: str
    since: datetime | None
    why: str
    identity: str
    is_deleted: bool

    @classmethod
    def of(cls, one: CheckStanding) -> Self:
        return cls(
            check=str(one.check),
            uid=one.uid,
            state=one.standing,
            since=one.since,
            why=one.why,
            identity=one.identity,
            is_deleted=one.is_deleted,
        )


class PauseOrderView(Frozen):
    """A person's order to an upgrade pause."""

    order: OpenEnum[OrderName]
    check: str
    reason: str
    identity: str
    given_at: datetime
    until: datetime | None

    @classmethod
    def of(cls, one: PauseOrderRecord) -> Self:
        return cls(
            order=one.order,
            check=one.check,
            reason=one.reason,
            identity=one.identity,
            given_at=one.given,
            until=one.until,
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
    retries: tuple[RetryView, ...]
    orders: tuple[PauseOrderView, ...]

    @classmethod
    def of(cls, summary: UpgradeSummary, now: datetime) -> Self:
        state = summary.state
        seen = state.observed if state else None
        checks = tuple(map(CheckView.of, summary.standings))
        view = cls(
            workflow_id=summary.workflow_id,
            run_id=summary.run_id,
            status=summary.status,
            cluster=summary.cluster,
            started_at=summary.started,
            closed_at=summary.closed,
            problem=summary.problem,
            details=state.details if state else "",
            phase=seen.phase if seen else None,
            signal=seen.sign if seen else "",
            upgrading_since=state.upgrading_since if state else None,
            told_as_long_at=state.warned_at if state else None,
            checks=(),
            checks_left_out=state.left_out if state else 0,
            retries=tuple(RetryView.of(_retry(one, now), now) for one in state.failed) if state else (),
            orders=tuple(map(PauseOrderView.of, state.orders)) if state else (),
        )
        return view.model_copy(update={"checks": checks})  # more than the 10,000 items that are read


class UpgradesView(Frozen):
    """The JSON that `paramedic upgrade -o json` prints."""

    upgrades: tuple[UpgradeView, ...]


def _retry(one: FailedWrite, now: datetime) -> Retry:
    """The retry of a failed write; one that is due already shows `now`."""
    return Retry(
        what=one.what,
        why=one.why,
        failures=one.failures,
        since=one.since,
        next_try=max(one.next_try or now, now),
    )
