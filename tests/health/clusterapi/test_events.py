"""Events of a MachineHealthCheck of Cluster API: once for each transition (CAPI B.1, rules 6 and 15)."""

from datetime import timedelta

import pytest

from health.cluster.cluster_context import workload_cluster_hold
from health.cluster.global_stop import Stop
from health.gate.back_off import LostRequest
from health.kinds.clusterapi.check import MachineHealthCheck
from health.kinds.clusterapi.group import V1BETA1, V1BETA2
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK, marking_failed
from health.kinds.clusterapi.machine import MachineTarget
from health.model.observation import Hold, HoldReason
from health.model.references import CheckReference, IncidentReference, TargetReference
from health.model.remediation_request import RemediationAttempt
from objects.event import Severity
from tests.support.values.builders import NOW
from tests.support.values.cluster_api import MINUTE, check, machine, old_check, refusal, snapshot
from tests.support.values.held import held
from tests.support.values.machines import expired, recovered, waiting
from tests.support.values.reporter import Reporter

NORMAL, WARNING = Severity.NORMAL, Severity.WARNING
FORTY = check(trigger={"unhealthyLessThanOrEqualTo": "40%"})
EXCEEDED = (
    WARNING,
    "RemediationRestricted",
    (
        "Remediation is not allowed, the number of not started or unhealthy machines exceeds maxUnhealthy "
        "(total: 5, unhealthy: 3, maxUnhealthy: 40%)"
    ),
)
MARKED = (
    NORMAL,
    "MachineMarkedUnhealthy",
    "Machine fleet/machine-1 has been marked as unhealthy by fleet/workers",
)
PAUSE = held(Hold(reason=HoldReason.PAUSED, message="paused"), is_fully_paused=True)
TAKEN = Hold(reason=HoldReason.TAKEN, message="another holds its Lease")
INCIDENT = IncidentReference(
    cluster="c",
    check=CheckReference(
        group="cluster.x-k8s.io", kind="MachineHealthCheck", namespace="fleet", name="workers"
    ),
    target=TargetReference(
        group="cluster.x-k8s.io", kind="Machine", namespace="fleet", name="machine-1", uid="machine-uid"
    ),
)


@pytest.fixture
def reporter() -> Reporter:
    """A reporter that has seen a check without a hold."""
    one = Reporter(CLUSTER_API_MACHINE_HEALTH_CHECK)
    assert one.sees(snapshot(of=FORTY)) == []
    return one


@pytest.mark.rule("CAPI B.1/event/RemediationRestricted", "rule 15")
def test_threshold_is_reported_once_and_only_where_a_machine_failed(reporter: Reporter) -> None:
    assert reporter.sees(snapshot(waiting(), of=FORTY, healthy=2)) == []
    assert reporter.sees(snapshot(expired(), of=FORTY, healthy=2)) == [EXCEEDED]
    assert reporter.sees(snapshot(expired(), expired("b"), of=FORTY, healthy=2)) == []
    reporter.restarts()
    assert reporter.sees(snapshot(expired(), of=FORTY, healthy=2)) == []


@pytest.mark.rule("CAPI B.1/event/MachineMarkedUnhealthy", "CAPI B.1/event/form", "rule 15")
def test_machine_is_reported_once_for_each_time_that_it_fails(reporter: Reporter) -> None:
    assert reporter.sees(snapshot(waiting(), of=FORTY, healthy=4)) == []
    assert reporter.sees(snapshot(expired(), of=FORTY, healthy=4)) == [MARKED]
    assert reporter.sees(snapshot(expired(), of=FORTY, healthy=4)) == []
    reporter.restarts()
    assert reporter.sees(snapshot(expired(), of=FORTY, healthy=4)) == []
    assert reporter.sees(snapshot(recovered(), of=FORTY)) == []
    again = expired(since=NOW + MINUTE)
    assert reporter.sees(snapshot(again, of=FORTY, healthy=4), NOW + 6 * MINUTE) == [MARKED]


@pytest.mark.parametrize(("of", "api_version"), [(FORTY, V1BETA2), (old_check(), V1BETA1)])
def test_event_names_the_machine_in_the_version_of_its_check(
    of: MachineHealthCheck, api_version: str
) -> None:
    (note,) = Reporter(CLUSTER_API_MACHINE_HEALTH_CHECK).tells(snapshot(expired(), of=of, healthy=4))
    assert note.subject is not None
    assert (note.subject.api_version, note.subject.kind) == (api_version, "Machine")


