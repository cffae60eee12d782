"""Contracts and messages of an upgrade pause: the inputs and results of its workflow and activities.

Temporal retries `observe_upgrade` without limit, because nothing is known without a detector. `write_pauses`
returns a result for each patch and is tried once, because its facts are too old for a second attempt. If its
answer is lost, each check counts as unsettled, and the workflow decides again. The warning is tried for a
minute and may be lost; nothing depends on it.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Self

from health.model.order import OrderMessage, StandingOrder
from health.upgrade.failed_write import FailedWrite, PauseAnswer, WriteOutcome
from health.upgrade.memory import Handled
from health.upgrade.observation import UpgradeObservation
from health.upgrade.orders import PauseOrderRecord
from health.upgrade.pausable_check import PausePatch
from objects.frozen import Frozen
from objects.short_text import PersonText, ShortText
from workflows.kit.calls import FOR_EVER, ONCE, TWICE, Contract
from workflows.kit.runs import RunInput

UPGRADE_PAUSE = "UpgradePause"
"""The type of the workflow."""
MOST_IN_RESULT = 300
"""The maximum of checks in the result of an upgrade pause."""
WAKE_UPGRADE_PAUSE = "wake"
"""The only signal of the detector, without an argument: its answer changed, or it became leader."""


class UpgradePauseInput(RunInput):
    """Starts the upgrade pause of a cluster, or continues it in a new run."""

    cluster: str
    memory: str = ""
    """The memory of the previous run, packed (`health.upgrade.packed_memory`)."""
    cancelled_at: datetime | None = None
    """When the previous run, which could not read `memory`, was cancelled; None: it was not."""


class ObserveUpgradeInput(Frozen):
    """Asks the detector for the upgrade and the checks, and reports the handled checks."""

    cluster: str
    transitions: tuple[datetime, ...] = ()
    """The transitions of the upgrade that `handled` belongs to; another upgrade has no handled checks."""
    handled: tuple[str, ...] = ()
    """The uids of the checks that only their annotation holds in that upgrade."""
    unsettled: tuple[str, ...] = ()
    """The uids from earlier questions that the upgrade holds again."""
    is_anew: bool = True
    """Whether this question replaces `handled` of earlier questions."""
    session: str = ""
    """The session of the latest answer; "": there was none yet."""
    revision: int = 0
    """The latest known revision of that session."""
    takes_pages: bool = False
    """Whether it reads `has_more`; a worker that does not would take a page for all checks."""


class WritePausesInput(Frozen):
    """Asks to try each of these patches once."""

    cluster: str
    patches: tuple[PausePatch, ...]
    seen_at: datetime | None = None
    """When the detector saw the checks and the upgrade; a worker refuses old facts, as in an act."""


class WritePausesResult(Frozen):
    """The results of the patches, in any order."""

    answers: tuple[PauseAnswer, ...] = ()

    @classmethod
    def unanswered(cls, patches: Iterable[PausePatch], why: str) -> Self:
        """The result if no worker answered in time: it is unknown which patches were written."""
        failed = WriteOutcome.FAILED
        return cls(answers=tuple(PauseAnswer(uid=patch.uid, outcome=failed, why=why) for patch in patches))


class PauseOrder(StandingOrder):
    """Pause a check until the upgrade is over, or for a time, even without an upgrade."""

    reason: PersonText = "pause was ordered"
    check: PersonText = ""
    """`namespace/name`; "": every check."""


class UnpauseOrder(OrderMessage):
    """Unpause a check that the upgrade pause has paused, and do not pause it again in this upgrade."""

    reason: PersonText = "unpause was ordered"
    check: PersonText = ""


class ForgetOrder(OrderMessage):
    """Treat a check as not handled in this upgrade, so that it is paused unless it already is."""

    reason: PersonText = "forget was ordered"
    check: PersonText = ""


class UpgradePauseState(Frozen):
    """One page of the answer to the query `state`, in the order of uids."""

    details: str
    """The state of the pause, in words."""
    unreadable: ShortText = ""
    """Why the memory of the previous run cannot be read, so that nothing is changed; "": it was read."""
    observed: UpgradeObservation | None = None
    """The latest observation, with the checks of this page; None: none yet."""
    handled: tuple[Handled, ...] = ()
    failed: tuple[FailedWrite, ...] = ()
    orders: tuple[PauseOrderRecord, ...] = ()
    upgrading_since: datetime | None = None
    warned_at: datetime | None = None
    """When the Event about the long upgrade was emitted."""
    is_resting: bool = False
    """Whether it waits for a wake, an order or `wakes_at`."""
    wakes_at: datetime | None = None
    """When its timer ends; None: there is no timer."""
    next_after: str = ""
    """The argument of the query for the next page; "": this is the last one."""
    left_out: int = 0
    """The number of checks that the result of an ended upgrade pause does not list."""

    def followed_by(self, page: Self) -> Self:
        """The state with the checks of both pages, and otherwise the values of the later page."""
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
    """The result of an upgrade pause, for the Temporal UI."""

    reason: str
    upgrading_since: datetime | None = None
    started: datetime
    ended: datetime
    checks: tuple[Handled, ...] = ()
    """The handled checks with times and identities, at most MOST_IN_RESULT; those of people's orders come
    first."""
    left_out: int = 0
    """The number of further checks."""
    orders: tuple[PauseOrderRecord, ...] = ()


class WarnOfLongUpgradeInput(Frozen):
    """Asks for a Warning Event on each check that an upgrade holds up."""

    cluster: str
    since: datetime
    message: str
    checks: tuple[Handled, ...]
    is_first: bool = True
    """Whether it is the first call about this upgrade."""


class WarnOfLongUpgradeResult(Frozen):
    """The warning was emitted; there is nothing to return."""


OBSERVE_UPGRADE = Contract(
    name="observe_upgrade", start_to_close=timedelta(seconds=5), schedule_to_close=None, retry=FOR_EVER
)
"""Answered by the leading detector, from its queue."""
WRITE_PAUSES = Contract(
    name="write_pauses",
    start_to_close=timedelta(seconds=20),
    schedule_to_close=timedelta(minutes=1),
    retry=ONCE,
)
WARN_OF_LONG_UPGRADE = Contract(
    name="warn_of_long_upgrade",
    start_to_close=timedelta(seconds=20),
    schedule_to_close=timedelta(minutes=1),
    retry=TWICE,
)


def upgrade_pause_id(cluster: str) -> str:
    """The id of the workflow: one cluster has one at a time."""
    return f"upgrade/{cluster}"
