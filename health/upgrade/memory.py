"""PauseMemory: the memory of an upgrade pause, kept across observations and runs.

Rule: it has each check that was handled in this upgrade, by uid, so that none is paused twice. The
transitions of the signals distinguish an upgrade from the last one (rule 35): it goes on as long as one of
the signals seen together goes on, and other signals may join. Only a write that the API server accepted is
remembered as written (rule 47).
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from enum import StrEnum

from health.model.references import CheckReference
from health.upgrade.failed_write import FailedWrite
from health.upgrade.orders import PauseOrderRecord, latest_for
from health.upgrade.pausable_check import PausableCheck, PauseAction, PausePatch
from objects.frozen import Frozen, OpenEnum
from objects.short_text import ShortText

MOST_GONE = 1_000
"""The maximum of deleted checks in the memory.

Further ones are only counted. A check that comes back with its uid is paused like a new one.
"""
MOST_ORDERS = 100


UNNAMED = CheckReference(kind="Check", group="", name="")
"""A check of an earlier run, until an observation has its name."""


class CheckPauseState(StrEnum):
    """The state in which a handled check was found or left."""

    PAUSED = "Paused"
    """Paused by us: it has both annotations."""
    FOUND_PAUSED = "FoundPaused"
    """Paused by another user or tool, which also unpauses it."""
    UNPAUSED = "Unpaused"
    """Unpaused by us, at the end of the upgrade or by an order."""
    UNPAUSED_BY_OTHERS = "UnpausedByOthers"


class LatestWrite(Frozen):
    """A write that is not visible yet, because the detector's state may be slightly older."""

    action: OpenEnum[PauseAction]
    replaced: str
    """The resourceVersion before the write."""


class Handled(Frozen):
    """One check that was handled in this upgrade."""

    reference: CheckReference
    uid: str
    how: OpenEnum[CheckPauseState]
    paused_at: datetime | None = None
    """When we paused it; None: we did not, or the time is unknown."""
    unpaused_at: datetime | None = None
    """When it was unpaused, or first seen unpaused."""
    reason: str = ""
    """The reason of a person's order to pause or unpause it; "": the upgrade."""
    identity: str = ""
    """The identity of that person."""
    obeyed: int = 0
    """The number of the latest order that was obeyed for it."""
    by_order: int = 0
    """In a packed memory, the number of the order that has `reason` and `identity`."""
    latest_write: LatestWrite | None = None
    """None: the latest write is visible."""
    is_deleted: bool = False
    """Whether the latest observation lacked the check; `how` then keeps its last state."""

    def having_seen(self, check: PausableCheck) -> "Handled":
        """The same after an observation of the check, in which the latest write may be visible."""
        write = self.latest_write
        is_unseen = write is not None and write.replaced == check.resource_version
        current = (check.reference, False, write if is_unseen else None)
        if current == (self.reference, self.is_deleted, write):
            return self
        changes = zip(("reference", "is_deleted", "latest_write"), current, strict=True)
        return self.model_copy(update=dict(changes))

    def having_gone(self) -> "Handled":
        """The same after the check was deleted; its uid replaces an unknown name."""
        if self.is_deleted:
            return self
        is_named = self.reference != UNNAMED
        reference = self.reference if is_named else UNNAMED.model_copy(update={"name": self.uid})
        return self.model_copy(update={"is_deleted": True, "reference": reference})

    def as_known(self, check: PausableCheck) -> PausableCheck:
        """The check with the latest write applied, if the observation is older than that write."""
        write = self.latest_write
        if write is None or write.replaced != check.resource_version:
            return check
        return check.after(write.action)


class KnownUpgrade(Frozen):
    """The upgrade that the memory is about."""

    since: datetime | None = None
    """When the first of its signals began, by the clock of the controller that set it."""
    transitions: tuple[datetime, ...] = ()
    """The transitions of all its signals under way at the last observation."""
    first_seen: datetime
    is_over: bool = False
    """Whether its end was seen."""
    old_marks: tuple[str, ...] = ()
    """The uids of checks with only a mark when it was first seen, left over from the upgrade before."""
    unseen: tuple[Handled, ...] = ()
    """Checks of the upgrade before whose latest write was not visible when this one was first seen."""

    @property
    def began(self) -> datetime:
        """When it began, or was first seen."""
        return self.since or self.first_seen

    def is_another(self, transitions: Collection[datetime]) -> bool:
        """True if an upgrade with these transitions is a later one."""
        if not transitions or not self.transitions:
            return self.is_over
        return min(transitions) > max(self.transitions)


class PauseMemory(Frozen):
    """The memory of an upgrade pause, kept across runs."""

    upgrade: KnownUpgrade | None = None
    """None: no upgrade was seen under way."""
    handled: tuple[Handled, ...] = ()
    failed: tuple[FailedWrite, ...] = ()
    """Failed writes that are tried again."""
    forgotten: int = 0
    """How many deleted checks the memory has dropped."""
    orders: tuple[PauseOrderRecord, ...] = ()
    """The orders of people, the latest last."""
    warned_at: datetime | None = None
    """When the Event about the long upgrade was emitted."""
    began: datetime | None = None
    """When the first run began; None in that run."""
    unreadable: ShortText = ""
    """Why the memory of the run before cannot be read, so that nothing may be changed; "": it was read."""

    @property
    def by_uid(self) -> Mapping[str, Handled]:
        return {check.uid: check for check in self.handled}

    @property
    def failed_by_uid(self) -> Mapping[str, FailedWrite]:
        return {write.uid: write for write in self.failed}

    @property
    def settled(self) -> tuple[str, ...]:
        """The uids of checks that only their annotation holds, and no longer the upgrade.

        A check whose latest write is not visible yet is not among them, because its annotation does not hold
        yet. Nor is a check with an unsettled patch, which may still change the annotation.
        """
        unsettled = {write.uid for write in self.failed if write.unsettled}
        return tuple(
            sorted(
                check.uid
                for check in self.handled
                if check.latest_write is None and check.uid not in unsettled
            )
        )

    def next_order_number(self) -> int:
        return self.orders[-1].number + 1 if self.orders else 1

    def taking_over(self, written: "PauseMemory", patches: Iterable[PausePatch]) -> "PauseMemory":
        """The current memory with the results of these patches; orders may have come meanwhile.

        A new order makes failed writes that were not part of these patches due at once, and those that were
        if the order is for that check.
        """
        new = [order for order in self.orders if order not in written.orders]
        patched = {patch.uid: patch.reference for patch in patches}
        ordered = {uid for uid, check in patched.items() if latest_for(new, check)}
        now = {write.uid: write for write in self.failed if write.uid not in patched}
        now |= {write.uid: write.due_at_once() for write in written.failed if write.uid in ordered}
        failed = tuple(now.get(write.uid, write) for write in written.failed)
        return self.model_copy(update={"handled": written.handled, "failed": failed})

    def having_been_ordered(self, order: PauseOrderRecord) -> "PauseMemory":
        """The memory with one more order; only the latest orders are kept."""
        orders = (*self.orders, order)[-MOST_ORDERS:]
        failed = tuple(write.due_at_once() for write in self.failed)
        return self.model_copy(update={"orders": orders, "failed": failed})
