"""The page of `paramedic upgrade`, rendered from values, and the check that a name means."""

import pytest
from rich.console import Console

from cli.shared.errors import CommandError, NotFoundError
from cli.upgrade.command import upgrade_page
from cli.upgrade.orders import resolve_check, standing
from cli.upgrade.summary import AWAITED, UpgradeSummary, UpgradeView
from health.upgrade.failed_write import FailedWrite, WriteOutcome
from health.upgrade.memory import CheckPauseState
from health.upgrade.orders import OrderName, PauseOrderRecord
from tests.cli.upgrade.upgrades import check, handled, observed, state, summary
from tests.support.values.builders import MINUTE, NOW
from workflows.upgrade_contracts import ForgetOrder, PauseOrder, UnpauseOrder

ADA = {"reason": "node-4 hangs", "identity": "ada@desk"}
ROWS = (
    handled("ours", CheckPauseState.PAUSED, paused_at=NOW - 8 * MINUTE),
    handled(
        "by-ada", CheckPauseState.UNPAUSED, paused_at=NOW - 8 * MINUTE, unpaused_at=NOW - 2 * MINUTE, **ADA
    ),
    handled("theirs", CheckPauseState.FOUND_PAUSED),
    handled(
        "freed", CheckPauseState.UNPAUSED_BY_OTHERS, paused_at=NOW - 8 * MINUTE, unpaused_at=NOW - MINUTE
    ),
    handled("deleted", CheckPauseState.PAUSED, paused_at=NOW - 8 * MINUTE, is_deleted=True),
)
SEEN = observed(*map(check, ("ours", "by-ada", "theirs", "freed", "new")))
FAILED = FailedWrite(
    uid="uid-new",
    what="Pause MachineHealthCheck/machines/new",
    why="the webhook is away",
    outcome=WriteOutcome.FAILED,
    resource_version="1",
    failures=3,
    since=NOW - MINUTE,
    failed=NOW,
    next_try=NOW + MINUTE,
)
ORDER = PauseOrderRecord(
    number=1, order=OrderName.UNPAUSE, check="machines/by-ada", given=NOW - 2 * MINUTE, **ADA
)


def lines(of: UpgradeSummary) -> list[str]:
    console = Console(width=1000, highlight=False)
    with console.capture() as captured:
        console.print(upgrade_page(of, NOW))
    return [" ".join(line.split()) for line in captured.get().splitlines()]


def test_page_shows_paused_checks_with_time_and_reason() -> None:
    told = lines(summary(state(*ROWS, seen=SEEN)))
    assert told[told.index("CHECK STATE SINCE BY WHY") :] == [
        "CHECK STATE SINCE BY WHY",
        "MachineHealthCheck/machines/by-ada Unpaused 2m ada@desk node-4 hangs",
        "MachineHealthCheck/machines/deleted Paused, deleted 8m - the upgrade",
        "MachineHealthCheck/machines/freed UnpausedByOthers 1m - another user or controller",
        "MachineHealthCheck/machines/new Awaited - - the upgrade pause has not come to it yet",
        "MachineHealthCheck/machines/ours Paused 8m - the upgrade",
        "MachineHealthCheck/machines/theirs FoundPaused - - another user or controller",
    ]


def test_page_says_what_is_tried_again_what_was_ordered_and_that_it_takes_long() -> None:
    of = state(*ROWS, seen=SEEN, failed=(FAILED,), orders=(ORDER,), warned_at=NOW - MINUTE)
    told = lines(summary(of))
    assert "State the cluster is being upgraded" in told
    assert "Upgrade since 2026-03-01 11:50:00Z (10m ago)" in told
    assert "Takes long warned 2026-03-01 11:59:00Z (1m ago)" in told
    assert (
        "Retrying cannot Pause MachineHealthCheck/machines/new: the webhook is away "
        "(tried again at 2026-03-01T12:01:00Z); failed 3 times since 2026-03-01 11:59:00Z (1m ago)"
    ) in told
    assert ("Order unpause machines/by-ada by ada@desk, 2026-03-01 11:58:00Z (2m ago): node-4 hangs") in told
    assert "You can paramedic upgrade pause|unpause|forget CHECK --cluster prod-1a2b --reason WORDS" in told


