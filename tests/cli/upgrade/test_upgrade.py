"""`paramedic upgrade`: its orders against a real Temporal server, its page and its JSON."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from rich.console import Console
from temporalio.testing import WorkflowEnvironment

from cli.upgrade.command import standing
from cli.upgrade.summary import UpgradeSummary, UpgradeView, open_upgrades, upgrade_page
from devcluster.temporal import TemporalServer
from health.cluster.upgrade import UpgradePhase
from health.upgrade.decision import CheckPauseState, OrderName, PauseOrderRecord
from health.upgrade.memory import CheckRow, KnownUpgrade, PauseMemory, SyncedChecks
from tests.support.cluster.command import Command
from tests.support.cluster.temporal_servers import client_of
from tests.support.story.upgrading import Upgrading
from tests.support.values.builders import MINUTE, NOW
from workflows.upgrade_contracts import PauseOrder, UnpauseOrder, UpgradePauseState
from workflows.upgrade_pause import UpgradePause

PATIENCE_SECONDS, POLL_SECONDS = 60, 0.05


@pytest.fixture
async def idle(temporal_server: TemporalServer) -> AsyncIterator[Upgrading]:
    """A cluster whose upgrade has begun, without detector and worker."""
    client = await client_of(temporal_server)
    cluster = Upgrading(WorkflowEnvironment.from_client(client))
    yield cluster
    for upgrade in await open_upgrades(client, cluster.cluster):
        await client.get_workflow_handle(upgrade.workflow_id).terminate("the test is over")


@pytest.fixture
async def upgrading(idle: Upgrading) -> AsyncIterator[Upgrading]:
    """One whose checks a and b are paused, and theirs was."""
    idle.create("theirs", "P")
    async with idle.detector(), idle.worker(max_cached_workflows=100):
        await idle.start()
        await idle.rests()
        await listed(idle, 1)
        yield idle


async def listed(upgrading: Upgrading, count: int) -> None:
    """Return when Temporal lists so many that are open; its lists are a little late."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(await open_upgrades(upgrading.client, upgrading.cluster)) != count:  # noqa: ASYNC110  as said
            await asyncio.sleep(POLL_SECONDS)


async def test_upgrade_that_goes_on_is_shown_and_then_how_it_ended(
    upgrading: Upgrading, paramedic: Command
) -> None:
    ran = await paramedic("upgrade", "--cluster", upgrading.cluster)
    assert (ran.code, ran.err) == (0, "")
    assert "the cluster is being upgraded since" in ran.out
    assert "MachineHealthCheck/machines/theirs  FoundPaused" in ran.out

    upgrading.end()
    await upgrading.handle.signal(UpgradePause.wake)
    await upgrading.result()
    await listed(upgrading, 0)
    ran = await paramedic("upgrade", "--cluster", upgrading.cluster, "-o", "json")
    (shown,) = ran.json["upgrades"]
    assert (shown["status"], shown["cluster"]) == ("Completed", upgrading.cluster)
    assert {check["check"][-1]: check["state"] for check in shown["checks"]} == {
        "a": CheckPauseState.UNPAUSED,
        "b": CheckPauseState.UNPAUSED,
        "s": CheckPauseState.FOUND_PAUSED,
    }
    ran = await paramedic("upgrade", "--cluster", upgrading.cluster)
    ended = f"no upgrade pause of cluster {upgrading.cluster!r} is open; the last one is shown\n"
    assert (ran.code, ran.err) == (0, ended)


