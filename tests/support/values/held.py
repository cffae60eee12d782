"""Holds of a check as a whole for tests, reported as the rows of the table say."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from health.check.check_snapshot import NO_HOLDS, CheckHold, CheckHolds, CheckSnapshot
from health.check.health_check import HealthCheck
from health.check.storm import Storm, storm_hold
from health.cluster.cluster_context import CheckProblem, ClusterContext
from health.cluster.global_stop import Stop
from health.gate.check_holds import ALL_SEEN, CHECK_HOLDS, CheckHoldRow, CheckMoment, Unseen
from health.model.observation import Hold, HoldReason
from health.policy.outage_guard import NO_LABELS

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
OF_THE_CHECK = (HoldReason.PAUSED, HoldReason.THRESHOLD, HoldReason.STORM)
OF_SOURCES = tuple(reason for row in CHECK_HOLDS if row.report.is_brief for reason in row.reasons)


def held(*causes: Hold | Stop | CheckProblem, is_fully_paused: bool = False) -> CheckHolds:
    """The holds of a check for these causes."""
    found, problem = [], None
    for cause in causes:
        hold = cause if isinstance(cause, Hold) else cause.hold
        version = cause.version if isinstance(cause, Stop) else ""
        problem = cause if isinstance(cause, CheckProblem) else problem
        found.append(CheckHold(hold, row_of(hold).report, version))
    return CheckHolds(_in_order(found), problem, is_fully_paused)


def with_holds(
    snapshot: CheckSnapshot,
    given: CheckHolds = NO_HOLDS,
    *,
    storm: Storm | None = None,
    unseen: Unseen = ALL_SEEN,
) -> CheckSnapshot:
    """The snapshot with `given`, and with the holds by its pause, its numbers, a storm and what is unseen."""
    if snapshot.check is None:
        return snapshot
    moment = moment_of(
        snapshot.check,
        allowance=snapshot.allowance,
        unseen=unseen,
        storm=storm_hold(storm, snapshot.check.storm_cooldown, NOW),
    )
    rows = [row for row in CHECK_HOLDS if set(row.reasons) & {*OF_THE_CHECK, *OF_SOURCES}]
    of_moment = [one for one in (row.found(moment) for row in rows) if one is not None]
    is_fully_paused = given.is_fully_paused or snapshot.check.is_fully_paused_in(moment.context)
    holds = CheckHolds(_in_order([*given.found, *of_moment]), given.problem, is_fully_paused)
    return replace(snapshot, holds=holds, storm=storm or snapshot.storm)


def moment_of(check: HealthCheck, context: ClusterContext | None = None, **fields: Any) -> CheckMoment:
    """A moment at which nothing holds the check, unless the arguments say so."""
    return CheckMoment(
        check=check, context=context or ClusterContext(), now=NOW, kinds=lambda *_: None, **fields
    )


def row_of(hold: Hold) -> CheckHoldRow:
    return next(row for row in CHECK_HOLDS if hold.reason in row.reasons)


def _in_order(found: list[CheckHold]) -> tuple[CheckHold, ...]:
    return tuple(sorted(found, key=lambda one: CHECK_HOLDS.index(row_of(one.hold))))


def latest_restart(
    context: ClusterContext, cluster: str, node_labels: Mapping[str, str] = NO_LABELS
) -> datetime | None:
    """The latest moment from which every timer of Nodes of a cluster with these labels counts anew."""
    return max((restart.at for restart in context.restarts(cluster, node_labels)), default=None)
