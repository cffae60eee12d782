"""Checks that upgrades pause, and syncs of them without an API server."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from health.cluster.upgrade import UpgradePhase
from health.model.references import CheckReference
from health.upgrade.decision import OrderName, PauseMoment, PauseOrderRecord, decide, with_full_names
from health.upgrade.memory import (
    CheckDone,
    PauseMemory,
    SyncedChecks,
    UpgradeObservation,
    needless,
    summed_up,
)
from health.upgrade.pausable_check import PausableCheck, PauseAction
from objects.timestamps import stamp

CREATED = datetime(2025, 12, 24, tzinfo=UTC)
BEGAN = datetime(2026, 1, 1, 10, tzinfo=UTC)
NOW = BEGAN + timedelta(minutes=1)
NEXT = BEGAN + timedelta(days=1)
NOTHING = PauseMemory()
REFUSED = "the server is away"


def check(  # noqa: PLR0913  all have defaults
    annotations: str = "",
    *,
    name: str = "a",
    uid: str = "",
    created: datetime = CREATED,
    marked_for: datetime | str = BEGAN,
    is_going: bool = False,
    is_in_shadow: bool = False,
) -> PausableCheck:
    """A check; `annotations` has a P if it is paused, and an M if it is marked."""
    mark = marked_for if isinstance(marked_for, str) else stamp(marked_for)
    return PausableCheck(
        reference=CheckReference(kind="MachineHealthCheck", namespace="machines", name=name),
        uid=uid or f"uid-{name}",
        created=created,
        is_paused="P" in annotations,
        mark=mark if "M" in annotations else None,
        is_going=is_going,
        is_in_shadow=is_in_shadow,
    )


def under_way(since: datetime | None = BEGAN, *also_since: datetime) -> UpgradeObservation:
    return UpgradeObservation(
        phase=UpgradePhase.UNDER_WAY, since=since, also_since=also_since, sign="Version/v: Progressing=True"
    )


def over(phase: UpgradePhase = UpgradePhase.OVER) -> UpgradeObservation:
    return UpgradeObservation(phase=phase, since=BEGAN + timedelta(hours=1))


UNKNOWN = UpgradeObservation(phase=UpgradePhase.UNKNOWN, why_unknown="it does not say")
OFF = under_way().model_copy(update={"is_turned_off": True})


def edited(one: PausableCheck, action: PauseAction, began: datetime) -> PausableCheck:
    """The check after a patch, as an API server keeps it."""
    match action:
        case PauseAction.PAUSE:
            return replace(one, is_paused=True, mark=stamp(began))
        case PauseAction.UNPAUSE:
            return replace(one, is_paused=False, mark=None)
        case PauseAction.UNPAUSE_MARKED:
            return replace(one, is_paused=False)
        case PauseAction.REMOVE_MARK:
            return replace(one, mark=None)


@dataclass
class FakeChecks:
    """The checks of an API server, and the patches that came."""

    checks: dict[str, PausableCheck] = field(default_factory=dict)
    patches: list[tuple[str, PauseAction]] = field(default_factory=list)
    """The uid and the action of each written patch."""
    paused: list[tuple[str, datetime]] = field(default_factory=list)
    """The uid and the upgrade of each check that was not paused before."""
    versions: dict[str, int] = field(default_factory=dict)
    """By name, how often a check was changed."""

    def add(self, *checks: PausableCheck) -> None:
        for one in checks:
            self.store(one)

    def store(self, one: PausableCheck) -> None:
        name = one.reference.name
        self.checks[name], self.versions[name] = one, self.versions.get(name, 0) + 1

    def edit(self, name: str, annotations: str) -> None:
        """Do as a person: keep the value of the mark if it stays."""
        one = self.checks[name]
        mark = (one.mark or "") if "M" in annotations else None
        self.store(replace(one, is_paused="P" in annotations, mark=mark))

    def annotations(self) -> dict[str, str]:
        return {name: "P" * one.is_paused + "M" * one.is_marked for name, one in sorted(self.checks.items())}

    def done(self, name: str) -> list[str]:
        return [action for uid, action in self.patches if uid == self.checks[name].uid]

    def sync(self, moment: PauseMoment, listed_at: datetime, refused: Collection[str] = ()) -> SyncedChecks:
        """Do as the activity; writes to the checks of these names are refused."""
        orders, refused_orders = with_full_names(moment.orders, tuple(self.checks.values()))
        moment = replace(moment, orders=orders)
        done = [self._write(one, moment, refused) for one in tuple(self.checks.values())]
        return summed_up(done, moment, refused_orders, listed_at.replace(microsecond=0))

    def _write(self, one: PausableCheck, moment: PauseMoment, refused: Collection[str]) -> CheckDone:
        decision = decide(one, moment)
        if decision.action is None:
            return CheckDone(one, decision)
        if one.reference.name in refused:
            return CheckDone(one, decision, REFUSED)
        self.patch(one, decision.action, moment.began)
        return CheckDone(one, decision)

    def patch(self, one: PausableCheck, action: PauseAction, began: datetime) -> None:
        assert one.is_marked or not one.is_paused, "the pause of another writer was touched"
        after = edited(one, action, began)
        self.store(after)
        self.patches.append((one.uid, action))
        if after.is_paused and not one.is_paused:
            self.paused.append((one.uid, began))


@dataclass
class Pause:
    """An upgrade pause without a workflow: its memory, and the checks of its cluster."""

    cluster: FakeChecks = field(default_factory=FakeChecks)
    memory: PauseMemory = NOTHING
    now: datetime = NOW

    @classmethod
    def of(cls, *checks: PausableCheck) -> "Pause":
        pause = cls()
        pause.cluster.add(*checks)
        return pause

    def sync(
        self, observed: UpgradeObservation, *, refused: Collection[str] = (), is_lost: bool = False
    ) -> SyncedChecks | None:
        """One turn of the workflow's loop, a minute after the one before; `is_lost`: without an answer."""
        self.now += timedelta(minutes=1)
        if not (observed.is_under_way or observed.is_over):
            return None
        self.memory = self.memory.for_upgrade(observed, self.now)
        senseless = {one.number for one in needless(self.memory.orders, observed)}
        orders = tuple(one for one in self.memory.orders if one.number not in senseless)
        self.memory = replace(self.memory, orders=orders)
        moment = self.memory.moment(observed, self.now)
        synced = self.cluster.sync(moment, self.now, refused)
        if is_lost:
            self.memory = self.memory.having_lost(self.now)
            return None
        self.memory = self.memory.having_synced(synced, moment, self.now)
        return synced

    def order(self, name: OrderName, check: str | None = "machines/a", until: datetime | None = None) -> None:
        record = PauseOrderRecord(
            number=self.memory.given + 1,
            order=name,
            check=check,
            reason="so I say",
            identity="ann",
            given=self.now,
            until=until,
        )
        self.memory = self.memory.having_been_ordered(record)

    @property
    def annotations(self) -> dict[str, str]:
        return self.cluster.annotations()

    @property
    def states(self) -> dict[str, str]:
        rows = self.memory.synced.rows if self.memory.synced else ()
        return {row.check.rpartition("/")[2]: row.state for row in rows}
