"""The Event of a person's order names the order, the person and the reason, once for each decision."""

from datetime import timedelta

from detector.reporting.event_reporter import order_event
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK
from health.model.order import OrderRecord
from health.model.references import CheckReference, IncidentReference, TargetReference
from objects.event import Severity
from tests.support.state.small_cluster import incident_of
from tests.support.values.builders import NOW

HELD = OrderRecord(
    order="hold", given=NOW, reason="disk swap", identity="ada@laptop", until=NOW + timedelta(hours=1)
)
SKIPPED = OrderRecord(order="skip", given=NOW, reason="", step="RebootTemplate/reboot", is_pending=True)


def test_event_names_check_order_person_reason_and_end() -> None:
    event = order_event(incident_of("node-1"), HELD)
    words = "NodeHealthCheck/workers: hold by ada@laptop: disk swap, until 2026-03-01T13:00:00Z"
    assert (event.severity, event.reason, event.message) == (Severity.NORMAL, "OrderReceived", words)
    assert event.subject is not None
    assert (event.subject.kind, event.subject.name, event.subject.uid) == ("Node", "node-1", "uid-node-1")


def test_refusal_is_another_event_and_a_repeated_question_is_not() -> None:
    incident = incident_of("node-1")
    received = order_event(incident, SKIPPED)
    assert order_event(incident, SKIPPED.model_copy(update={"is_pending": False})).seed == received.seed
    refused = order_event(incident, SKIPPED.model_copy(update={"refused": "no step runs"}))
    assert refused.seed != received.seed
    assert (refused.severity, refused.reason) == (Severity.WARNING, "OrderRefused")
    assert refused.message.endswith("skip RebootTemplate/reboot; refused: no step runs")


def test_event_of_a_machine_is_about_the_machine() -> None:
    kind = CLUSTER_API_MACHINE_HEALTH_CHECK
    check = CheckReference(kind=kind.kind, group=kind.group, namespace="fleet", name="workers")
    target = TargetReference(kind="Machine", group=kind.targets.group, namespace="fleet", name="m", uid="u")
    event = order_event(IncidentReference(cluster="c", check=check, target=target), HELD)
    assert event.subject is not None
    assert (event.subject.kind, event.subject.namespace) == ("Machine", "fleet")
