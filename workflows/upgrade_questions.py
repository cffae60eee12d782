"""UpgradeQuestions: the questions of one run to the detector, and the checks that its answers have told.

An answer tells what changed since the one before, and a question tells what was handled since the one before:
so no payload grows with the number of checks. Where the answer is of another session (another detector, or
another lead), both begin anew.
"""

from collections.abc import Iterable
from datetime import datetime

from health.upgrade.observation import UpgradeObservation
from health.upgrade.pausable_check import PausableCheck
from workflows.upgrade_contracts import ObserveUpgradeInput

MOST_TOLD = 2_000
"""Uids in one question: 80 KB."""


class UpgradeQuestions:
    """What one run has asked and was told."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._checks: dict[str, PausableCheck] = {}
        self._session, self._revision = "", 0
        self._told: frozenset[str] = frozenset()
        """The uids that the detector counts as handled."""
        self._told_of: tuple[datetime, ...] | None = None
        """The transitions that it was told; None: it was told nothing."""

    def question(self, transitions: tuple[datetime, ...], settled: Iterable[str]) -> ObserveUpgradeInput:
        """The next one, where these are settled in the upgrade with these transitions."""
        handled = frozenset(settled)
        unsettled = self._told - handled
        is_anew = transitions != self._told_of or len(unsettled) > MOST_TOLD
        told = handled if is_anew else handled - self._told
        return ObserveUpgradeInput(
            cluster=self._cluster,
            transitions=transitions,
            handled=tuple(sorted(told))[:MOST_TOLD],
            unsettled=() if is_anew else tuple(sorted(unsettled)),
            is_anew=is_anew,
            session=self._session,
            revision=self._revision,
            takes_pages=True,
        )

    def has_untold(self, transitions: tuple[datetime, ...], settled: Iterable[str]) -> bool:
        """Whether the detector is to be told of something before the workflow rests."""
        return (self._told_of, self._told) != (transitions, frozenset(settled))

    def take(self, asked: ObserveUpgradeInput, answer: UpgradeObservation) -> None:
        """Add what an answer tells, and what its question has told."""
        if answer.is_whole:
            self._checks = {}
        for uid in answer.gone:
            self._checks.pop(uid, None)
        self._checks |= {check.uid: check for check in answer.checks}
        self._session, self._revision = answer.session, answer.revision
        self._told, self._told_of = self._told_by(asked, answer)

    def _told_by(
        self, asked: ObserveUpgradeInput, answer: UpgradeObservation
    ) -> tuple[frozenset[str], tuple[datetime, ...] | None]:
        """What the detector knows by now; one of another session does not know what was told before."""
        if asked.is_anew:
            return frozenset(asked.handled), asked.transitions
        if answer.session != asked.session:
            return frozenset(), None
        return self._told.difference(asked.unsettled).union(asked.handled), asked.transitions

    def observed(self, answer: UpgradeObservation) -> UpgradeObservation:
        """The answer with all checks that were told."""
        return answer.model_copy(update={"checks": tuple(self._checks.values()), "gone": ()})
