"""What is to be said of one target now, by all checks that select it.

Of two checks that select one target the one that calls it unhealthy is heard. Where one of them cannot be
judged by, nobody can say. A check in shadow says nothing.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from detector.state.check_state import CheckState
from detector.state.cluster_state import ClusterState
from detector.state.target_store import place_of
from health.gate.cluster_context import CheckProblem
from health.gate.invalid_check import InvalidCheckError
from health.gate.target_report import TargetFindings, TargetReport, TargetReports
from health.model.references import CheckReference
from health.model.target import Target, TargetName
from objects.group_kind import ServedKind


@dataclass(frozen=True)
class WantedReport:
    """A report, stored or not."""

    reports: TargetReports
    report: TargetReport
    target: Target
    kind: ServedKind

    @property
    def is_stored(self) -> bool:
        """Whether the target, as it was seen, says so."""
        return self.reports.is_stored(self.report, self.target)


@dataclass(frozen=True)
class Judgement:
    """What is to be said of a target, and when to ask again."""

    wanted: WantedReport | None = None
    """None: nothing, or nobody can say."""
    changes: datetime | None = None
    """When something else is to be said, if nothing happens; None: never."""
    unseen: CheckReference | None = None
    """The check that could not be judged by."""


@dataclass(frozen=True)
class TargetJudge:
    """Judges the targets of one cluster."""

    cluster_state: ClusterState
    sees: Callable[[CheckReference], bool]
    problem: Callable[[CheckReference], CheckProblem | None]
    """What is wrong with a check, as was told last."""
    now: Callable[[], datetime]

    def judge(self, name: TargetName) -> Judgement:
        """What is to be said of a target now."""
        target = self.cluster_state.targets.at(name.place).get(name.name)
        if target is None:
            return Judgement()
        wanted, changes = None, list[datetime | None]()
        for reference, check_state, reports in self._judging(name):
            if not self.sees(reference):
                return Judgement(changes=_earliest(changes), unseen=reference)
            findings = self._findings(reference, target)
            changes.append(reports.next_change(check_state.check, target, findings))
            said = reports.wanted(check_state.check, target, findings)
            report = said if wanted is None else wanted.report.merged_with(said)
            wanted = WantedReport(reports, report, target, check_state.kind.targets)
        return Judgement(wanted, _earliest(changes))

    def _judging(self, name: TargetName) -> Iterator[tuple[CheckReference, CheckState, TargetReports]]:
        """The checks whose word on a target is heard."""
        context = self.cluster_state.cluster_context
        for reference, check_state in self.cluster_state.checks.items():
            reports = check_state.kind.target_reports
            if name.name not in check_state.selected or place_of(reference) != name.place:
                continue
            if reports is None or isinstance(check_state.check, InvalidCheckError):
                continue
            if not check_state.is_shadow_in(context):
                yield reference, check_state, reports

    def _findings(self, check: CheckReference, target: Target) -> TargetFindings:
        name, uid = target.metadata.name, target.metadata.uid
        acts = self.cluster_state.act_findings
        found = acts.of(check, name, uid)
        return TargetFindings(
            self.now(),
            self.cluster_state.cluster_context,
            self.problem(check),
            found.request_error if found is not None else "",
            is_request_untold=not acts.is_heard(check, name, uid)
            and not self.cluster_state.requests.of(check, name),
        )


def _earliest(times: Iterable[datetime | None]) -> datetime | None:
    """The first of times that may never come."""
    return min((time for time in times if time is not None), default=None)