async def test_orders_carry_reason_and_identity(upgrading: Upgrading, paramedic: Command) -> None:
    where = ("--cluster", upgrading.cluster, "--reason", "it hangs")
    ran = await paramedic("upgrade", "unpause", "a", *where)
    name = "MachineHealthCheck/machines/a"
    said = f"{upgrading.cluster}: unpauses {name} until the upgrade is over: it hangs\n"
    assert (ran.code, ran.out, ran.err) == (0, said, "")
    assert upgrading.annotations() == {"a": "M", "b": "PM", "theirs": "P"}
    (order,) = (await upgrading.rests()).memory.orders
    assert order.reason == "it hangs"
    assert order.identity.startswith("ada@")

    ran = await paramedic("upgrade", "pause", "machines/a", *where, "--for", "1h")
    assert ran.out.startswith(f"{upgrading.cluster}: pauses {name}: it hangs; until 20")
    upgrading.edit("b", "")
    ran = await paramedic("upgrade", "pause", "--all", *where)
    assert ran.out == f"{upgrading.cluster}: pauses every check: it hangs\n"
    assert upgrading.annotations() == {"a": "PM", "b": "PM", "theirs": "P"}
    ran = await paramedic("upgrade", "unpause", "nobody", *where)
    assert (ran.code, ran.out) == (3, "")
    assert "no check 'nobody' among those that upgrades pause: MachineHealthCheck/machines/a, " in ran.err
    ran = await paramedic("upgrade", "unpause", "machinehealthcheck/machines/theirs", *where)
    assert (ran.code, ran.out) == (1, "")
    assert "/machines/theirs was paused by another user or tool, which must unpause it" in ran.err


async def test_where_no_upgrade_runs_that_is_said(paramedic: Command) -> None:
    ran = await paramedic("upgrade", "--cluster", "nowhere")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith("no upgrade pause of cluster 'nowhere' is open; the Temporal namespace ")
    assert "has no workflow of a cluster called 'nowhere'; it has workflows of " in ran.err
    ran = await paramedic("upgrade", "--cluster", "nowhere", "-o", "json")
    assert ran.json == {"upgrades": []}


@pytest.mark.parametrize(
    ("order", "instead"),
    [
        (("unpause", "a"), "CHECK cluster.x-k8s.io/paused-`"),
        (("pause", "a"), "give the pause a time, as with --for 2h, or write `kubectl annotate "),
        (("pause", "a", "--for", "2h"), "say which with --cluster, by its full name"),
    ],
)
async def test_order_that_needs_an_upgrade_is_refused_with_what_to_do_instead(
    paramedic: Command, order: tuple[str, ...], instead: str
) -> None:
    ran = await paramedic("upgrade", *order, "--cluster", "nowhere")
    assert (ran.code, ran.out) == (3, "")
    assert instead in ran.err


async def test_pause_that_has_a_time_needs_no_upgrade(idle: Upgrading, paramedic: Command) -> None:
    idle.end()
    name = idle.cluster
    idle.cluster = f"{name}-0a1b"
    where = ("upgrade", "pause", "a", "--reason", "it reboots", "--cluster")
    async with idle.detector(), idle.worker(max_cached_workflows=100):
        ran = await paramedic(*where, idle.cluster, "--for", "2s")
        said = f"{idle.cluster}: pauses MachineHealthCheck/machines/a: it reboots; until 20"
        assert (ran.code, ran.out[: len(said)], ran.err) == (0, said, "")
        await idle.becomes(a="PM", b="")
        await idle.result()
        assert idle.annotations() == {"a": "", "b": ""}

        # By then Temporal knows the cluster, by the workflow that has ended.
        await listed(idle, 0)
        ran = await paramedic(*where, name, "--for", "1h")
        assert (ran.code, ran.err) == (0, "")
        await idle.becomes(a="PM", b="")


async def test_upgrade_whose_worker_is_away_is_shown_and_takes_no_order(
    idle: Upgrading, paramedic: Command
) -> None:
    await idle.start()
    await listed(idle, 1)
    ran = await paramedic("upgrade", "--cluster", idle.cluster)
    assert ran.code == 0
    assert "no worker answers" in ran.out
    ran = await paramedic("upgrade", "pause", "a", "--cluster", idle.cluster)
    assert (ran.code, ran.out) == (1, "")
    assert "no worker answers; nothing was ordered" in ran.err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("pause",), "--all"),
        (("pause", "a", "--all"), "--all"),
        (("pause", "a/b/c/d"), "a/b/c/d"),
        (("unpause", "a", "--reason", " "), "--reason"),
        (("--cluster", "prod", "unpause", "a"), "--cluster"),
    ],
)
async def test_order_that_leaves_open_what_is_meant_is_refused(
    paramedic: Command, arguments: tuple[str, ...], named: str
) -> None:
    ran = await paramedic("upgrade", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert named in ran.err


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
