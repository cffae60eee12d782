"""Computes the report on one target from all checks that select it.

If two checks select a target, the one that calls it unhealthy wins. If one of them cannot be judged now,
there is no report. A check in shadow reports nothing.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from detector.state.check_state import CheckState
from detector.state.cluster_state import ClusterState
from detector.state.target_store import place_of
from health.check.target_report import TargetFindings, TargetReport, TargetReports
from health.cluster.cluster_context import CheckProblem
from health.model.invalid_check import InvalidCheckError
from health.model.references import CheckReference
from health.model.target import Target, TargetName
from objects.group_kind import ServedKind


@dataclass(frozen=True)
class WantedReport:
    """A report, whether the target's status has it or not."""

    reports: TargetReports
    report: TargetReport
    target: Target
    kind: ServedKind

    @property
    def is_stored(self) -> bool:
        """True if the target as last seen has this report."""
        return self.reports.is_stored(self.report, self.target)


@dataclass(frozen=True)
class Judgement:
    """The report on a target, and when to judge again."""

    wanted: WantedReport | None = None
    """None: there is nothing to report, or a check cannot be judged."""
    changes: datetime | None = None
    """When the report changes without an event; None: never."""
    unseen: CheckReference | None = None
    """The check that could not be judged."""


@dataclass(frozen=True)
class TargetJudge:
    """Judges targets by all checks that report on them."""

    cluster_state: ClusterState
    sees: Callable[[CheckReference], bool]
    problem: Callable[[CheckReference], CheckProblem | None]
    """Returns the problem of a check, as last reported."""
    now: Callable[[], datetime]

    def judge(self, name: TargetName) -> Judgement:
        """The report on a target now, and when it changes."""
        target = self.cluster_state.targets.at(name.place).get(name.name)
        if target is None:
            return Judgement()
        wanted, changes = None, list[datetime | None]()
        for reference, check_state, reports in self._judging(name):
            if not self.sees(reference):
                return Judgement(changes=_earliest(changes), unseen=reference)
            findings = self._findings(reference, target)
            changes.append(reports.next_change(check_state.check, target, findings))
            own_report = reports.wanted(check_state.check, target, findings)
            report = own_report if wanted is None else wanted.report.merged_with(own_report)
            wanted = WantedReport(reports, report, target, check_state.kind.targets)
        return Judgement(wanted, _earliest(changes))

    def _judging(self, name: TargetName) -> Iterator[tuple[CheckReference, CheckState, TargetReports]]:
        """The checks that report on the target."""
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
        has_request = bool(self.cluster_state.requests.of(check, name))
        return TargetFindings(
            now=self.now(),
            context=self.cluster_state.cluster_context,
            problem=None if has_request else self.problem(check),
            request_error=found.request_error if found is not None else "",
            is_request_unreported=not has_request and not acts.is_heard(check, name, uid),
        )


def _earliest(times: Iterable[datetime | None]) -> datetime | None:
    """The earliest time that is not None."""
    return min((time for time in times if time is not None), default=None)
