"""Reads upgrade pauses from Temporal; each is shown as an UpgradeView: its JSON, and a page of it.

docs/cli-json.md documents the fields of the JSON.
"""

import dataclasses
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self

from rich.console import Group, RenderableType
from temporalio.client import Client
from temporalio.service import RPCError

from cli.incidents.state_queries import (
    NO_ANSWER,
    NO_WORKER,
    QUERY_TIMEOUT,
    UNREAD,
    query_state,
    task_failure_words,
    why_unread,
)
from cli.shared.ages import ago, short
from cli.shared.connection import RPC_TIMEOUT
from cli.shared.errors import NotFoundError
from cli.shared.terminal import Line, labelled_lines, table_of
from health.cluster.upgrade import UpgradePhase
from health.upgrade.decision import CheckPauseState, OrderName
from objects.clusters import is_cluster_called
from objects.frozen import Frozen, OpenEnum
from runtime.payload_codec import UnreadablePayload
from workflows.upgrade_contracts import (
    UPGRADE_PAUSE,
    UpgradePauseResult,
    UpgradePauseState,
    upgrade_pause_id,
)

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
    problem: str | None = None
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
    identity: str | None
    """The sender of the order to pause or unpause it; None without an order."""
    problem: str | None
    """Why its latest write failed; None: it did not."""


class PauseOrderView(Frozen):
    """A person's order to an upgrade pause."""

    order: OpenEnum[OrderName]
    check: str | None
    """None: every check."""
    reason: str
    identity: str | None
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
    problem: str | None
    details: str | None
    """Its state in words; None if it is unknown."""
    phase: OpenEnum[UpgradePhase] | None
    signal: str | None
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
                    identity=order.identity or None if order else None,
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
            details=state.details or None,
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
                    identity=order.identity or None,
                    given_at=order.given,
                    until=order.until,
                )
                for order in memory.orders
            ),
        )


class UpgradesView(Frozen):
    """The JSON that `paramedic upgrade -o json` prints."""

    upgrades: tuple[UpgradeView, ...]


def upgrade_page(upgrade: UpgradeView, now: datetime, command: str = "paramedic") -> RenderableType:
    """Labels and values, and a table of the checks; `command` begins the suggested orders."""
    lines = labelled_lines(_lines(upgrade, now, command))
    if not upgrade.checks:
        return lines
    table = table_of(("CHECK", "STATE", "SINCE", "BY", "WHY"), no_wrap=("STATE", "SINCE"))
    for check in upgrade.checks:
        since = short(now - check.since) if check.since else "-"
        why = f"{check.why}; it failed: {check.problem}" if check.problem else check.why
        table.add_row(check.check, check.state, since, check.identity or "-", why)
    return Group(lines, "", table)


def _lines(upgrade: UpgradeView, now: datetime, command: str) -> Iterator[Line]:
    yield "Cluster", upgrade.cluster
    if upgrade.closed_at is None:
        yield "Began", ago(upgrade.started_at, now)
    else:
        yield "Ended", f"{ago(upgrade.closed_at, now)}: {upgrade.status}"
    if upgrade.problem:
        yield "Unknown", upgrade.problem
    if upgrade.details:
        yield "State", upgrade.details
    if upgrade.upgrading_since is not None:
        yield "Upgrade", f"since {ago(upgrade.upgrading_since, now)}"
    if upgrade.told_as_long_at is not None:
        yield "Takes long", f"warned {ago(upgrade.told_as_long_at, now)}"
    for order in upgrade.orders:
        by = f" by {order.identity}" if order.identity else ""
        until = f", until {order.until:%Y-%m-%d %H:%M:%SZ}" if order.until else ""
        given = f"{order.order} {order.check or 'every check'}{until}{by}, {ago(order.given_at, now)}"
        yield "Order", f"{given}: {order.reason}"
    if upgrade.checks_left_out:
        yield "Checks", f"{upgrade.checks_left_out} more than are listed"
    if upgrade.closed_at is None:
        where = f"--cluster {shlex.quote(upgrade.cluster)}"
        yield "You can", f"{command} upgrade pause|unpause CHECK {where} --reason WORDS"
    yield "Workflow", upgrade.workflow_id


async def open_upgrades(client: Client, cluster: str) -> list[UpgradeSummary]:
    """The open upgrade pauses of a cluster, or of all."""
    found = await _list(client, "ExecutionStatus = 'Running'", cluster)
    return sorted(found, key=lambda summary: summary.cluster)


async def last_upgrades(client: Client, cluster: str) -> list[UpgradeSummary]:
    """The last closed upgrade pause of each cluster."""
    found = await _list(client, "ExecutionStatus NOT IN ('Running', 'ContinuedAsNew')", cluster)
    newest = {summary.cluster: summary for summary in sorted(found, key=lambda summary: summary.started)}
    return [newest[name] for name in sorted(newest)]


async def find_one(client: Client, cluster: str) -> UpgradeSummary | None:
    """The open upgrade pause; None if there is none.

    Raises:
        NotFoundError: there is more than one.

    """
    found = await open_upgrades(client, cluster)
    if len(found) > 1:
        clusters = ", ".join(summary.cluster for summary in found)
        raise NotFoundError(f"several clusters are upgraded, say which with --cluster: {clusters}")
    return found[0] if found else None


async def with_state(client: Client, summary: UpgradeSummary) -> UpgradeSummary:
    """The summary with its present or last state; if that is unknown, `problem` says why."""
    handle = client.get_workflow_handle(summary.workflow_id, run_id=summary.run_id)
    state: UpgradePauseState | None = None
    try:
        if summary.is_open:
            state = await query_state(handle, UpgradePauseState)
        elif summary.status == "Completed":
            ended = client.get_workflow_handle(
                handle.id, run_id=handle.run_id, result_type=UpgradePauseResult
            )
            result = await ended.result(follow_runs=False, rpc_timeout=QUERY_TIMEOUT)
            state = UpgradePauseState(details=result.reason, memory=result.memory)
    except UNREAD as error:
        problem, is_unreadable = why_unread(error), isinstance(error, UnreadablePayload)
        if isinstance(error, RPCError) and error.status in NO_ANSWER:
            problem = await task_failure_words(client, summary.workflow_id, summary.run_id) or NO_WORKER
        return dataclasses.replace(summary, problem=problem, is_unreadable=is_unreadable)
    return dataclasses.replace(summary, state=state)


async def _list(client: Client, condition: str, called: str) -> list[UpgradeSummary]:
    found, query = [], f"WorkflowType = '{UPGRADE_PAUSE}' AND {condition}"
    async for execution in client.list_workflows(query, rpc_timeout=RPC_TIMEOUT):
        cluster, closed = execution.id.removeprefix(upgrade_pause_id("")), execution.close_time
        # Our ids are printable, others could control the terminal.
        if execution.id.isprintable() and is_cluster_called(called, cluster):
            summary = UpgradeSummary(
                cluster=cluster,
                workflow_id=execution.id,
                run_id=execution.run_id,
                status=execution.status.name.title().replace("_", "") if execution.status else "Unknown",
                started=execution.start_time.astimezone(UTC),
                closed=closed.astimezone(UTC) if isinstance(closed, datetime) else None,
            )
            found.append(summary)
    return found
