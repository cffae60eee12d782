"""next_pass: what an upgrade pause does next, by what the detector sees and what it remembers.

Rule: where nobody can say whether the cluster is being upgraded, or the checks are not all read, nothing is
changed at all (rule 36). Else each check has its row (`check_row`). Where a setting turns the pause off, only
those have one that are ours, as at the end of an upgrade: whose a mark is that nobody here remembers, nobody
knows. Done is what the API server has taken: the memory of a pass knows what was found, and `having_written`
adds what was written. No pass is the last one while a write is unsettled, or is not seen yet.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from health.gate.pause_progress import MOST_CHECKS
from health.upgrade.check_row import CheckRow
from health.upgrade.failed_write import FailedWrite, PauseAnswer, WriteOutcome
from health.upgrade.memory import MOST_GONE, CheckPauseState, Handled, KnownUpgrade, PauseMemory
from health.upgrade.observation import TURNED_OFF, UpgradeObservation
from health.upgrade.orders import latest_for, still_standing
from health.upgrade.pausable_check import PausableCheck, PauseAction, PausePatch
from objects.durations import in_words
from objects.timestamps import stamp

MOST_PATCHES = 200
"""In one pass: an API server that takes half a second for each answers all before they are too old."""
SEEN_WITHIN = timedelta(seconds=30)
"""When it is looked again for a write that is not seen yet: an edit right after it may have hidden it."""
MOST_TOLD = 5
"""Of what cannot be written, in the words for people."""


@dataclass(frozen=True)
class Pass:
    """What is to be done."""

    memory: PauseMemory
    """What is remembered whether or not the patches are written."""
    why: str
    """Where it stands, for people."""
    patches: tuple[PausePatch, ...] = ()
    once_written: tuple[Handled, ...] = ()
    """What is remembered once the patch in its place is written."""
    warning: str = ""
    """What is to be told of an upgrade that takes long; "": nothing."""
    until: datetime | None = None
    """When there is something to do without a wake; None: never."""
    is_over: bool = False
    """Whether nothing is left to do."""
    unwritten: tuple[str, ...] = ()
    """What cannot be written, the first of it, for people."""

    @property
    def details(self) -> str:
        """Where it stands with what cannot be written, each in a line of its own."""
        return "\n".join([self.why, *self.unwritten])


def next_pass(observed: UpgradeObservation, memory: PauseMemory, now: datetime) -> Pass:
    """What is to be done now."""
    if memory.unreadable:
        return Pass(memory, f"changes nothing: {memory.unreadable}")
    if observed.why_nothing_is_done:
        return Pass(memory, f"changes nothing: {observed.why_nothing_is_done}")
    memory = _of_this_upgrade(observed, memory, now)
    rows = _rows(observed, memory)
    wanted = [
        (row, action) for row in rows if (action := row.action(now, is_under_way=observed.is_under_way))
    ]
    memory = _having_found(memory, observed, rows, {row.check.uid for row, _ in wanted}, now)
    put_off = _put_off(memory, wanted, now)
    due = [one for one in wanted if one[0].check.uid not in put_off][:MOST_PATCHES]
    warn_at, kept_until = _warn_at(observed, memory), _kept_until(observed, memory, now)
    unseen = _unseen(memory)
    look_again = now + SEEN_WITHIN if unseen else None
    times = [*put_off.values(), *(one for one in (warn_at, kept_until, look_again) if one)]
    return Pass(
        memory,
        _words(observed, memory),
        patches=tuple(row.patch(action) for row, action in due),
        once_written=tuple(row.handled_by(action, now) for row, action in due),
        warning=_warning(observed, memory) if warn_at and warn_at <= now else "",
        until=min(times, default=None),
        is_over=observed.is_over and not wanted and kept_until is None and not unseen,
        unwritten=tuple(map(str, memory.failed[:MOST_TOLD])),
    )


def having_written(passed: Pass, answers: Iterable[PauseAnswer], now: datetime, spread: float) -> PauseMemory:
    """What is remembered once the patches of a pass were tried; without an answer one has failed."""
    told = {answer.uid: answer for answer in answers}
    memory, handled = passed.memory, dict(passed.memory.by_uid)
    failed = dict(memory.failed_by_uid)
    for patch, done in zip(passed.patches, passed.once_written, strict=True):
        answer = told.get(patch.uid, PauseAnswer(uid=patch.uid, outcome=WriteOutcome.FAILED, why="no answer"))
        if answer.outcome is WriteOutcome.WRITTEN:
            handled[patch.uid] = done
            failed.pop(patch.uid, None)
        else:
            failed[patch.uid] = FailedWrite.after(failed.get(patch.uid), patch, answer, now, spread)
    changes = {"handled": tuple(handled.values()), "failed": tuple(failed.values())}
    return memory.model_copy(update=changes)


def _of_this_upgrade(observed: UpgradeObservation, memory: PauseMemory, now: datetime) -> PauseMemory:
    """The memory as of the upgrade that is observed: another one begins anew (rule 35)."""
    known = memory.upgrade
    if not observed.is_under_way:
        over = known and known.model_copy(update={"is_over": True})
        return memory.model_copy(update={"upgrade": over})
    if known is not None and not known.is_another(observed.transitions):
        same = known.model_copy(update={"transitions": observed.transitions})
        return memory.model_copy(update={"upgrade": same})
    before = memory.by_uid
    checks = (before[one.uid].as_known(one) if one.uid in before else one for one in observed.checks)
    marked_alone = (one.uid for one in checks if one.is_marked and not one.is_paused)
    marks = {"old_marks": tuple(marked_alone) if known is not None else (), "unseen": _unseen(memory)}
    upgrade = KnownUpgrade(since=observed.since, transitions=observed.transitions, first_seen=now)
    upgrade = upgrade.model_copy(update=marks)  # as many as there are: no message has this form
    orders = still_standing(memory.orders, upgrade.began, now)
    unsettled = tuple(one for one in memory.failed if one.unsettled)
    return PauseMemory(upgrade=upgrade, failed=unsettled, orders=orders, began=memory.began)


def _unseen(memory: PauseMemory) -> tuple[Handled, ...]:
    """The checks that were written, and were not seen so yet."""
    return tuple(one for one in memory.handled if one.latest_write is not None and not one.is_deleted)


def _ours(observed: UpgradeObservation, memory: PauseMemory) -> list[PausableCheck]:
    """The checks that have a row; what could not be written may have been written all the same."""
    there = [check for check in observed.checks if not check.is_going]
    if not observed.is_turned_off:
        return there
    ours = {*memory.by_uid, *(one.uid for one in memory.failed)}
    return [check for check in there if check.uid in ours]


def _rows(observed: UpgradeObservation, memory: PauseMemory) -> list[CheckRow]:
    upgrade, handled, failed = memory.upgrade, memory.by_uid, memory.failed_by_uid
    unseen = {one.uid: one for one in upgrade.unseen} if upgrade else {}
    old_marks = frozenset(upgrade.old_marks) if upgrade else frozenset[str]()
    orders = () if observed.is_turned_off else memory.orders

    def row(check: PausableCheck) -> CheckRow:
        uid, written = check.uid, unseen.get(check.uid)
        check = written.as_known(check) if written else check
        order = latest_for(orders, check.reference) if orders else None
        return CheckRow.of(check, handled.get(uid), order, old_marks, failed.get(uid))

    return [row(check) for check in _ours(observed, memory)]


def _having_found(
    memory: PauseMemory,
    observed: UpgradeObservation,
    rows: Iterable[CheckRow],
    wanted: Collection[str],
    now: datetime,
) -> PauseMemory:
    """The memory with all that is so without a patch; of what nobody wants any more no failure is left."""
    found: dict[str, Handled] = {}
    for row in rows:
        uid = row.check.uid
        if uid in wanted and row.before is not None:
            found[uid] = row.before
        elif uid not in wanted and (observed.is_under_way or row.before is not None):
            found[uid] = row.handled_as_found(now)
    lost = [one for one in memory.handled if one.uid not in found]
    gone = [one.having_gone() for one in lost[-MOST_GONE:]]
    changes = {
        "handled": (*gone, *found.values()),
        "failed": tuple(one for one in memory.failed if one.uid in wanted),
        "forgotten": memory.forgotten + len(lost) - len(gone),
    }
    return memory.model_copy(update=changes)


def _put_off(
    memory: PauseMemory, wanted: Iterable[tuple[CheckRow, PauseAction]], now: datetime
) -> dict[str, datetime]:
    """By uid, when what failed is tried again."""
    failed = memory.failed_by_uid
    checks = (row.check for row, _ in wanted if row.check.uid in failed)
    tries = ((check.uid, failed[check.uid].put_off_until(check.resource_version, now)) for check in checks)
    return {uid: again for uid, again in tries if again}


def _warn_at(observed: UpgradeObservation, memory: PauseMemory) -> datetime | None:
    """When it is told that the upgrade takes long; None: not, or not any more."""
    if not observed.is_under_way or memory.upgrade is None or memory.warned_at is not None:
        return None
    return memory.upgrade.began + observed.long_upgrade


def _warning(observed: UpgradeObservation, memory: PauseMemory) -> str:
    began = f" that began at {stamp(memory.upgrade.began)}" if memory.upgrade else ""
    return (
        f"paused for an upgrade of the cluster{began} and takes longer than "
        f"{in_words(observed.long_upgrade)}; its targets are not remediated until it is over"
    )


def _kept_until(observed: UpgradeObservation, memory: PauseMemory, now: datetime) -> datetime | None:
    """When the next of the pauses ends that people keep though no upgrade is under way."""
    if observed.is_under_way or observed.is_turned_off:
        return None
    return min((one.until for one in memory.orders if one.until and one.is_kept(now)), default=None)


def _words(observed: UpgradeObservation, memory: PauseMemory) -> str:
    """What is paused."""
    there = [one for one in memory.handled if not one.is_deleted]
    paused = sum(one.how is CheckPauseState.PAUSED for one in there)
    left = sum(one.how in {CheckPauseState.UNPAUSED, CheckPauseState.UNPAUSED_BY_OTHERS} for one in there)
    began = memory.upgrade.since if memory.upgrade else None
    since = f" since {stamp(began)}" if began else ""
    upgrade = f"the cluster is being upgraded{since}, says {observed.sign}"
    none = TURNED_OFF if observed.is_turned_off else "no upgrade is under way"
    state = upgrade if observed.is_under_way else none
    long = f"; it takes long, as was told at {stamp(memory.warned_at)}" if memory.warned_at else ""
    counts = f"{paused} of {len(there)} checks are paused by it, {left} were unpaused"
    return f"{state}{long}: {counts}{_beyond(observed, memory)}"


def _beyond(observed: UpgradeObservation, memory: PauseMemory) -> str:
    """What is above a bound."""
    held = "the upgrade itself holds" if observed.is_under_way else "nothing is done with"
    above = f"; {observed.left_out} more are above the bound of {MOST_CHECKS}: {held} them"
    forgotten = f"; {memory.forgotten} that are not there any more are forgotten"
    return f"{above if observed.left_out else ''}{forgotten if memory.forgotten else ''}"
