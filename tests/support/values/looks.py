"""Looks at an upgrade and its checks, as the detector answers them."""

from datetime import UTC, datetime, timedelta

from health.cluster.upgrade import UpgradePhase
from health.model.references import CheckReference
from health.upgrade.failed_write import PauseAnswer, WriteOutcome
from health.upgrade.memory import PauseMemory
from health.upgrade.next_pass import Pass, having_written, next_pass
from health.upgrade.observation import LONG_UPGRADE, UpgradeObservation
from health.upgrade.orders import OrderName, PauseOrderRecord
from health.upgrade.pausable_check import PausableCheck

BEGAN = datetime(2026, 1, 1, 10, tzinfo=UTC)
NOW = BEGAN + timedelta(minutes=1)
LONG = LONG_UPGRADE
NOTHING = PauseMemory()


def check(
    annotations: str = "", *, name: str = "a", version: int = 1, is_going: bool = False
) -> PausableCheck:
    """A check; `annotations` has a P if it is paused, and an M if it is marked."""
    return PausableCheck(
        reference=CheckReference(kind="MachineHealthCheck", namespace="machines", name=name),
        uid=f"uid-{name}",
        resource_version=str(version),
        is_paused="P" in annotations,
        is_marked="M" in annotations,
        is_going=is_going,
    )


def under_way(
    *checks: PausableCheck,
    since: datetime | None = BEGAN,
    also_since: tuple[datetime, ...] = (),
    unread: str = "",
) -> UpgradeObservation:
    return UpgradeObservation(
        phase=UpgradePhase.UNDER_WAY,
        since=since,
        also_since=also_since,
        sign="Version/v: Progressing=True",
        checks=checks,
        unread=unread,
    )


def over(*checks: PausableCheck, phase: UpgradePhase = UpgradePhase.OVER) -> UpgradeObservation:
    return UpgradeObservation(phase=phase, since=BEGAN + timedelta(hours=1), checks=checks)


def unknown(*checks: PausableCheck) -> UpgradeObservation:
    return UpgradeObservation(phase=UpgradePhase.UNKNOWN, why_unknown="it does not say", checks=checks)


def passed(observed: UpgradeObservation, memory: PauseMemory = NOTHING, now: datetime = NOW) -> Pass:
    return next_pass(observed, memory, now)


def answered(  # noqa: PLR0913  an answer has these parts
    done: Pass,
    outcome: WriteOutcome = WriteOutcome.WRITTEN,
    *,
    now: datetime = NOW,
    why: str = "",
    is_refused: bool = False,
    wait_seconds: float = 0,
) -> PauseMemory:
    """The memory once all patches of a pass had this outcome."""
    answers = [
        PauseAnswer(uid=patch.uid, outcome=outcome, why=why, is_refused=is_refused, wait_seconds=wait_seconds)
        for patch in done.patches
    ]
    return having_written(done, answers, now, 0)


def remembering(observed: UpgradeObservation, memory: PauseMemory = NOTHING) -> PauseMemory:
    """The memory after a pass whose patches were all written."""
    return answered(passed(observed, memory))


def actions(done: Pass) -> list[str]:
    return [str(patch.action) for patch in done.patches]


def ordered(
    memory: PauseMemory, order: OrderName, name: str = "machines/a", until: datetime | None = None
) -> PauseMemory:
    record = PauseOrderRecord(
        number=memory.next_order_number(),
        order=order,
        check=name,
        reason="so I say",
        identity="ann",
        given=NOW,
        until=until,
    )
    return memory.having_been_ordered(record)
