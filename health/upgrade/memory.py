"""PauseMemory: what an upgrade pause remembers from look to look, and from run to run.

Rule: by uid, each check that was handled in this upgrade, so that none is paused twice. An upgrade is told
from the last one by the transitions of its signals (rule 35): it goes on as long as one of those does that
were seen together, whichever joins them and whichever of them began it. Only what the API server has taken is
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
"""Checks that were handled and are not there any more, of which the memory still knows.

The memory counts those that it forgets. One that comes back under its uid is paused like a new check.
"""
MOST_ORDERS = 100


UNNAMED = CheckReference(kind="Check", group="", name="")
"""A check of an earlier run, until a look tells its name."""


class CheckPauseState(StrEnum):
    """How a check that was handled stands."""

    PAUSED = "Paused"
    """By us: it has both annotations."""
    FOUND_PAUSED = "FoundPaused"
    """By somebody else, who also unpauses it."""
    UNPAUSED = "Unpaused"
    """By us, at the end of the upgrade or by an order."""
    UNPAUSED_BY_OTHERS = "UnpausedByOthers"


class LatestWrite(Frozen):
    """What was written and is not seen yet: the detector may answer what was there before for a moment."""

    action: OpenEnum[PauseAction]
    replaced: str
    """The resourceVersion that it was written over."""


class Handled(Frozen):
    """One check that was handled in this upgrade."""

    reference: CheckReference
    uid: str
    how: OpenEnum[CheckPauseState]
    paused_at: datetime | None = None
    """When we paused it; None: we did not, or that is not known any more."""
    unpaused_at: datetime | None = None
    """When it was unpaused, or seen to be."""
    reason: str = ""
    """The reason of the person who had it paused or unpaused; "": the upgrade."""
    identity: str = ""
    """Who that was."""
    obeyed: int = 0
    """The number of the latest order that was obeyed for it."""
    by_order: int = 0
    """In a packed memory, the number of the order that has `reason` and `identity`."""
    latest_write: LatestWrite | None = None
    """None: what was written last has been seen."""
    is_deleted: bool = False
    """Whether the latest answer lacked the check; then `how` says how it stood."""

    def having_seen(self, check: PausableCheck) -> "Handled":
        """The same once the check is answered so: it is there, and the latest write may have been seen."""
        write = self.latest_write
        is_unseen = write is not None and write.replaced == check.resource_version
        known = (check.reference, False, write if is_unseen else None)
        if known == (self.reference, self.is_deleted, write):
            return self
        changes = zip(("reference", "is_deleted", "latest_write"), known, strict=True)
        return self.model_copy(update=dict(changes))

    def having_gone(self) -> "Handled":
        """The same once the check is not there any more; the uid stands for a name that is not known."""
        if self.is_deleted:
            return self
        is_named = self.reference != UNNAMED
        reference = self.reference if is_named else UNNAMED.model_copy(update={"name": self.uid})
        return self.model_copy(update={"is_deleted": True, "reference": reference})

    def as_known(self, check: PausableCheck) -> PausableCheck:
        """The check as it is by now, where it is answered as it was before the latest write."""
        write = self.latest_write
        if write is None or write.replaced != check.resource_version:
            return check
        return check.after(write.action)


class KnownUpgrade(Frozen):
    """Which upgrade the memory is of."""

    since: datetime | None = None
    """When the first of its signals began, by the clock of whoever set it."""
    transitions: tuple[datetime, ...] = ()
    """Those of all its signals that were under way when it was looked at last."""
    first_seen: datetime
    is_over: bool = False
    """Whether its end was seen."""
    old_marks: tuple[str, ...] = ()
    """The uids of checks that had a mark alone when it was first seen, left of the upgrade before it."""
    unseen: tuple[Handled, ...] = ()
    """Of the upgrade before it, the checks whose latest write was not seen yet when it was first seen."""

    @property
    def began(self) -> datetime:
        """When it began, as well as that is known."""
        return self.since or self.first_seen

    def is_another(self, transitions: Collection[datetime]) -> bool:
        """Whether an upgrade that is under way with these came after this one."""
        if not transitions or not self.transitions:
            return self.is_over
        return min(transitions) > max(self.transitions)


class PauseMemory(Frozen):
    """Everything that an upgrade pause remembers."""

    upgrade: KnownUpgrade | None = None
    """None: none was seen under way."""
    handled: tuple[Handled, ...] = ()
    failed: tuple[FailedWrite, ...] = ()
    """What could not be written, and is tried again."""
    forgotten: int = 0
    """How many checks that are not there any more the memory has forgotten."""
    orders: tuple[PauseOrderRecord, ...] = ()
    """Of people, the latest last."""
    warned_at: datetime | None = None
    """When it was told that this upgrade takes long."""
    began: datetime | None = None
    """When the first run began; None in that."""
    unreadable: ShortText = ""
    """Why the memory of the run before cannot be read: nothing may be changed without it; "": it was read."""

    @property
    def by_uid(self) -> Mapping[str, Handled]:
        """What was handled, by uid."""
        return {one.uid: one for one in self.handled}

    @property
    def failed_by_uid(self) -> Mapping[str, FailedWrite]:
        """The failed writes, by uid."""
        return {one.uid: one for one in self.failed}

    @property
    def settled(self) -> tuple[str, ...]:
        """The uids of those that the detector need not hold any more for the upgrade.

        A check whose latest write is not seen yet is not among them: its annotation holds nothing yet. Nor is
        a check with an unsettled patch, which may still change the annotation.
        """
        unsettled = {one.uid for one in self.failed if one.unsettled}
        return tuple(
            sorted(one.uid for one in self.handled if one.latest_write is None and one.uid not in unsettled)
        )

    def next_order_number(self) -> int:
        """The number of an order that is given now."""
        return self.orders[-1].number + 1 if self.orders else 1

    def taking_over(self, written: "PauseMemory", patches: Iterable[PausePatch]) -> "PauseMemory":
        """The memory of now with what was `written` by these patches; orders may have come meanwhile.

        What was not patched such an order has made due at once; what was, and failed, it makes due if it is
        for that check.
        """
        new = [order for order in self.orders if order not in written.orders]
        patched = {patch.uid: patch.reference for patch in patches}
        ordered = {uid for uid, check in patched.items() if latest_for(new, check)}
        now = {one.uid: one for one in self.failed if one.uid not in patched}
        now |= {one.uid: one.due_at_once() for one in written.failed if one.uid in ordered}
        failed = tuple(now.get(one.uid, one) for one in written.failed)
        return self.model_copy(update={"handled": written.handled, "failed": failed})

    def having_been_ordered(self, order: PauseOrderRecord) -> "PauseMemory":
        """The memory with an order more; those that are the oldest by far are forgotten."""
        orders = (*self.orders, order)[-MOST_ORDERS:]
        failed = tuple(one.due_at_once() for one in self.failed)
        return self.model_copy(update={"orders": orders, "failed": failed})
