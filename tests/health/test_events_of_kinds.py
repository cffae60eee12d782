"""Events of the three kinds of checks: each failure once, whichever detector leads (rules 15 and 53)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest

from health.check.check_snapshot import CheckSnapshot, TargetSnapshot
from health.check.storm import Storm
from health.cluster.global_stop import Stop
from health.kinds.check_kind import CheckKind
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.model.observation import Hold, HoldReason
from tests.support.values import builders as nodes
from tests.support.values import cluster_api, machines, openshift
from tests.support.values.builders import BLOCKED, NO_SUCH_KIND, NOW, request_snapshot
from tests.support.values.held import held
from tests.support.values.reporter import Reporter


@dataclass(frozen=True)
class Kind:
    """One kind of check, with a target that failed."""

    kind: CheckKind
    snapshot: Callable[..., CheckSnapshot]
    failed: Callable[[datetime], TargetSnapshot]
    events: list[str]
    """The reasons of the Events of each failure."""

    def failed_at(self, since: datetime) -> CheckSnapshot:
        return self.snapshot(self.failed(since))

    def reporter(self) -> Reporter:
        """A reporter that has seen a check without a hold."""
        reporter = Reporter(self.kind)
        reporter.sees(self.snapshot())
        return reporter


NODES = Kind(
    NODE_HEALTH_CHECK,
    nodes.snapshot,
    lambda since: nodes.expired("node-1", since=since),
    ["DetectedUnhealthy"],
)
OPENSHIFT = Kind(
    MACHINE_HEALTH_CHECK,
    openshift.snapshot,
    lambda since: machines.expired(since=since, hold=openshift.NO_CONTROLLER),
    ["DetectedUnhealthy", "SkippedNoController"],
)
CLUSTER_API = Kind(
    CLUSTER_API_MACHINE_HEALTH_CHECK,
    cluster_api.snapshot,
    lambda since: machines.expired(since=since),
    ["MachineMarkedUnhealthy"],
)
OF_EACH_KIND = pytest.mark.parametrize(
    "of",
    [
        pytest.param(NODES, id="NodeHealthCheck"),
        pytest.param(OPENSHIFT, id="OpenShift"),
        pytest.param(CLUSTER_API, id="Cluster API"),
    ],
)
LONG_AGO = NOW - timedelta(hours=5)


def told(reporter: Reporter, seen: CheckSnapshot, now: datetime = NOW) -> list[str]:
    """The reasons of the new Events, without that of an enabled NodeHealthCheck."""
    return [reason for _, reason, _ in reporter.sees(seen, now) if reason != "Enabled"]


@pytest.mark.rule("rule 53", "NHC 1.5/DetectedUnhealthy", "CAPI B.1/event/MachineMarkedUnhealthy")
@pytest.mark.rule("MHC A.1/event/SkippedNoController", "MHC A.1/event/DetectedUnhealthy")
@OF_EACH_KIND
def test_new_check_reports_a_target_that_failed_long_before_it_was_made(of: Kind) -> None:
    assert told(Reporter(of.kind), of.failed_at(LONG_AGO)) == of.events


@pytest.mark.rule("rule 53", "MHC A.1/event/SkippedNoController")
@OF_EACH_KIND
def test_target_that_failed_while_no_detector_led_is_reported_by_the_next_leader(of: Kind) -> None:
    reporter = of.reporter()
    reporter.restarts_much_later(led_until=NOW - timedelta(hours=6))
    assert told(reporter, of.failed_at(LONG_AGO)) == of.events
    reporter.restarts_much_later(led_until=NOW)
    assert told(reporter, of.failed_at(LONG_AGO)) == []


@pytest.mark.rule("rule 15")
@OF_EACH_KIND
def test_target_that_failed_long_ago_is_not_reported_again_by_the_next_detector(of: Kind) -> None:
    reporter = of.reporter()
    assert told(reporter, of.failed_at(NOW)) == of.events
    reporter.restarts_much_later()
    assert told(reporter, of.failed_at(NOW), NOW + timedelta(hours=2)) == []
    reporter.restarts_much_later()
    assert told(reporter, of.failed_at(NOW), NOW + timedelta(minutes=30)) == of.events


@pytest.mark.rule("NHC 1.5/DetectedUnhealthy", "rule 15")
@OF_EACH_KIND
def test_target_that_is_selected_again_and_has_not_recovered_is_reported_each_time(of: Kind) -> None:
    reporter = of.reporter()
    for minutes in (0, 1, 2):
        assert told(reporter, of.failed_at(NOW), NOW + timedelta(minutes=minutes)) == of.events
        assert told(reporter, of.snapshot()) == []  # its label goes, and comes back


FORTY_OF_OPENSHIFT = openshift.check(maxUnhealthy="40%")
FORTY_OF_CLUSTER_API = cluster_api.check(trigger={"unhealthyLessThanOrEqualTo": "40%"})
STORM = Storm(is_active=True, turned=NOW, is_cooling=False, cooldown_turned=NOW)
PAUSED_NODES = nodes.check(pauseRequests=["update"])
PAUSE = held(Hold(reason=HoldReason.PAUSED, message="it has the annotation"), is_fully_paused=True)
UNREADABLE = cluster_api.refusal(selector={"matchLabels": {"bad key": "x"}})


@pytest.mark.rule("rule 53")
@pytest.mark.parametrize(
    ("of", "fields"),
    [
        pytest.param(NODES, {"of": nodes.INVALID}, id="Node, unreadable"),
        pytest.param(NODES, {"holds": NO_SUCH_KIND}, id="Node, disabled"),
        pytest.param(NODES, {"of": PAUSED_NODES}, id="Node, paused"),
        pytest.param(NODES, {"allowance": BLOCKED}, id="Node, threshold"),
        pytest.param(NODES, {"holds": held(Stop("power work"))}, id="Node, stop"),
        pytest.param(OPENSHIFT, {"of": openshift.INVALID}, id="OpenShift, unreadable"),
        pytest.param(OPENSHIFT, {"of": FORTY_OF_OPENSHIFT, "healthy": 2}, id="OpenShift, threshold"),
        pytest.param(CLUSTER_API, {"of": UNREADABLE}, id="Cluster API, unreadable"),
        pytest.param(CLUSTER_API, {"holds": PAUSE}, id="Cluster API, paused"),
        pytest.param(CLUSTER_API, {"of": FORTY_OF_CLUSTER_API, "healthy": 2}, id="Cluster API, threshold"),
    ],
)
def test_target_of_a_held_check_is_reported_by_a_leader_that_did_not_see_the_hold_end(
    of: Kind, fields: dict[str, object]
) -> None:
    reporter = of.reporter()
    reporter.sees(of.snapshot(of.failed(LONG_AGO), **fields))
    reporter.restarts_much_later(led_until=NOW)
    assert told(reporter, of.failed_at(LONG_AGO)) == of.events


@pytest.mark.rule("rule 53")
def test_node_of_a_storm_is_reported_by_a_leader_that_did_not_see_the_storm_end() -> None:
    reporter = NODES.reporter()
    reporter.sees(replace(NODES.failed_at(LONG_AGO), storm=STORM))
    reporter.restarts_much_later(led_until=NOW)
    assert "DetectedUnhealthy" in told(reporter, NODES.failed_at(LONG_AGO))


NODE, REQUEST = nodes.expired("node-1"), request_snapshot()
EXCLUDED = Hold(reason=HoldReason.EXCLUDED, message="node has Exclude from Remediation label")
TAKEN = Hold(reason=HoldReason.TAKEN, message="its Lease is held")
BACK_OFF = Hold(reason=HoldReason.BACK_OFF, message="due later")
MACHINE = machines.expired()


@pytest.mark.rule("rule 15", "MHC A.1/event/SkippedNoController", "rule 13/Machine")
@pytest.mark.parametrize(
    ("of", "lasting"),
    [
        pytest.param(NODES, nodes.snapshot(NODE), id="Node"),
        pytest.param(NODES, nodes.snapshot(replace(NODE, hold=EXCLUDED)), id="Node, excluded"),
        pytest.param(NODES, nodes.snapshot(replace(NODE, has_empty_exclusion=True)), id="Node, empty label"),
        pytest.param(
            NODES,
            nodes.snapshot(replace(nodes.expired("node-1", REQUEST), is_exhausted=True)),
            id="Node, no step left",
        ),
        pytest.param(NODES, nodes.snapshot(replace(NODE, is_exhausted=True)), id="Node, none in a relapse"),
        pytest.param(NODES, nodes.snapshot(NODE, allowance=BLOCKED), id="Node, threshold"),
        pytest.param(NODES, nodes.snapshot(of=PAUSED_NODES), id="Node, paused"),
        pytest.param(OPENSHIFT, openshift.snapshot(machines.waiting()), id="OpenShift, timer"),
        pytest.param(OPENSHIFT, OPENSHIFT.failed_at(NOW), id="OpenShift, no controller"),
        pytest.param(OPENSHIFT, openshift.snapshot(replace(MACHINE, hold=TAKEN)), id="OpenShift, taken"),
        pytest.param(
            OPENSHIFT,
            openshift.snapshot(replace(MACHINE, back_off=BACK_OFF, earlier_attempts=1)),
            id="OpenShift, back-off",
        ),
        pytest.param(CLUSTER_API, cluster_api.snapshot(MACHINE), id="Cluster API"),
        pytest.param(
            CLUSTER_API, cluster_api.snapshot(replace(MACHINE, hold=TAKEN)), id="Cluster API, taken"
        ),
        pytest.param(
            CLUSTER_API,
            cluster_api.snapshot(MACHINE, of=FORTY_OF_CLUSTER_API, healthy=2),
            id="Cluster API, threshold",
        ),
    ],
)
def test_lasting_state_is_not_reported_again_when_the_api_server_has_forgotten_it(
    of: Kind, lasting: CheckSnapshot
) -> None:
    reporter = of.reporter()
    assert reporter.sees(lasting)
    reporter.is_forgotten()
    assert reporter.sees(lasting) == []
