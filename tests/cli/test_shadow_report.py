"""The comparison of shadow steps and real ones, for each incident and in total."""

from dataclasses import replace
from datetime import timedelta

import pytest

from cli.incidents.document import IncidentDocument
from cli.shadow import Acted, Comparison, ShadowReport, Sums, peaks
from health.model.incident_result import RequestRecord, ShadowRecord, ShadowStep
from health.model.moves import Phase
from health.runbook.state import Memory
from tests.cli.incidents.summaries import UNHEALTHY, document, ended, state, summary
from tests.support.values.builders import FIRST, MINUTE, NOW

pytestmark = pytest.mark.rule("rule 43")

WEEK = timedelta(days=7)


def incident(node: str, ours: timedelta | None, theirs: timedelta | None) -> IncidentDocument:
    """An incident that would have acted `ours` after NOW, and whose other controller did at `theirs`."""
    steps = (
        () if ours is None else (ShadowStep(number=1, template=FIRST.template, at=NOW + ours, why="Unknown"),)
    )
    others = (
        ()
        if theirs is None
        else (RequestRecord(request="Reboot/ns/node", uid="u", template="reboot", started=NOW + theirs),)
    )
    memory = Memory(is_shadow=True, shadow=ShadowRecord(steps=steps, others=others))
    return document(summary(state(Phase.REMEDIATING, UNHEALTHY, memory=memory), node))


def compared(node: str, ours: timedelta | None, theirs: timedelta | None) -> Comparison:
    one = incident(node, ours, theirs)
    assert one.shadow is not None
    return Comparison.of(one, one.shadow)


@pytest.mark.parametrize(
    ("ours", "theirs", "acted", "later_by"),
    [
        (MINUTE, MINUTE / 2, Acted.BOTH, 30),
        (MINUTE, 2 * MINUTE, Acted.BOTH, -60),
        (MINUTE, None, Acted.ONLY_PARAMEDIC, None),
        (None, MINUTE, Acted.ONLY_OTHER, None),
        (None, None, Acted.NEITHER, None),
    ],
)
def test_incident_shows_both_controllers_and_which_was_first(
    ours: timedelta | None, theirs: timedelta | None, acted: Acted, later_by: float | None
) -> None:
    one = compared("node-1", ours, theirs)

    assert (one.acted, one.later_by_seconds) == (acted, later_by)


def test_sums_count_each_incident_once_with_the_differences_where_both_acted() -> None:
    sums = Sums.of(
        [
            compared("node-1", MINUTE, 2 * MINUTE),
            compared("node-2", 3 * MINUTE, MINUTE),
            compared("node-3", MINUTE, None),
            compared("node-4", None, MINUTE),
        ]
    )

    assert str(sums) == (
        "4 in shadow: 2 both, 1 only Paramedic, 1 only the other; "
        "Paramedic 30s later in the middle, from 1m earlier to 2m later"
    )


def test_report_leaves_out_incidents_outside_shadow_and_counts_unknown_ones() -> None:
    real = document(summary(state(Phase.REMEDIATING, UNHEALTHY)))
    unknown = document(replace(summary(None, "node-9"), problem="no worker answers"))
    report = ShadowReport.of([real, unknown, incident("node-1", MINUTE, None)], NOW - WEEK)

    assert [row.target for row in report.incidents] == ["Node/node-1"]
    assert report.headline == (
        "1 in shadow: 1 only Paramedic; limits do not apply in shadow: at most 1 under way at once and "
        "1 started within an hour in a cluster, so none would have held any; unknown for 1"
    )
    assert ShadowReport.of([real], NOW).headline == "no incidents in shadow"


def began(node: str, at: timedelta, ended: timedelta | None, cluster: str = "prod-1") -> Comparison:
    """An incident that would have acted after `at`, and ended after `ended`."""
    closed = None if ended is None else NOW + ended
    return compared(node, at, None).model_copy(update={"closed_at": closed, "cluster": cluster})


@pytest.mark.parametrize(
    ("comparisons", "in_flight", "starts_per_hour"),
    [
        ([began("a", MINUTE, 2 * MINUTE), began("b", 2 * MINUTE, 3 * MINUTE)], 1, 2),
        ([began("a", MINUTE, 3 * MINUTE), began("b", 2 * MINUTE, None)], 2, 2),
        ([began("a", MINUTE, None), began("b", 61 * MINUTE, None)], 2, 1),
        ([began("a", MINUTE, None), began("b", 60 * MINUTE, None)], 2, 2),
        ([began("a", MINUTE, None), began("b", MINUTE, None, "test-1")], 1, 1),
    ],
    ids=["one after the other", "side by side", "an hour apart", "within an hour", "in two clusters"],
)
def test_report_says_how_much_limits_would_have_been_about(
    comparisons: list[Comparison], in_flight: int, starts_per_hour: int
) -> None:
    of_clusters = [
        peak for peak in peaks([*comparisons, compared("idle", None, MINUTE)]) if peak.check is None
    ]
    assert max(cluster.in_flight for cluster in of_clusters) == in_flight
    assert max(cluster.starts_per_hour for cluster in of_clusters) == starts_per_hour
    headline = ShadowReport(
        since=NOW, sums=Sums.of(comparisons), peaks=peaks(comparisons), incidents=(), unknown=0
    ).headline
    words = f"at most {in_flight} under way at once and {starts_per_hour} started within an hour in a cluster"
    held = (
        "none would have held any" if max(in_flight, starts_per_hour) == 1 else "lower limits would have held"
    )
    assert f"limits do not apply in shadow: {words}, so {held}" in headline


def test_end_of_an_incident_tells_what_it_would_have_done() -> None:
    record = ShadowRecord(others=(RequestRecord(request="R", uid="u", template="", started=NOW),))

    assert document(ended(shadow=record)).shadow == record
