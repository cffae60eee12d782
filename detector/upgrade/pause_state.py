"""PauseState: whether pauses of checks matter in this cluster, and which checks are handled.

`CheckChanges` numbers the changes of pausable checks, so that an answer has only changed checks.
A session is one memory of these numbers. If the question has another session, the answer starts with the
first change and replaces all checks that the workflow knows. An answer has at most `PAGE` changes; the next
question asks for later ones. `progress` sums up the handled checks that the questions report in the same way.

At most `MOST_CHECKS` checks are sent, marked ones first, because they must be unpaused. If more are marked,
the answer reports it, and the upgrade pause changes nothing. An older worker takes a page for all checks, so
the answer to its question has no checks and reports them as unread.
"""

import asyncio
from collections.abc import Callable, Iterable
from itertools import takewhile
from uuid import uuid4

from health.cluster.pause_progress import MOST_CHECKS, PauseProgress
from health.upgrade.observation import UpgradeObservation
from health.upgrade.pausable_check import PausableCheck
from workflows.upgrade_contracts import ObserveUpgradeInput

PAGE = 400
"""Changes in one answer: 223 KB with the longest names, which is below Temporal's warning."""
TAKES_NO_PAGES = "the worker has an older version, which takes one page of checks for all of them"


class CheckChanges:
    """The numbered changes of checks in the current session."""

    def __init__(self, most: int = MOST_CHECKS) -> None:
        """`most` is the limit of checks that are sent."""
        self._most, self._marked = most, 0
        self._left_out: frozenset[str] = frozenset()
        """The uids of checks above the limit."""
        self.begin_anew()

    def begin_anew(self) -> None:
        """Begin another session, for which every check is new."""
        self.progress = PauseProgress()
        self._session = uuid4().hex
        self._revision = 0
        self._checks: dict[str, PausableCheck] = {}
        self._revisions: dict[str, int] = {}
        """By uid, including deleted checks; the latest change is last."""

    def answer(self, question: ObserveUpgradeInput, observation: UpgradeObservation) -> UpgradeObservation:
        """Answer a question, by this observation, and update `progress` by the checks that it reports."""
        if not question.takes_pages:
            self.progress = PauseProgress()
            return observation.model_copy(update={"checks": (), "unread": TAKES_NO_PAGES})
        self._take(observation.checks)
        is_whole = question.session != self._session
        self.progress = self._progress(question, is_known=not is_whole)
        changed = self._after(0 if is_whole else question.revision)
        page = changed[:PAGE]
        changes = {
            "checks": tuple(self._checks[uid] for uid in page if uid in self._checks),
            "gone": tuple(uid for uid in page if uid not in self._checks),
            "left_out": len(self._left_out),
            "unread": self._too_many_marked() or observation.unread,
            "session": self._session,
            "revision": self._revisions[page[-1]] if page else self._revision,
            "is_whole": is_whole,
            "has_more": len(changed) > len(page),
        }
        return observation.model_copy(update=changes)

    def _progress(self, question: ObserveUpgradeInput, *, is_known: bool) -> PauseProgress:
        """The handled checks after this question; none if it continues an unknown session."""
        handled, transitions = frozenset(question.handled), frozenset(question.transitions)
        if question.is_anew:
            return PauseProgress(transitions, handled, self._left_out)
        if not is_known:
            return PauseProgress(left_out=self._left_out)
        handled |= self.progress.handled.difference(question.unsettled)
        return PauseProgress(transitions, handled, self._left_out)

    def _take(self, checks: Iterable[PausableCheck]) -> None:
        """Number the changes; `checks` are all that exist."""
        now = {check.uid: check for check in self._first(checks)}
        for uid in self._checks.keys() - now.keys():
            del self._checks[uid]
            self._changed(uid)
        if len(self._revisions) > len(self._checks) + MOST_CHECKS:
            self.begin_anew()  # more checks were deleted than a session remembers
        for check in now.values():
            previous = self._checks.get(check.uid)
            if previous is not check and previous != check:
                self._checks[check.uid] = check
                self._changed(check.uid)

    def _first(self, checks: Iterable[PausableCheck]) -> list[PausableCheck]:
        """The checks that are sent: marked ones first, then those that were sent before."""
        ranked = sorted(checks, key=lambda check: (not check.is_marked, check.uid not in self._checks))
        self._left_out = frozenset(check.uid for check in ranked[self._most :])
        self._marked = sum(check.is_marked for check in ranked)
        return ranked[: self._most]

    def _too_many_marked(self) -> str:
        """Why no check may be changed; "" unless more checks are marked than are sent."""
        if self._marked <= self._most:
            return ""
        return f"{self._marked} carry the mark of an upgrade pause, which takes at most {self._most}"

    def _after(self, revision: int) -> list[str]:
        """The uids of checks that changed after this revision, earliest first."""
        later = takewhile(lambda uid: self._revisions[uid] > revision, reversed(self._revisions))
        return list(later)[::-1]

    def _changed(self, uid: str) -> None:
        self._revision += 1
        self._revisions.pop(uid, None)
        self._revisions[uid] = self._revision


class PauseState:
    """The progress of pauses in one cluster, which `UpgradePauses` changes and the cluster context reads."""

    def __init__(self, serves_signals: Callable[[], bool], *, is_on: bool) -> None:
        """`serves_signals`: whether the API server serves a kind that can signal an upgrade."""
        self._serves_signals = serves_signals
        self.is_on = is_on
        self.changes = CheckChanges()
        self.changed = asyncio.Event()
        """Set it when the checks or the upgrade may have changed."""
        self._was_concerned = False

    @property
    def is_concerned(self) -> bool:
        """True if pauses matter in this cluster; once noted, it stays true."""
        return self._was_concerned or (self.is_on and self._serves_signals())

    def note_concerned(self) -> None:
        """Note that pauses matter, for as long as the process lives."""
        self._was_concerned = True

    def progress(self) -> PauseProgress | None:
        """The progress that the workflow has reported; None if no check is paused here."""
        return self.changes.progress if self.is_on and self.is_concerned else None