def test_page_of_one_that_has_ended_or_does_not_answer_offers_no_more_than_is_known() -> None:
    ended = lines(summary(state(*ROWS), closed=NOW - MINUTE, status="Completed"))
    assert "Ended 2026-03-01 11:59:00Z (1m ago): Completed" in ended
    assert "MachineHealthCheck/machines/deleted Paused, deleted 8m - the upgrade" in ended
    assert not [line for line in ended if line.startswith("You can")]
    assert "Unknown no worker answers" in lines(summary(None, problem="no worker answers"))


def test_json_has_what_the_page_has() -> None:
    view = UpgradeView.of(summary(state(*ROWS, seen=SEEN, failed=(FAILED,), orders=(ORDER,))), NOW)
    by_name = {row.check.rpartition("/")[2]: row for row in view.checks}
    assert {name: one.state for name, one in by_name.items()} == {
        "ours": CheckPauseState.PAUSED,
        "by-ada": CheckPauseState.UNPAUSED,
        "theirs": CheckPauseState.FOUND_PAUSED,
        "freed": CheckPauseState.UNPAUSED_BY_OTHERS,
        "deleted": CheckPauseState.PAUSED,
        "new": AWAITED,
    }
    assert [name for name, one in by_name.items() if one.is_deleted] == ["deleted"]
    assert (by_name["by-ada"].since, by_name["by-ada"].identity) == (NOW - 2 * MINUTE, "ada@desk")
    assert (view.phase, view.signal) == ("UnderWay", "ClusterVersion/version: Progressing=True")
    assert [(retry.failures, retry.next_try_at) for retry in view.retries] == [(3, NOW + MINUTE)]
    assert [(order.order, order.reason) for order in view.orders] == [("unpause", "node-4 hangs")]


@pytest.mark.parametrize(
    "name",
    ["ours", "machines/ours", "MachineHealthCheck/machines/ours", "machinehealthcheck/ours"],
)
def test_check_is_named_as_in_every_command(name: str) -> None:
    assert resolve_check(name, summary(state(seen=SEEN))) == check("ours")


def test_name_of_no_check_or_of_several_is_refused_with_those_there_are() -> None:
    seen = observed(check("a"), check("a", "other"), check("b"))
    known = summary(state(seen=seen))
    with pytest.raises(NotFoundError, match=r"'a' is ambiguous, say which: .*/machines/a, .*/other/a"):
        resolve_check("a", known)
    with pytest.raises(NotFoundError, match=r"is called 'c'; there are .*/machines/a, .*/b, .*/other/a$"):
        resolve_check("c", known)
    with pytest.raises(NotFoundError, match=r"is called 'c'; there are none$"):
        resolve_check("c", summary(state(seen=observed())))
    many = observed(*(check(f"check-{number:02}") for number in range(12)))
    with pytest.raises(NotFoundError, match=r"/check-09 and 2 more$"):
        resolve_check("c", summary(state(seen=many)))


def test_no_order_is_sent_while_the_checks_are_unknown() -> None:
    with pytest.raises(CommandError, match="cannot be asked: no worker answers; nothing was ordered"):
        resolve_check("a", summary(None, problem="no worker answers"))
    with pytest.raises(CommandError, match="does not know the checks yet"):
        resolve_check("a", summary(state()))


def test_answer_says_until_when_a_pause_is_kept() -> None:
    kept = "; until 2026-03-01T12:20:00Z (in 20m) at least"
    assert standing(PauseOrder(for_seconds=1200), NOW) == kept
    for order in (PauseOrder(), UnpauseOrder(), ForgetOrder()):
        assert standing(order, NOW) == ""
