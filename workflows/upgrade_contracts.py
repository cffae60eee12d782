"""Contracts and messages of an upgrade pause: what goes in and out of its workflow and its activities.

`observe_upgrade` is retried by Temporal for as long as it takes: without a detector nothing is known.
`write_pauses` answers for each patch what became of it, and is tried once: its facts are too old for a second
attempt. Where its answer is lost, each check counts as unsettled, and the workflow decides anew. The warning
is told for a minute, and is lost where nobody takes it; nothing depends on it.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Self

from health.upgrade.failed_write import FailedWrite, PauseAnswer, WriteOutcome
from health.upgrade.memory import Handled
from health.upgrade.observation import UpgradeObservation
from health.upgrade.orders import PauseOrderRecord
from health.upgrade.pausable_check import PausePatch
from objects.frozen import Frozen
from objects.short_text import ShortText
from workflows.kit.calls import FOR_EVER, ONCE, TWICE, Contract
from workflows.kit.runs import RunInput
from workflows.kit.standing_orders import StandingOrder

UPGRADE_PAUSE = "UpgradePause"
"""The type of the workflow."""
MOST_IN_RESULT = 300
"""Checks that the result of an upgrade pause lists."""
WAKE_UPGRADE_PAUSE = "wake"
"""The one signal of the detector, without an argument: its answer has changed, or it took the lead."""


class UpgradePauseInput(RunInput):
    """Starts the upgrade pause of a cluster, or carries it on in a new run."""

    cluster: str
    memory: str = ""
    """What the run before remembers, packed (`health.upgrade.packed_memory`)."""


class ObserveUpgradeInput(Frozen):
    """Asks the detector where the upgrade and the checks stand, and tells it what has been handled."""

    cluster: str
    transitions: tuple[datetime, ...] = ()
    """Those of the upgrade that `handled` is of; of any other one nothing is handled yet."""
    handled: tuple[str, ...] = ()
    """The uids of the checks that need no hold for that upgrade any more: their annotation decides."""
    unsettled: tuple[str, ...] = ()
    """The uids of those of earlier questions that the upgrade holds again."""
    is_anew: bool = True
    """Whether `handled` of earlier questions counts no more."""
    session: str = ""
    """That of the latest answer; "": none yet."""
    revision: int = 0
    """The latest change of a check that is known."""
    takes_pages: bool = False
    """Whether it reads `has_more`; a worker that does not would take a page for all checks."""


class WritePausesInput(Frozen):
    """Asks to write each of these, once."""

    cluster: str
    patches: tuple[PausePatch, ...]
    seen_at: datetime | None = None
    """When the detector saw the checks and the upgrade; a worker refuses old facts, as in an act."""


class WritePausesResult(Frozen):
    """What became of each."""

    answers: tuple[PauseAnswer, ...] = ()

    @classmethod
    def unanswered(cls, patches: Iterable[PausePatch], why: str) -> Self:
        """Where no worker did it in time: nobody knows what was written."""
        failed = WriteOutcome.FAILED
        return cls(answers=tuple(PauseAnswer(uid=one.uid, outcome=failed, why=why) for one in patches))


class PauseOrder(StandingOrder):
    """Pause a check until the upgrade is over, or for a time, whether or not one is under way."""

    reason: ShortText = "pause was ordered"
    check: ShortText = ""
    """`namespace/name`; "": every check."""
    identity: ShortText = ""
    """Who orders it."""


class UnpauseOrder(Frozen):
    """Unpause a check that the upgrade pause has paused, and do not pause it again in this upgrade."""

    reason: ShortText = "unpause was ordered"
    check: ShortText = ""
    identity: ShortText = ""


class ForgetOrder(Frozen):
    """Forget that a check was handled in this upgrade: if it is not paused, it is paused."""

    reason: ShortText = "forget was ordered"
    check: ShortText = ""
    identity: ShortText = ""


class UpgradePauseState(Frozen):
    """Answer to the query `state`: one page of it, in the order of uids."""

    details: str
    """In words, what is paused and what it waits for."""
    observed: UpgradeObservation | None = None
    """What the detector has told, with the checks of this page; None: nothing yet."""
    handled: tuple[Handled, ...] = ()
    failed: tuple[FailedWrite, ...] = ()
    orders: tuple[PauseOrderRecord, ...] = ()
    upgrading_since: datetime | None = None
    warned_at: datetime | None = None
    """When it was told that the upgrade takes long."""
    is_resting: bool = False
    """Whether there is nothing to do until a wake, an order or `wakes_at`."""
    wakes_at: datetime | None = None
    """When its timer ends; None: it has none."""
    next_after: str = ""
    """The argument of the query for the next page; "": this is the last one."""
    left_out: int = 0
    """Of an upgrade pause that has ended, how many checks its result does not list."""

    def followed_by(self, page: Self) -> Self:
        """The state with the checks of both pages; the later page says where it stands."""
        observed = page.observed
        if self.observed and observed:
            checks = (*self.observed.checks, *observed.checks)
            observed = observed.model_copy(update={"checks": checks})
        changes = {
            "observed": observed,
            "handled": (*self.handled, *page.handled),
            "failed": (*self.failed, *page.failed),
            "orders": self.orders,
        }
        return page.model_copy(update=changes)


class UpgradePauseResult(Frozen):
    """The end of an upgrade pause."""

    reason: str
    upgrading_since: datetime | None = None
    started: datetime
    ended: datetime
    checks: tuple[Handled, ...] = ()
    """Who was paused, since when, and who unpaused: at most MOST_IN_RESULT, those that people paused or
    unpaused first."""
    left_out: int = 0
    """How many more there are."""
    orders: tuple[PauseOrderRecord, ...] = ()


class WarnOfLongUpgradeInput(Frozen):
    """Asks for a Warning Event on each check that an upgrade holds up."""

    cluster: str
    since: datetime
    message: str
    checks: tuple[Handled, ...]
    is_first: bool = True
    """Whether it is the first of the calls that tell of one upgrade."""


class WarnOfLongUpgradeResult(Frozen):
    """It was told."""


OBSERVE_UPGRADE = Contract("observe_upgrade", timedelta(seconds=5), None, FOR_EVER)
"""Answered by the detector that holds the lead, from its queue."""
WRITE_PAUSES = Contract("write_pauses", timedelta(seconds=20), timedelta(minutes=1), ONCE)
WARN_OF_LONG_UPGRADE = Contract("warn_of_long_upgrade", timedelta(seconds=20), timedelta(minutes=1), TWICE)


def upgrade_pause_id(cluster: str) -> str:
    """The id of the workflow: one cluster has one at a time."""
    return f"upgrade/{cluster}"
