"""Findings about the builds that poll one queue."""

import pytest

from cli.doctor.finding import FindingSeverity
from cli.doctor.of_worker_versions import Pinned, drained_findings, version_findings
from runtime.polling import Build, QueuePollers

A, B, PLAIN, OTHER = Build("paramedic", "a"), Build("paramedic", "b"), Build("", "0.1.0"), Build("", "0.2.0")


def found(builds: list[Build], routed: set[Build]) -> list[tuple[str, FindingSeverity]]:
    polling = frozenset((f"worker-{number}", build) for number, build in enumerate(builds))
    findings = version_findings("queue", QueuePollers(polling, frozenset(routed)), "start one")
    return [(finding.reason, finding.severity) for finding in findings]


@pytest.mark.parametrize(
    ("builds", "routed", "expected"),
    [
        ([PLAIN, PLAIN], set(), []),
        ([A, A], {A}, []),
        ([], set(), [("NoWorker", FindingSeverity.PROBLEM)]),
        ([PLAIN, OTHER], set(), [("SeveralBuilds", FindingSeverity.WARNING)]),
        ([PLAIN, A], {A}, [("SeveralBuilds", FindingSeverity.WARNING)]),
        ([PLAIN, A], set(), [("SeveralBuilds", FindingSeverity.WARNING)]),
        ([A, B], {B}, [("SeveralVersions", FindingSeverity.NOTE)]),
        ([A], set(), [("NoCurrentVersion", FindingSeverity.PROBLEM)]),
        ([A], {B}, [("NoCurrentVersion", FindingSeverity.PROBLEM)]),
        ([PLAIN], {B}, [("NoCurrentVersion", FindingSeverity.PROBLEM)]),
    ],
)
def test_builds_that_share_or_miss_work_are_reported(
    builds: list[Build], routed: set[Build], expected: list[tuple[str, FindingSeverity]]
) -> None:
    assert found(builds, routed) == expected


def test_version_that_is_not_current_is_reported_with_the_command_that_makes_it_so() -> None:
    polling = QueuePollers(frozenset({("worker", A)}), frozenset())
    (finding,) = version_findings("queue", polling, "")
    assert (
        finding.what == "paramedic:a polls the task queue queue, and new workflows go to unversioned workers"
    )
    assert "set-current-version --deployment-name paramedic --build-id a`" in finding.advice


def test_version_that_incidents_are_pinned_to_and_no_worker_runs_is_a_problem() -> None:
    polling = QueuePollers(frozenset({("worker", A)}), frozenset({A}))
    pinned = {A: Pinned(3, ("x",)), B: Pinned(2, ("remediation/c/NodeHealthCheck/workers/node-1/1",))}
    (finding,) = drained_findings(pinned, polling)
    assert finding.reason == "VersionWithoutWorker"
    assert finding.what == (
        "2 open workflows (remediation/c/NodeHealthCheck/workers/node-1/1; and 1 more) are pinned to the "
        "version paramedic:b, and no worker runs it: nothing is done for their targets"
    )
