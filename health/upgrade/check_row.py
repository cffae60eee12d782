"""CheckRow: the action for one check, by its two annotations and the memory of it.

While an upgrade is under way (P: paused, M: marked; "unseen": not handled in this upgrade):

    P M
    - -   unseen: write both; handled: nothing, because a person unpaused it (rule 34)
    P -   nothing: another user or tool paused it; it counts as handled
    P M   nothing: it is already paused by us
    - M   nothing: a person unpaused it; a mark left over from the last upgrade is ignored (rule 35)

After the upgrade, regardless of the memory:

    P M   remove both
    - M   remove the mark, so that the next upgrade pauses the check again
    P -   nothing
    - -   nothing

An order of a person is obeyed once, before these rows. A pause of another user or tool is never removed.

If a row has nothing to write and an earlier patch of the check is unsettled, the row settles it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from health.upgrade.failed_write import FailedWrite
from health.upgrade.memory import CheckPauseState, Handled, LatestWrite
from health.upgrade.orders import OrderName, PauseOrderRecord
from health.upgrade.pausable_check import PausableCheck, PauseAction, PausePatch


@dataclass(frozen=True, kw_only=True)
class CheckRow:
    """One check with its memory and its order."""

    check: PausableCheck
    """Its current state, including a write that the detector has not seen yet."""
    before: Handled | None
    """The memory of it; None: it is unseen."""
    order: PauseOrderRecord | None
    """The latest order for it."""
    has_old_mark: bool
    """Whether it had only a mark when this upgrade, which followed another one, was first seen."""
    is_unsettled: bool = False
    """Whether an earlier patch may still be applied to it."""

    @classmethod
    def of(
        cls,
        check: PausableCheck,
        before: Handled | None,
        order: PauseOrderRecord | None,
        old_marks: Collection[str],
        failed: FailedWrite | None = None,
    ) -> "CheckRow":
        current = before.as_known(check) if before else check
        updated = before.having_seen(check) if before else None
        is_unsettled = failed is not None and failed.is_unsettled(check.resource_version)
        return cls(
            check=current,
            before=updated,
            order=order,
            has_old_mark=check.uid in old_marks,
            is_unsettled=is_unsettled,
        )

    @property
    def new_order(self) -> PauseOrderRecord | None:
        """The order, if it was not obeyed yet."""
        obeyed = self.before.obeyed if self.before else 0
        return self.order if self.order and self.order.number > obeyed else None

    def action(self, now: datetime, *, is_under_way: bool) -> PauseAction | None:
        """The action to write; None: nothing."""
        wanted = self._wanted(now, is_under_way=is_under_way)
        return PauseAction.SETTLE if wanted is None and self.is_unsettled else wanted

    def _wanted(self, now: datetime, *, is_under_way: bool) -> PauseAction | None:
        if is_under_way:
            return self._ordered() if self.new_order else self._by_the_upgrade()
        if self.order and self.order.is_kept(now):
            return self._ordered() if self.new_order else None
        return self._afterwards()

    def patch(self, action: PauseAction) -> PausePatch:
        check = self.check
        return PausePatch(
            reference=check.reference,
            uid=check.uid,
            resource_version=check.resource_version,
            action=action,
        )

    def handled_by(self, action: PauseAction, now: datetime) -> Handled:
        """The memory of the check once `action` is written."""
        changes: dict[str, object] = {
            "latest_write": LatestWrite(action=action, replaced=self.check.resource_version),
            "obeyed": self.order.number if self.order else 0,
        }
        if action is PauseAction.SETTLE:
            return self._handled_by_settling(now, changes)
        match action:
            case PauseAction.PAUSE:
                changes |= {
                    "how": CheckPauseState.PAUSED,
                    "paused_at": now,
                    "unpaused_at": None,
                    **self._who(),
                }
            case PauseAction.UNPAUSE | PauseAction.UNPAUSE_MARKED:
                changes |= {"how": CheckPauseState.UNPAUSED, "unpaused_at": now, **self._who()}
            case PauseAction.REMOVE_MARK:
                pass
        return (self.before or self._unseen(CheckPauseState.UNPAUSED_BY_OTHERS)).model_copy(update=changes)

    def handled_as_found(self, now: datetime) -> Handled:
        """The memory of the check if nothing is to be written."""
        before = self.before or self._unseen(self._how_found())
        how = self._how_found()
        changes: dict[str, object] = {"how": how, "obeyed": self.order.number if self.order else 0}
        if how is not before.how:
            changes |= {"reason": "", "identity": ""}
        if how is CheckPauseState.UNPAUSED_BY_OTHERS and before.how in {
            CheckPauseState.PAUSED,
            CheckPauseState.FOUND_PAUSED,
        }:
            changes |= {"unpaused_at": now}
        if how is CheckPauseState.PAUSED and before.how is not CheckPauseState.PAUSED:
            changes |= {"paused_at": None, "unpaused_at": None}
        is_as_before = (how, changes["obeyed"]) == (before.how, before.obeyed)
        return before if is_as_before else before.model_copy(update=changes)

    def _handled_by_settling(self, now: datetime, changes: Mapping[str, object]) -> Handled:
        """An existing mark stays, so that no visible change would follow that could wake the workflow."""
        found = self.handled_as_found(now)
        return found if self.check.is_marked else found.model_copy(update=changes)

    def _ordered(self) -> PauseAction | None:
        order = self.new_order
        if order is not None and order.order is OrderName.UNPAUSE:
            is_ours = self.check.is_paused and self.check.is_marked
            return PauseAction.UNPAUSE_MARKED if is_ours else None
        return None if self.check.is_paused else PauseAction.PAUSE

    def _by_the_upgrade(self) -> PauseAction | None:
        if self.before is not None or self.check.is_paused:
            return None
        if self.check.is_marked and not self.has_old_mark:
            return None
        return PauseAction.PAUSE

    def _afterwards(self) -> PauseAction | None:
        if not self.check.is_marked:
            return None
        return PauseAction.UNPAUSE if self.check.is_paused else PauseAction.REMOVE_MARK

    def _how_found(self) -> CheckPauseState:
        if self.check.is_paused:
            return CheckPauseState.PAUSED if self.check.is_marked else CheckPauseState.FOUND_PAUSED
        if self.before is not None and self.before.how is CheckPauseState.UNPAUSED:
            return CheckPauseState.UNPAUSED
        return CheckPauseState.UNPAUSED_BY_OTHERS

    def _who(self) -> dict[str, object]:
        order = self.new_order
        if order is None or order.order is OrderName.FORGET:
            return {"reason": "", "identity": ""}
        return {"reason": order.reason, "identity": order.identity}

    def _unseen(self, how: CheckPauseState) -> Handled:
        return Handled(reference=self.check.reference, uid=self.check.uid, how=how)
