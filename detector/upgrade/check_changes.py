"""CheckChanges: numbers the changes of pausable checks, so that each answer tells only what changed.

`progress` adds up what the questions tell of handled checks in the same way.

A session is one memory of these numbers. The answer to a question of another session begins with the first
change, and its checks are all that count. Each answer has at most `PAGE` changes; the next question asks for
those after them. At most `MOST_CHECKS` checks are told, those with a mark first: they must be unpaused.
"""

from collections.abc import Iterable
from itertools import takewhile
from uuid import uuid4

from health.gate.pause_progress import PauseProgress
from health.upgrade.observation import MOST_CHECKS, UpgradeObservation
from health.upgrade.pausable_check import PausableCheck
from workflows.upgrade_contracts import ObserveUpgradeInput

PAGE = 400
"""Changes in one answer: 223 KB where all names are the longest, which Temporal takes without a warning."""


class CheckChanges:
    """The changes of one session."""

    def __init__(self, most: int = MOST_CHECKS) -> None:
        """`most` checks are told."""
        self._most = most
        self.begin_anew()

    def begin_anew(self) -> None:
        """Begin another session, to which every check is new."""
        self.progress = PauseProgress()
        self._session = uuid4().hex
        self._left_out = 0
        self._revision = 0
        self._checks: dict[str, PausableCheck] = {}
        self._revisions: dict[str, int] = {}
        """By uid, checks that are gone included; the latest change is the last one."""

    def answer(self, asked: ObserveUpgradeInput, seen: UpgradeObservation) -> UpgradeObservation:
        """What a question is answered, where all this is seen; and `progress` by what it has told."""
        self._take(seen.checks)
        is_whole = asked.session != self._session
        self.progress = self._told(asked, is_known=not is_whole)
        changed = self._after(0 if is_whole else asked.revision)
        page = changed[:PAGE]
        changes = {
            "checks": tuple(self._checks[uid] for uid in page if uid in self._checks),
            "gone": tuple(uid for uid in page if uid not in self._checks),
            "left_out": self._left_out,
            "session": self._session,
            "revision": self._revisions[page[-1]] if page else self._revision,
            "is_whole": is_whole,
            "has_more": len(changed) > len(page),
        }
        return seen.model_copy(update=changes)

    def _told(self, asked: ObserveUpgradeInput, *, is_known: bool) -> PauseProgress:
        """What has been handled by now; nothing, where the question continues an unknown one."""
        handled, transitions = frozenset(asked.handled), frozenset(asked.transitions)
        if asked.is_anew:
            return PauseProgress(transitions, handled)
        if not is_known:
            return PauseProgress()
        return PauseProgress(transitions, self.progress.handled.difference(asked.unsettled) | handled)

    def _take(self, checks: Iterable[PausableCheck]) -> None:
        """Number what changed; `checks` are all that there are."""
        now = {check.uid: check for check in checks}
        for uid in self._checks.keys() - now.keys():
            del self._checks[uid]
            self._changed(uid)
        if len(self._revisions) > len(self._checks) + MOST_CHECKS:
            self.begin_anew()  # more are gone than a session remembers
        self._take_all(now.values())

    def _after(self, revision: int) -> list[str]:
        """The uids of all that changed after a revision, the earliest first."""
        later = takewhile(lambda uid: self._revisions[uid] > revision, reversed(self._revisions))
        return list(later)[::-1]

    def _take_all(self, checks: Iterable[PausableCheck]) -> None:
        self._left_out = 0
        for check in sorted(checks, key=lambda one: not one.is_marked):
            known = self._checks.get(check.uid)
            if known is None and not check.is_marked and len(self._checks) >= self._most:
                self._left_out += 1
            elif known is not check and known != check:
                self._checks[check.uid] = check
                self._changed(check.uid)

    def _changed(self, uid: str) -> None:
        self._revision += 1
        self._revisions.pop(uid, None)
        self._revisions[uid] = self._revision
