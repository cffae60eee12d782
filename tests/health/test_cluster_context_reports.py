"""Status and Events of a check while the cluster context holds it."""

from datetime import timedelta
from typing import Any

import pytest

from health.check.check_snapshot import NO_HOLDS, CheckHolds
from health.cluster.global_stop import Stop
from health.kinds.nodehealthcheck.disabled import CONFLICT
from health.kinds.nodehealthcheck.status import status_patch
from health.model.observation import Hold, HoldReason
from objects.event import Severity
from tests.support.values.builders import NO_SUCH_KIND, NOW, expired, request_snapshot, snapshot
from tests.support.values.held import held
from tests.support.values.reporter import Reporter

NORMAL, WARNING = Severity.NORMAL, Severity.WARNING
CONFLICTING = held(CONFLICT)
UPGRADING = held(Hold(reason=HoldReason.UPGRADING, message="being upgraded since noon"))
UNKNOWN = held(Hold(reason=HoldReason.UPGRADE_UNKNOWN, message="nobody can say"))
STOPPED = held(Stop("power work", "7"))
ALL = [
    pytest.param(context, id=name)
    for name, context in {
        "conflict": CONFLICTING,
        "template": NO_SUCH_KIND,
        "upgrade": UPGRADING,
        "unknown upgrade": UNKNOWN,
        "stop": STOPPED,
    }.items()
]


@pytest.fixture
def reporter() -> Reporter:
    """A reporter that has emitted the Event of an enabled check."""
    one = Reporter()
    one.sees(snapshot())
    return one


EVENTS = [
    pytest.param(
        CONFLICTING,
        (
            WARNING,
            "Disabled",
            (
                "[remediation] Custom MachineHealthCheck(s) detected, "
                "disabling NodeHealthCheck to avoid conflicts"
            ),
        ),
        id="conflict",
    ),
    pytest.param(
        UPGRADING,
        (
            NORMAL,
            "RemediationSkipped",
            "[remediation] Postponing potential remediations because of ongoing cluster upgrade",
        ),
        id="upgrade",
    ),
    pytest.param(
        UNKNOWN,
        (
            WARNING,
            "RemediationSkipped",
            "[remediation] Postponing potential remediations: nobody can say",
        ),
        id="unknown upgrade",
    ),
    pytest.param(
        STOPPED,
        (
            WARNING,
            "RemediationSkipped",
            "[remediation] Postponing potential remediations: stopped in the whole cluster: power work",
        ),
        id="stop",
    ),
]


@pytest.mark.rule(
    "NHC 1.5/Disabled/MachineHealthCheck",
    "NHC 1.5/RemediationSkipped/upgrade",
    "NHC 2.1/4",
    "NHC 2.1/10",
    "rule 15",
    "rule 36",
    "rule 42",
)
@pytest.mark.parametrize(("holds", "event"), EVENTS)
def test_hold_of_the_check_is_reported_once(
    reporter: Reporter, holds: CheckHolds, event: tuple[Severity, str, str]
) -> None:
    assert reporter.sees(snapshot(holds=holds)) == [event]
    assert reporter.sees(snapshot(holds=holds)) == []
    reporter.restarts()
    assert reporter.sees(snapshot(holds=holds)) == []


@pytest.mark.rule("rule 15", "rule 42")
def test_second_order_to_stop_of_the_same_words_is_reported_again(reporter: Reporter) -> None:
    reporter.sees(snapshot(holds=STOPPED))
    reporter.sees(snapshot(holds=held(Stop("power work", "8"))))
    reporter.sees(snapshot())

    assert len(reporter.sees(snapshot(holds=held(Stop("power work", "9"))))) == 1


@pytest.mark.rule("rule 6")
@pytest.mark.parametrize("holds", ALL)
def test_thousand_held_nodes_are_one_event(reporter: Reporter, holds: CheckHolds) -> None:
    nodes = [expired(f"node-{number:04}") for number in range(1000)]

    assert len(reporter.sees(snapshot(*nodes, holds=holds))) == 1


@pytest.mark.parametrize("holds", ALL)
def test_nodes_are_reported_when_the_hold_is_lifted(reporter: Reporter, holds: CheckHolds) -> None:
    reporter.sees(snapshot(expired("node-1"), holds=holds))
    told = reporter.sees(snapshot(expired("node-1"), holds=NO_HOLDS), NOW + timedelta(hours=1))

    assert "DetectedUnhealthy" in [reason for _, reason, _ in told]


@pytest.mark.rule("rule 17")
@pytest.mark.parametrize("holds", ALL)
def test_numbers_and_remediations_are_true_whatever_is_around(holds: CheckHolds) -> None:
    def published(held: CheckHolds) -> dict[str, Any]:
        patch = status_patch(snapshot(expired("node-1", request_snapshot()), holds=held), {}, NOW)
        return {name: patch[name] for name in ("observedNodes", "healthyNodes", "unhealthyNodes")}

    assert published(holds) == published(NO_HOLDS)


@pytest.mark.rule("NHC 1.4/Disabled", "NHC 2.1/4")
def test_conflict_shows_as_the_condition_disabled() -> None:
    patch = status_patch(snapshot(holds=CONFLICTING), {}, NOW)

    assert patch["phase"] == "Disabled"
    assert patch["reason"] == f"NHC is disabled: {CONFLICT.reason}: {CONFLICT.message}"
    disabled = next(condition for condition in patch["conditions"] if condition["type"] == "Disabled")
    assert (disabled["status"], disabled["reason"]) == ("True", CONFLICT.reason)


@pytest.mark.rule("NHC 1.4/Enabled", "NHC 2.1/10")
@pytest.mark.parametrize("holds", [UPGRADING, UNKNOWN, STOPPED])
def test_postponement_leaves_the_check_enabled(holds: CheckHolds) -> None:
    assert status_patch(snapshot(holds=holds), {}, NOW)["phase"] == "Enabled"
