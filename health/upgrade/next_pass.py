"""next_pass: what an upgrade pause does next, by the detector's observation and its memory.

Rule: if it is unknown whether the cluster is being upgraded, or some checks were not read, nothing is
changed (rule 36). Otherwise each check has its row (`check_row`). If a setting turns the pause off, only
checks that the memory knows have one, as at the end of an upgrade, because an unknown mark may be another
tool's. The memory of a pass contains the findings; `having_written` adds the writes that the API server
accepted. No pass is the last one while a write is unsettled or not visible yet.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from health.cluster.pause_progress import MOST_CHECKS
from health.upgrade.check_row import CheckRow
from health.upgrade.failed_write import FailedWrite, PauseAnswer, WriteOutcome
from health.upgrade.memory import MOST_GONE, CheckPauseState, Handled, KnownUpgrade, PauseMemory
from health.upgrade.observation import TURNED_OFF, UpgradeObservation
from health.upgrade.orders import latest_for, still_standing
from health.upgrade.pausable_check import PausableCheck, PauseAction, PausePatch
from objects.durations import in_words
from objects.markdown import escaped, listed
from objects.timestamps import stamp

MOST_PATCHES = 200
"""Per pass, so that even at half a second each, all are written before the facts are too old."""
SEEN_WITHIN = timedelta(seconds=30)
"""When to look again for a write that is not visible yet; an edit right after it may hide it."""
MOST_UNWRITTEN_SHOWN = 5
"""The maximum of failed writes named in the details."""


@dataclass(frozen=True, kw_only=True)
class Pass:
    """The work of one pass: patches, a warning, and the next memory."""

    memory: PauseMemory
    """The memory, whether or not the patches are written."""
    why: str
    """The state of the pause, in words."""
    patches: tuple[PausePatch, ...] = ()
    once_written: tuple[Handled, ...] = ()
    """The memory of each check once the patch at the same position is written."""
    warning: str = ""
    """The message of the Event about a long upgrade; "": no Event."""
    until: datetime | None = None
    """When to act without a wake; None: never."""
    next_event: str = ""
    """The event at `until`, in words that may begin a sentence."""
    is_over: bool = False
    """Whether the workflow may end."""
    unwritten: tuple[str, ...] = ()
    """The first failed writes, in words."""

    @property
    def details(self) -> str:
        """The state of the pause and the failed writes, each on a line of its own."""
        return "\n".join([self.why, *self.unwritten])

    @property
    def markdown(self) -> str:
        """The same and the next event, as the current details of the Temporal UI."""
        due = f"{self.next_event} at {stamp(self.until)}" if self.until else "when something changes"
        lines = listed(("Failed so far", "; ".join(self.unwritten)), ("Next", due))
        return f"{escaped(self.why)}\n\n{lines}"


def next_pass(observed: UpgradeObservation, memory: PauseMemory, now: datetime) -> Pass:
    if memory.unreadable:
        cancelled = "; it was cancelled, and obeys once the memory can be read" if memory.orders else ""
        return Pass(memory=memory, why=f"changes nothing{cancelled}: {memory.unreadable}")
    if observed.why_nothing_is_done:
        return Pass(memory=memory, why=f"changes nothing: {observed.why_nothing_is_done}")
    memory = _of_this_upgrade(observed, memory, now)
    rows = _rows(observed, memory)
    wanted = [
        (row, action) for row in rows if (action := row.action(now, is_under_way=observed.is_under_way))
    ]
    memory = _having_found(memory, observed, rows, {row.check.uid for row, _ in wanted}, now)
    put_off = _put_off(memory, wanted, now)
    due = [(row, action) for row, action in wanted if row.check.uid not in put_off][:MOST_PATCHES]
    warn_at, kept_until = _warn_at(observed, memory), _kept_until(observed, memory, now)
    unseen = _unseen(memory)
    look_again = now + SEEN_WITHIN if unseen else None
    due_next = _earliest(
        (min(put_off.values(), default=None), "tries a failed write again"),
        (warn_at, "warns of a long upgrade"),
        (kept_until, "the pause of an order ends"),
        (look_again, "looks for its writes"),
    )
    return Pass(
        memory=memory,
        why=_words(observed, memory),
        patches=tuple(row.patch(action) for row, action in due),
        once_written=tuple(row.handled_by(action, now) for row, action in due),
        warning=_warning(observed, memory) if warn_at and warn_at <= now else "",
        until=due_next[0],
        next_event=due_next[1],
        is_over=observed.is_over and not wanted and kept_until is None and not unseen,
        unwritten=tuple(map(str, memory.failed[:MOST_UNWRITTEN_SHOWN])),
    )


def _earliest(*events: tuple[datetime | None, str]) -> tuple[datetime | None, str]:
    """The earliest of these events with a time; without one, None and no words."""
    timed = [(at, words) for at, words in events if at is not None]
    return min(timed, key=lambda event: event[0]) if timed else (None, "")


def having_written(passed: Pass, answers: Iterable[PauseAnswer], now: datetime, spread: float) -> PauseMemory:
    """The memory after the patches of a pass; a patch without an answer has failed."""
    by_uid = {answer.uid: answer for answer in answers}
    memory, handled = passed.memory, dict(passed.memory.by_uid)
    failed = dict(memory.failed_by_uid)
    for patch, done in zip(passed.patches, passed.once_written, strict=True):
        answer = by_uid.get(
            patch.uid, PauseAnswer(uid=patch.uid, outcome=WriteOutcome.FAILED, why="no answer")
        )
        if answer.outcome is WriteOutcome.WRITTEN:
            handled[patch.uid] = done
            failed.pop(patch.uid, None)
        else:
            failed[patch.uid] = FailedWrite.after(failed.get(patch.uid), patch, answer, now, spread)
    changes = {"handled": tuple(handled.values()), "failed": tuple(failed.values())}
    return memory.model_copy(update=changes)


def _of_this_upgrade(observed: UpgradeObservation, memory: PauseMemory, now: datetime) -> PauseMemory:
    """The memory for the observed upgrade: another upgrade starts with a new one (rule 35)."""
    earlier = memory.upgrade
    if not observed.is_under_way:
        over = earlier and earlier.model_copy(update={"is_over": True})
        return memory.model_copy(update={"upgrade": over})
    if earlier is not None and not earlier.is_another(observed.transitions):
        same = earlier.model_copy(update={"transitions": observed.transitions})
        return memory.model_copy(update={"upgrade": same})
    before = memory.by_uid
    checks = (
        before[check.uid].as_known(check) if check.uid in before else check for check in observed.checks
    )
    marked_alone = (check.uid for check in checks if check.is_marked and not check.is_paused)
    marks = {"old_marks": tuple(marked_alone) if earlier is not None else (), "unseen": _unseen(memory)}
    upgrade = KnownUpgrade(since=observed.since, transitions=observed.transitions, first_seen=now)
    upgrade = upgrade.model_copy(update=marks)  # unlimited numbers are valid here: this is not a message
    orders = still_standing(memory.orders, upgrade.began, now)
    unsettled = tuple(write for write in memory.failed if write.unsettled)
    return PauseMemory(upgrade=upgrade, failed=unsettled, orders=orders, began=memory.began)


def _unseen(memory: PauseMemory) -> tuple[Handled, ...]:
    """The checks with a write that is not visible yet."""
    return tuple(check for check in memory.handled if check.latest_write is not None and not check.is_deleted)


def _ours(observed: UpgradeObservation, memory: PauseMemory) -> list[PausableCheck]:
    """The checks that have a row, including those with a failed write, which may have succeeded."""
    there = [check for check in observed.checks if not check.is_going]
    if not observed.is_turned_off:
        return there
    ours = {*memory.by_uid, *(write.uid for write in memory.failed)}
    return [check for check in there if check.uid in ours]


def _rows(observed: UpgradeObservation, memory: PauseMemory) -> list[CheckRow]:
    upgrade, handled, failed = memory.upgrade, memory.by_uid, memory.failed_by_uid
    unseen = {check.uid: check for check in upgrade.unseen} if upgrade else {}
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
    """The memory with the checks that need no patch, and without failures of obsolete patches."""
    found: dict[str, Handled] = {}
    for row in rows:
        uid = row.check.uid
        if uid in wanted and row.before is not None:
            found[uid] = row.before
        elif uid not in wanted and (observed.is_under_way or row.before is not None):
            found[uid] = row.handled_as_found(now)
    lost = [check for check in memory.handled if check.uid not in found]
    gone = [check.having_gone() for check in lost[-MOST_GONE:]]
    changes = {
        "handled": (*gone, *found.values()),
        "failed": tuple(write for write in memory.failed if write.uid in wanted),
        "forgotten": memory.forgotten + len(lost) - len(gone),
    }
    return memory.model_copy(update=changes)


def _put_off(
    memory: PauseMemory, wanted: Iterable[tuple[CheckRow, PauseAction]], now: datetime
) -> dict[str, datetime]:
    """By uid, when a failed write is tried again."""
    failed = memory.failed_by_uid
    checks = (row.check for row, _ in wanted if row.check.uid in failed)
    tries = ((check.uid, failed[check.uid].put_off_until(check.resource_version, now)) for check in checks)
    return {uid: again for uid, again in tries if again}


def _warn_at(observed: UpgradeObservation, memory: PauseMemory) -> datetime | None:
    """When the Event about a long upgrade is due; None: not, or already emitted."""
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
    """The earliest end of a pause that a person ordered beyond upgrades."""
    if observed.is_under_way or observed.is_turned_off:
        return None
    return min((order.until for order in memory.orders if order.until and order.is_kept(now)), default=None)


def _words(observed: UpgradeObservation, memory: PauseMemory) -> str:
    there = [check for check in memory.handled if not check.is_deleted]
    paused = sum(check.how is CheckPauseState.PAUSED for check in there)
    left = sum(check.how in {CheckPauseState.UNPAUSED, CheckPauseState.UNPAUSED_BY_OTHERS} for check in there)
    began = memory.upgrade.since if memory.upgrade else None
    since = f" since {stamp(began)}" if began else ""
    upgrade = f"the cluster is being upgraded{since}, says {observed.sign}"
    none = TURNED_OFF if observed.is_turned_off else "no upgrade is under way"
    state = upgrade if observed.is_under_way else none
    long = f"; it takes long, as an Event said at {stamp(memory.warned_at)}" if memory.warned_at else ""
    counts = f"{paused} of {len(there)} checks are paused by it, {left} were unpaused"
    return f"{state}{long}: {counts}{_beyond(observed, memory)}"


def _beyond(observed: UpgradeObservation, memory: PauseMemory) -> str:
    """The numbers above a limit, as the end of a sentence."""
    held = "the upgrade itself holds" if observed.is_under_way else "nothing is done with"
    above = f"; {observed.left_out} more are above the bound of {MOST_CHECKS}: {held} them"
    forgotten = f"; {memory.forgotten} that are not there any more are forgotten"
    return f"{above if observed.left_out else ''}{forgotten if memory.forgotten else ''}"