@pytest.mark.rule("rule 6", "CAPI B.2.7/nothing")
def test_while_something_holds_the_check_its_machines_are_not_reported(reporter: Reporter) -> None:
    assert reporter.sees(snapshot(expired(), of=FORTY, healthy=4, holds=PAUSE)) == []
    unseen = held(workload_cluster_hold("fleet/edge", "no route"))
    words = "the Nodes of the workload cluster fleet/edge cannot be seen: no route"
    restricted = (WARNING, "RemediationRestricted", f"Remediation restricted: {words}")
    assert reporter.sees(snapshot(expired(), of=FORTY, healthy=4, holds=unseen)) == [restricted]
    assert reporter.sees(snapshot(expired(), of=FORTY, healthy=4, holds=unseen)) == []
    assert reporter.sees(snapshot(expired(), of=FORTY, healthy=4)) == [MARKED]
    stopped = held(Stop(reason="maintenance", version="1"))
    ((severity, reason, _),) = reporter.sees(snapshot(expired(), of=FORTY, healthy=4, holds=stopped))
    assert (severity, reason) == (WARNING, "RemediationRestricted")


@pytest.mark.rule("rule 6", "rule 15", "rule 55")
def test_threshold_is_reported_when_it_is_what_holds_and_a_restart_repeats_nothing(
    reporter: Reporter,
) -> None:
    """The status shows the upgrade but not the threshold, so its Event would be repeated at each start."""
    hold = Hold(reason=HoldReason.UPGRADING, message="the cluster is being upgraded")
    upgraded = snapshot(expired(), of=FORTY, healthy=2, holds=held(hold))
    ((_, _, message),) = reporter.sees(upgraded)
    assert message == "Remediation restricted: the cluster is being upgraded"
    reporter.restarts_much_later()
    assert reporter.sees(upgraded) == []

    broken = snapshot(expired(), of=FORTY, healthy=2)
    ((_, reason, message),) = reporter.sees(broken)
    assert (reason, message[:29]) == ("RemediationRestricted", "Remediation is not allowed, t")
    reporter.restarts_much_later()
    assert reporter.sees(broken) == []


@pytest.mark.rule("rule 13", "rule 14")
def test_machine_that_waits_is_reported_with_the_reason_and_marked_when_allowed(reporter: Reporter) -> None:
    taken = (
        NORMAL,
        "RemediationRestricted",
        "Machine fleet/machine-1 remediation restricted: Taken: another holds its Lease",
    )
    assert reporter.sees(snapshot(expired(hold=TAKEN), of=FORTY, healthy=4)) == [taken]
    assert reporter.sees(snapshot(expired(hold=TAKEN), of=FORTY, healthy=4)) == []
    assert reporter.sees(snapshot(expired(), of=FORTY, healthy=4)) == [MARKED]


@pytest.mark.rule("CAPI B.1/refused", "rule 8")
def test_check_that_cannot_be_read_is_reported_once(reporter: Reporter) -> None:
    broken = snapshot(of=refusal(maxUnhealthy="x"))
    ((severity, reason, message),) = reporter.sees(broken)
    assert (severity, reason) == (WARNING, "InvalidSpec")
    assert message.startswith("Remediation is not allowed, the check cannot be read: spec.maxUnhealthy")
    assert reporter.sees(broken) == []


def test_events_of_the_worker_name_the_machine() -> None:
    failed = marking_failed(
        RemediationAttempt(incident=INCIDENT, run_id="run"), MachineTarget(machine()), "forbidden"
    )
    assert failed.message == (
        "Machine fleet/machine-1 remediation restricted: it cannot be marked for its owner: forbidden"
    )
    lost = CLUSTER_API_MACHINE_HEALTH_CHECK.request_lost(
        LostRequest(
            incident=INCIDENT, run_id="run", uids=("uid",), due=NOW, check_uid="check-uid", node_name="node-1"
        )
    )
    assert lost.message.startswith("Machine fleet/machine-1 remediation restricted: BackOff: its request")


@pytest.mark.rule("rule 15")
def test_state_in_the_status_of_a_check_is_not_reported_again_by_the_next_detector(
    reporter: Reporter,
) -> None:
    unseen = held(workload_cluster_hold("fleet/edge", "no route"))
    assert len(reporter.sees(snapshot(expired(), holds=unseen))) == 1
    reporter.restarts_much_later()
    assert reporter.sees(snapshot(expired(), holds=unseen), NOW + timedelta(hours=2)) == []
