"""The page and the JSON of `paramedic upgrade`, rendered from values."""

from datetime import timedelta
from typing import Any

from rich.console import Console

from cli.upgrade.command import upgrade_page
from cli.upgrade.orders import standing
from cli.upgrade.summary import UpgradeSummary, UpgradeView
from health.cluster.upgrade import UpgradePhase
from health.upgrade.decision import CheckPauseState, OrderName, PauseOrderRecord
from health.upgrade.memory import CheckRow, KnownUpgrade, PauseMemory, SyncedChecks
from tests.support.values.builders import MINUTE, NOW
from workflows.upgrade_contracts import PauseOrder, UnpauseOrder, UpgradePauseState

ORDER = PauseOrderRecord(
    number=1,
    order=OrderName.UNPAUSE,
    check="machines/by-ada",
    given=NOW - 2 * MINUTE,
    reason="node-4 hangs",
    identity="ada@desk",
)


def row(name: str, state: CheckPauseState, since: timedelta, **fields: Any) -> CheckRow:
    return CheckRow(check=f"MachineHealthCheck/machines/{name}", state=state, since=NOW - since, **fields)


SYNCED = SyncedChecks(
    listed_at=NOW,
    left_out=7,
    rows=(
        row("new", CheckPauseState.AWAITED, MINUTE, problem="the webhook is away"),
        row("by-ada", CheckPauseState.UNPAUSED, 2 * MINUTE, order=1),
        row("theirs", CheckPauseState.FOUND_PAUSED, 8 * MINUTE),
        row("freed", CheckPauseState.UNPAUSED_BY_OTHERS, MINUTE),
        row("over", CheckPauseState.UNPAUSED, MINUTE),
        row("ours", CheckPauseState.PAUSED, 8 * MINUTE),
    ),
)
MEMORY = PauseMemory(
    upgrade=KnownUpgrade(since=NOW - 10 * MINUTE, began=NOW - 10 * MINUTE),
    orders=(ORDER,),
    synced=SYNCED,
    warned_at=NOW - MINUTE,
)
STATE = UpgradePauseState(
    details="the cluster is being upgraded", phase=UpgradePhase.UNDER_WAY, sign="the version", memory=MEMORY
)


def summary(of: UpgradePauseState | None = STATE, **fields: Any) -> UpgradeSummary:
    return UpgradeSummary(
        cluster="prod-1a2b",
        workflow_id="upgrade/prod-1a2b",
        run_id="run",
        status=fields.pop("status", "Running"),
        started=NOW - 9 * MINUTE,
        state=of,
        **fields,
    )


def lines(of: UpgradeSummary) -> list[str]:
    console = Console(width=1000, highlight=False)
    with console.capture() as captured:
        console.print(upgrade_page(UpgradeView.of(of), NOW))
    return [" ".join(line.split()) for line in captured.get().splitlines()]


def test_page_shows_each_check_with_time_and_reason_and_what_was_ordered() -> None:
    told = lines(summary())
    assert told[told.index("CHECK STATE SINCE BY WHY") :] == [
        "CHECK STATE SINCE BY WHY",
        "MachineHealthCheck/machines/by-ada Unpaused 2m ada@desk node-4 hangs",
        "MachineHealthCheck/machines/freed UnpausedByOthers 1m - another user or controller",
        "MachineHealthCheck/machines/new Awaited 1m - the upgrade; it failed: the webhook is away",
        "MachineHealthCheck/machines/ours Paused 8m - the upgrade",
        "MachineHealthCheck/machines/over Unpaused 1m - the upgrade is over",
        "MachineHealthCheck/machines/theirs FoundPaused 8m - another user or controller",
    ]
    assert "State the cluster is being upgraded" in told
    assert "Upgrade since 2026-03-01 11:50:00Z (10m ago)" in told
    assert "Takes long warned 2026-03-01 11:59:00Z (1m ago)" in told
    assert "Order unpause machines/by-ada by ada@desk, 2026-03-01 11:58:00Z (2m ago): node-4 hangs" in told
    assert "Checks 7 more than are listed" in told
    assert "You can paramedic upgrade pause|unpause CHECK --cluster prod-1a2b --reason WORDS" in told


def test_page_of_one_that_has_ended_or_does_not_answer_offers_no_more_than_is_known() -> None:
    ended = lines(summary(closed=NOW - MINUTE, status="Completed"))
    assert "Ended 2026-03-01 11:59:00Z (1m ago): Completed" in ended
    assert not [line for line in ended if line.startswith("You can")]
    assert "Unknown no worker answers" in lines(summary(None, problem="no worker answers"))


def test_json_has_what_the_page_has() -> None:
    view = UpgradeView.of(summary())
    by_name = {check.check.rpartition("/")[2]: check for check in view.checks}
    assert {name: check.state for name, check in by_name.items()} == {
        one.check.rpartition("/")[2]: one.state for one in SYNCED.rows
    }
    assert (by_name["by-ada"].since, by_name["by-ada"].identity) == (NOW - 2 * MINUTE, "ada@desk")
    assert by_name["new"].problem == "the webhook is away"
    assert (view.phase, view.signal, view.checks_left_out) == ("UnderWay", "the version", 7)
    assert (view.upgrading_since, view.told_as_long_at) == (NOW - 10 * MINUTE, NOW - MINUTE)
    assert [(order.order, order.reason) for order in view.orders] == [("unpause", "node-4 hangs")]
    assert UpgradeView.of(summary(None, problem="silent")).checks == ()


def test_answer_says_until_when_a_pause_is_kept() -> None:
    kept = "; until 2026-03-01T12:20:00Z (in 20m) at least"
    assert standing(PauseOrder(for_seconds=1200), NOW) == kept
    for order in (PauseOrder(), UnpauseOrder()):
        assert standing(order, NOW) == ""
