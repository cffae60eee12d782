"""The detector holds a step that needs an approval, until the incident reports the approval of that step."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from detector.reporting.event_reporter import approval_event
from detector.reporting.snapshot_builder import SnapshotBuilder
from health.check.template_validity import Place, Template, TemplateKind
from health.gate.back_off import NO_BACK_OFF
from health.model.approval import Approval, ApprovalAnswer, ApprovalDefault, Progress, RequiredApproval
from health.model.observation import HoldReason, Observation, TargetState
from health.model.references import Step, TemplateReference
from objects.event import Severity
from tests.detector.test_remediation_limits import leader
from tests.support.state.small_cluster import CHECK, SmallCluster, incident_of
from tests.support.values.builders import NOW, limits

NODE = "n0"
REQUIRE = "paramedic.dev/require-approval"
EXPIRING = {
    REQUIRE: "true",
    "paramedic.dev/approval-expires-after": "30m",
    "paramedic.dev/approval-default": "approve",
}
INCIDENT = incident_of(NODE)


def cluster_of(annotations: dict[str, str], **spec: Any) -> SmallCluster:
    cluster = SmallCluster()
    cluster.check(annotations=annotations, minHealthy=0, **spec)
    cluster.unhealthy(NODE)
    return cluster


def with_template(cluster: SmallCluster, annotations: Mapping[str, str]) -> None:
    metadata = {"name": "reboot", "namespace": "remediators", "uid": "t", "annotations": annotations}
    template = Template.model_validate({"metadata": metadata, "spec": {"template": {"spec": {}}}})
    known = TemplateKind(templates={Place("remediators", "reboot"): template})
    cluster.template_kinds = lambda *_: known


def question(step: Step, **fields: Any) -> Approval:
    return Approval(step=step, names=("RebootTemplate/reboot",), asked_at=NOW, **fields)


def hold_of(observation: Observation) -> HoldReason | str | None:
    return observation.hold.reason if observation.hold else None


def test_check_requires_an_approval_of_each_step_with_its_expiry() -> None:
    seen = cluster_of(EXPIRING).observe(NODE)
    assert seen.approval == RequiredApproval(
        resource=f"node {NODE}",
        steps=(0,),
        versions=("",),
        expires_after_seconds=1800,
        default=ApprovalDefault.APPROVE,
    )
    assert hold_of(seen) is HoldReason.APPROVAL_REQUIRED


def test_template_requires_an_approval_of_its_own_step_alone() -> None:
    cluster = cluster_of({})
    with_template(cluster, {REQUIRE: "true"})
    seen = cluster.observe(NODE)
    assert hold_of(seen) is HoldReason.APPROVAL_REQUIRED
    assert seen.approval is not None
    assert seen.approval.version_of(0).startswith("t ")
    with_template(cluster, {REQUIRE: "false"})
    seen = cluster.observe(NODE)
    assert (seen.approval, seen.hold) == (None, None)


@pytest.mark.parametrize("annotation", [REQUIRE, "paramedic.dev/require-aproval"])
def test_template_with_an_annotation_that_cannot_be_read_holds_its_checks(annotation: str) -> None:
    cluster = cluster_of({})
    with_template(cluster, {annotation: "yes"})
    seen = cluster.observe(NODE)
    assert hold_of(seen) is HoldReason.DISABLED
    assert seen.hold is not None
    assert f"metadata.annotations[{annotation}]" in seen.hold.message
    assert "(found 'yes')" in seen.hold.message


def test_reported_question_and_answer_decide_for_the_object_of_that_uid() -> None:
    cluster = cluster_of({REQUIRE: "true"})
    (step,) = cluster.observe(NODE).steps

    def report(approval: Approval | None, uid: str = "") -> HoldReason | str | None:
        incident = incident_of(NODE, uid=uid) if uid else INCIDENT
        cluster.cluster_state.reported(incident, Progress(approval=approval))
        return hold_of(cluster.observe(NODE))

    approved = question(step, answer=ApprovalAnswer.APPROVED)
    assert report(question(step)) is HoldReason.APPROVAL_REQUIRED
    assert report(approved, uid="another") is HoldReason.APPROVAL_REQUIRED
    assert report(approved) is None
    assert report(question(step, answer=ApprovalAnswer.REJECTED)) is HoldReason.STEP_REJECTED
    other = Step(template=TemplateReference(api_version="v1", kind="OtherTemplate", name="x"))
    assert report(question(other, answer=ApprovalAnswer.APPROVED)) is HoldReason.APPROVAL_REQUIRED
    assert report(approved) is None
    cluster.cluster_state.progress.clear()
    assert hold_of(cluster.observe(NODE)) is HoldReason.APPROVAL_REQUIRED, "a new leader knows no approval"


@pytest.mark.parametrize(
    "change", ["recovers", "reports after it recovered", "is replaced", "loses its check"]
)
def test_approval_is_forgotten_when_the_failure_is_over(change: str) -> None:
    cluster = cluster_of({REQUIRE: "true"})
    (step,) = cluster.observe(NODE).steps
    cluster.cluster_state.reported(
        INCIDENT, Progress(approval=question(step, answer=ApprovalAnswer.APPROVED))
    )
    match change:
        case "recovers":
            cluster.node(NODE)
        case "reports after it recovered":
            cluster.node(NODE)
            cluster.cluster_state.reported(
                INCIDENT, Progress(approval=question(step, answer=ApprovalAnswer.APPROVED))
            )
        case "is replaced":
            cluster.node(NODE, uid="another")
        case _:
            cluster.delete_check()
            cluster.check(annotations={REQUIRE: "true"}, minHealthy=0)
    cluster.unhealthy(NODE)
    assert hold_of(cluster.observe(NODE)) is HoldReason.APPROVAL_REQUIRED


def test_running_request_and_shadow_need_no_approval() -> None:
    cluster = cluster_of({REQUIRE: "true"})
    cluster.request(NODE)
    assert hold_of(cluster.observe(NODE)) is None
    shadow = cluster_of({REQUIRE: "true", "paramedic.dev/shadow": "true"}).observe(NODE)
    assert shadow.state is TargetState.EXPIRED
    assert shadow.hold is None


def test_target_that_waits_for_a_person_keeps_no_slot_of_a_limit() -> None:
    detector = leader(limits(maxInFlight=1))
    cluster = detector.cluster
    cluster.check(annotations={REQUIRE: "true"}, minHealthy=0)
    assert hold_of(detector.ask("n0")) is HoldReason.APPROVAL_REQUIRED
    detector.pass_time(timedelta(seconds=5))
    (step,) = detector.observe("n1").steps
    approved = Progress(approval=question(step, answer=ApprovalAnswer.APPROVED))
    cluster.cluster_state.reported(incident_of("n1"), approved)
    assert detector.ask("n1").is_admitted
    cluster.cluster_state.reported(incident_of("n0"), approved)
    assert hold_of(detector.ask("n0")) is HoldReason.LIMIT, "it is asked after the approval"


def test_snapshot_for_status_and_events_has_the_hold() -> None:
    cluster = cluster_of({REQUIRE: "true"})
    snapshot = SnapshotBuilder(cluster.cluster_state, lambda *_: NO_BACK_OFF).of(CHECK, None, NOW)
    assert snapshot is not None
    hold = snapshot.targets[NODE].hold
    assert hold is not None
    assert hold.reason is HoldReason.APPROVAL_REQUIRED


def test_event_asks_once_and_says_once_that_the_question_expired() -> None:
    (step,) = cluster_of({REQUIRE: "true"}).observe(NODE).steps
    asked = question(step, expires_at=NOW + timedelta(minutes=30))
    event = approval_event(INCIDENT, asked)
    assert (event.severity, event.reason) == (Severity.WARNING, "ApprovalRequired")
    assert event.message == (
        "NodeHealthCheck/workers: waits for approval until 2026-03-01T12:30:00Z (then it stays held): "
        "RebootTemplate/reboot, asked at 2026-03-01T12:00:00Z"
    )
    assert approval_event(INCIDENT, asked.model_copy(update={"is_reported": True})).seed == event.seed
    expired = approval_event(INCIDENT, asked.model_copy(update={"is_expired": True}))
    assert (expired.reason, expired.seed == event.seed) == ("ApprovalExpired", False)
