"""UpgradeQuestions: the questions of one run to the detector, and the checks in its answers.

An answer has the changes since the last answer, and a question the checks handled since the last question,
so no payload grows with the number of checks. After an answer of another session (a new detector or leader),
both start with full lists.
"""

from collections.abc import Iterable
from datetime import datetime

from health.upgrade.observation import UpgradeObservation
from health.upgrade.pausable_check import PausableCheck
from workflows.upgrade_contracts import ObserveUpgradeInput

MOST_UIDS = 2_000
"""The maximum of uids in one question: 80 KB."""


class UpgradeQuestions:
    """The questions and the answered checks of one run."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._checks: dict[str, PausableCheck] = {}
        self._session, self._revision = "", 0
        self._reported_uids: frozenset[str] = frozenset()
        """The uids that the detector counts as handled."""
        self._reported_transitions: tuple[datetime, ...] | None = None
        """The transitions in the questions so far; None: no question was asked."""

    def question(self, transitions: tuple[datetime, ...], settled: Iterable[str]) -> ObserveUpgradeInput:
        """The next question, for these settled checks of the upgrade with these transitions."""
        handled = frozenset(settled)
        unsettled = self._reported_uids - handled
        is_anew = transitions != self._reported_transitions or len(unsettled) > MOST_UIDS
        handled_now = handled if is_anew else handled - self._reported_uids
        return ObserveUpgradeInput(
            cluster=self._cluster,
            transitions=transitions,
            handled=tuple(sorted(handled_now))[:MOST_UIDS],
            unsettled=() if is_anew else tuple(sorted(unsettled)),
            is_anew=is_anew,
            session=self._session,
            revision=self._revision,
            takes_pages=True,
        )

    def has_report_due(self, transitions: tuple[datetime, ...], settled: Iterable[str]) -> bool:
        """True if the detector must get another question before the workflow rests."""
        return (self._reported_transitions, self._reported_uids) != (transitions, frozenset(settled))

    def take(self, question: ObserveUpgradeInput, answer: UpgradeObservation) -> None:
        """Add the checks of an answer, and record what its question reported."""
        if answer.is_whole:
            self._checks = {}
        for uid in answer.gone:
            self._checks.pop(uid, None)
        self._checks |= {check.uid: check for check in answer.checks}
        self._session, self._revision = answer.session, answer.revision
        self._reported_uids, self._reported_transitions = self._reported_by(question, answer)

    def _reported_by(
        self, question: ObserveUpgradeInput, answer: UpgradeObservation
    ) -> tuple[frozenset[str], tuple[datetime, ...] | None]:
        """The handled checks that the detector knows; a new session knows none from before."""
        if question.is_anew:
            return frozenset(question.handled), question.transitions
        if answer.session != question.session:
            return frozenset(), None
        return self._reported_uids.difference(question.unsettled).union(
            question.handled
        ), question.transitions

    def observed(self, answer: UpgradeObservation) -> UpgradeObservation:
        """The answer with the checks of all answers."""
        return answer.model_copy(update={"checks": tuple(self._checks.values()), "gone": ()})
