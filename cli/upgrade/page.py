"""Renders one upgrade pause for people: state, retries, orders, and each check. Pure."""

import shlex
from collections.abc import Iterator
from datetime import datetime

from rich.console import Group, RenderableType
from rich.table import Table

from cli.shared.ages import ago, short
from cli.upgrade.summary import CheckStanding, UpgradeSummary
from health.upgrade.orders import PauseOrderRecord
from workflows.upgrade_contracts import UpgradePauseState

Line = tuple[str, str]


def upgrade_page(summary: UpgradeSummary, now: datetime, command: str = "paramedic") -> RenderableType:
    """Labels and values, and a table of the checks; `command` begins the suggested orders."""
    lines = Table.grid(padding=(0, 2))
    lines.add_column(style="bold", no_wrap=True)
    lines.add_column(overflow="fold")
    for line in _lines(summary, now, command):
        lines.add_row(*line)
    standings = summary.standings
    return Group(lines, "", _checks(standings, now)) if standings else lines


def _lines(summary: UpgradeSummary, now: datetime, command: str) -> Iterator[Line]:
    yield "Cluster", summary.cluster
    if summary.closed is None:
        yield "Began", ago(summary.started, now)
    else:
        yield "Ended", f"{ago(summary.closed, now)}: {summary.status}"
    if summary.problem:
        yield "Unknown", summary.problem
    if summary.state is not None:
        yield from _of_state(summary.state, now)
    if summary.is_open:
        yield "You can", _orders(command, summary.cluster)
    yield "Workflow", summary.workflow_id


def _of_state(state: UpgradePauseState, now: datetime) -> Iterator[Line]:
    yield "State", state.details
    if state.upgrading_since is not None:
        yield "Upgrade", f"since {ago(state.upgrading_since, now)}"
    if state.warned_at is not None:
        yield "Takes long", f"warned {ago(state.warned_at, now)}"
    for one in state.failed:
        yield "Retrying", f"{one}; failed {one.failures} times since {ago(one.since, now)}"
    for order in state.orders:
        yield "Order", _order(order, now)
    if state.left_out:
        yield "Checks", f"{state.left_out} more than are listed"


def _order(order: PauseOrderRecord, now: datetime) -> str:
    who = f" by {order.identity}" if order.identity else ""
    until = f", until {order.until:%Y-%m-%d %H:%M:%SZ}" if order.until else ""
    given = ago(order.given, now)
    return f"{order.order} {order.check or 'every check'}{until}{who}, {given}: {order.reason}"


def _orders(command: str, cluster: str) -> str:
    where = f"--cluster {shlex.quote(cluster)}"
    return f"{command} upgrade pause|unpause|forget CHECK {where} --reason WORDS"


def _checks(standings: list[CheckStanding], now: datetime) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("CHECK", "STATE", "SINCE", "BY", "WHY"):
        table.add_column(name, overflow="fold", no_wrap=name in {"STATE", "SINCE"})
    for one in standings:
        state = f"{one.standing}, deleted" if one.is_deleted else str(one.standing)
        since = short(now - one.since) if one.since else "-"
        table.add_row(str(one.check), state, since, one.identity or "-", one.why)
    return table
