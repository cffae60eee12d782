"""Contracts and messages of an upgrade pause: the inputs and results of its workflow and activities.

Temporal retries `observe_upgrade` without limit, because nothing is known without a detector. `sync_pauses`
is tried once, because its facts are too old for a second attempt: the workflow asks the detector again.
"""

from datetime import datetime, timedelta

from health.cluster.upgrade import PauseProgress, UpgradePhase
from health.model.order import OrderMessage, StandingOrder
from health.upgrade.decision import PauseMoment
from health.upgrade.memory import PauseMemory
from objects.frozen import Frozen, OpenEnum
from objects.short_text import PersonText, ShortText
from workflows.kit import FOR_EVER, ONCE, Contract, RunInput

UPGRADE_PAUSE = "UpgradePause"
"""The type of the workflow."""
WAKE_UPGRADE_PAUSE = "wake"
"""The only signal of the detector, without an argument: the upgrade changed, or it became leader."""


class UpgradePauseInput(RunInput):
    """Starts the upgrade pause of a cluster, or continues it in a new run."""

    cluster: str
    memory: PauseMemory = PauseMemory()


class ObserveUpgradeInput(Frozen):
    """Asks the detector for the upgrade, and reports the checks that only their annotation holds."""

    cluster: str
    progress: PauseProgress = PauseProgress()
    paused: int = 0
    """The number of checks that are paused by us, for the metric."""


class SyncPausesInput(Frozen):
    """Asks to bring the annotations of all checks in line with the upgrade and the orders."""

    cluster: str
    moment: PauseMoment
    warning: ShortText | None = None
    """The message of a Warning Event on each check that is paused by us; None: no Event."""
    seen_at: datetime | None = None
    """When the detector saw the upgrade; a worker refuses old facts, as in an act."""


class PauseOrder(StandingOrder):
    """Pause a check until the upgrade is over, or for a time, even without an upgrade."""

    reason: PersonText = "pause was ordered"
    check: PersonText | None = None
    """`namespace/name`; None: every check."""


class UnpauseOrder(OrderMessage):
    """Unpause a check that the upgrade pause has paused, and do not pause it again in this upgrade."""

    reason: PersonText = "unpause was ordered"
    check: PersonText | None = None


class UpgradePauseState(Frozen):
    """The answer of the workflow to the query `state`."""

    details: str
    """The state of the pause, in words."""
    phase: OpenEnum[UpgradePhase] | None = None
    """The phase of the upgrade; None: no detector has answered yet."""
    sign: str | None = None
    memory: PauseMemory = PauseMemory()
    is_resting: bool = False
    """True if it waits for a wake, an order or its timer."""


class UpgradePauseResult(Frozen):
    """The result of an upgrade pause, for the Temporal UI."""

    reason: str
    started: datetime
    ended: datetime
    memory: PauseMemory = PauseMemory()
    """Its last one, with the state of each check and since when it has it."""


OBSERVE_UPGRADE = Contract(
    name="observe_upgrade", start_to_close=timedelta(seconds=5), schedule_to_close=None, retry=FOR_EVER
)
"""Answered by the leading detector, from its queue."""
SYNC_PAUSES = Contract(
    name="sync_pauses",
    start_to_close=timedelta(seconds=40),
    schedule_to_close=timedelta(minutes=1),
    heartbeat=timedelta(seconds=10),
    retry=ONCE,
)


def upgrade_pause_id(cluster: str) -> str:
    """The id of the workflow: one cluster has one at a time."""
    return f"upgrade/{cluster}"
