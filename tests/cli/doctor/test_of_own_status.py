"""Findings about the ParamedicStatus."""

from datetime import timedelta

import pytest

from cli.doctor.finding import FindingSeverity
from cli.doctor.of_installation import installation_findings, own_status_findings
from runtime.paramedic_status import STALE, Installation, ParamedicStatusDocument, amended
from runtime.settings import Settings
from runtime.statements import WorkerObservation, by_leader, by_others, of_caches, of_refusals, of_slots
from tests.support.values.builders import NOW

WELL = by_leader("pod-1", "", WorkerObservation(1), "queue", timedelta())
AWAY = by_leader("pod-1", "Temporal at t:7233 does not answer", WorkerObservation(), "queue", timedelta())
NOBODY = by_others("ours/paramedic-detector")
REFUSED = (*WELL, of_refusals([f"incident-{number}: the id is too long" for number in range(5)]))
FULL = (*WELL, of_caches({"nodes": 0.85}))
STUCK = (*WELL, of_slots("maxInFlight=1 of the policy is reached: node-1 since noon", None))
WRITTEN = {
    name: amended(ParamedicStatusDocument(), said, "pod-1", NOW)
    for name, said in {
        "well": WELL,
        "away": AWAY,
        "nobody": NOBODY,
        "stuck": STUCK,
        "refused": REFUSED,
        "full": FULL,
    }.items()
}


@pytest.mark.parametrize(
    ("written", "age"),
    [(None, timedelta()), ("well", timedelta()), ("nobody", timedelta()), ("away", STALE)],
    ids=["nothing is written", "all is well", "no detector leads", "no process reports it any more"],
)
def test_healthy_old_or_leaderless_status_is_no_finding(written: str | None, age: timedelta) -> None:
    status = WRITTEN[written] if written else ParamedicStatusDocument()
    assert status is not None
    assert list(own_status_findings(status, NOW + age)) == []


def test_detector_that_does_not_reach_temporal_is_named_with_what_it_says() -> None:
    status = WRITTEN["away"]
    assert status is not None
    (finding,) = own_status_findings(status, NOW + timedelta(seconds=9))
    assert finding.reason == "DetectorWithoutTemporal"
    assert finding.what.startswith("pod-1, which leads, has not reached Temporal since ")
    assert "Temporal at t:7233 does not answer" in finding.what


def test_cache_that_is_nearly_full_is_a_warning() -> None:
    status = WRITTEN["full"]
    assert status is not None
    (finding,) = own_status_findings(status, NOW)
    assert (finding.reason, finding.severity) == ("CacheNearlyFull", FindingSeverity.WARNING)
    assert "nodes (85%)" in finding.what


def test_slots_that_are_stuck_are_a_warning_with_their_holders_and_since_when() -> None:
    status = WRITTEN["stuck"]
    assert status is not None
    (finding,) = own_status_findings(status, NOW + timedelta(seconds=9))
    assert (finding.reason, finding.severity) == ("SlotsStuck", FindingSeverity.WARNING)
    assert finding.what == (
        "targets wait since 2026-03-01T12:00:00Z: maxInFlight=1 of the policy is reached: node-1 since noon"
    )
    assert list(own_status_findings(status, NOW + STALE)) == [], "no process reports it any more"


def test_incidents_that_temporal_refuses_are_a_problem_with_its_answer() -> None:
    status = WRITTEN["refused"]
    assert status is not None
    (finding,) = own_status_findings(status, NOW + timedelta(seconds=9))
    assert (finding.reason, finding.severity) == ("IncidentsRefused", FindingSeverity.PROBLEM)
    assert finding.what == (
        "since 2026-03-01T12:00:00Z Temporal refuses to start or wake incident-0: the id is too long; "
        "incident-1: the id is too long; incident-2: the id is too long; and 2 more"
    )


@pytest.mark.parametrize(
    ("stored", "words"),
    [
        ({"cluster": "prod-1a2b3c4d"}, "has the cluster 'prdo'; there is prod-1a2b3c4d"),
        ({"lease_namespace": "leases"}, "works with Leases in leases, not with medik8s-leases"),
        ({"temporal_namespace": "nodes"}, "works with the Temporal namespace nodes, not with default"),
    ],
)
def test_command_that_is_configured_otherwise_than_the_detector_is_a_problem(
    stored: dict[str, str], words: str
) -> None:
    settings = Settings(cluster="prdo")
    (finding,) = installation_findings(Installation(**stored), ("prdo-1a2b3c4d",), settings, "default")
    assert (finding.reason, words in finding.what) == ("OtherInstallation", True)


def test_command_that_is_configured_as_the_detector_or_meets_an_older_one_is_fine() -> None:
    same = Installation(
        cluster="prod-1a2b3c4d", lease_namespace="medik8s-leases", temporal_namespace="default"
    )
    for stored in (same, Installation()):
        meant = ("prod-1a2b3c4d", "prod-1a2b3c4d-1a2b3c4d")
        assert not list(installation_findings(stored, meant, Settings(cluster="prod"), "default"))
