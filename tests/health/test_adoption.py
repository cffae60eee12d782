"""A request that another operator made gets the name of the incident that adopts it (rule 39, rule 52)."""

import pytest

from health.model.moves import AnnotateRequests, AnnotationPatch, RemoveRequests, Wait
from health.model.observation import Observation, TargetState
from health.model.references import is_id_of
from health.model.remediation_request import INCIDENT as INCIDENT_ANNOTATION
from health.model.remediation_request import TARGET_UID, TIMED_OUT, RemediationRequest
from health.runbook.state import Memory
from objects.timestamps import stamp
from tests.support.values.builders import FIRST, INCIDENT, MINUTE, NOW, request_of, seen
from tests.support.values.memories import ACTED, AN_INSTANT, move

pytestmark = pytest.mark.rule("rule 39", "rule 52")

THEIRS = request_of(FIRST, MINUTE, is_unsigned=True, is_of_operator=True)
ADOPTION = AnnotationPatch(request=THEIRS.reference, adopts=True)


def patches(of: Observation, memory: Memory = ACTED) -> tuple[AnnotationPatch, ...]:
    result = move(of, memory)
    return result.patches if isinstance(result, AnnotateRequests) else ()


def test_request_of_the_operator_is_adopted_first_and_once() -> None:
    assert patches(seen(THEIRS)) == (ADOPTION,)
    after = ACTED.after_annotation((ADOPTION,))
    assert isinstance(move(after.complete(seen(THEIRS)), after), Wait)


def test_request_of_the_operator_is_adopted_while_it_is_kept_for_a_healthy_target() -> None:
    kept = seen(THEIRS, state=TargetState.HEALTHY).model_copy(update={"healthy_delay_seconds": -1})
    assert patches(kept) == (ADOPTION,)


def test_request_of_the_operator_that_goes_at_once_is_not_adopted_before() -> None:
    assert isinstance(move(seen(THEIRS, state=TargetState.HEALTHY), ACTED), RemoveRequests)


def test_request_of_the_operator_that_is_being_deleted_is_not_adopted() -> None:
    assert patches(seen(THEIRS.model_copy(update={"is_being_deleted": True}))) == ()


def test_adoption_that_fails_keeps_no_other_annotation_from_being_written() -> None:
    over = request_of(FIRST, 5 * MINUTE + AN_INSTANT, is_unsigned=True)
    adoption, stop = patches(seen(over))
    assert (adoption.adopts, dict(stop.annotations)) == (True, {TIMED_OUT: stamp(NOW)})
    assert adoption.subject != stop.subject
    assert str(adoption) == f"annotate {over.reference} with {INCIDENT_ANNOTATION}"


@pytest.mark.parametrize(
    ("annotations", "is_unsigned", "is_of_operator"),
    [
        pytest.param({}, True, True, id="of the operator"),
        pytest.param({INCIDENT_ANNOTATION: INCIDENT.workflow_id}, False, True, id="adopted"),
        pytest.param(
            {INCIDENT_ANNOTATION: INCIDENT.workflow_id, TARGET_UID: "uid"}, False, False, id="made by us"
        ),
    ],
)
def test_adopted_request_is_still_known_as_reported_by_the_operator(
    annotations: dict[str, str], *, is_unsigned: bool, is_of_operator: bool
) -> None:
    snapshot = _request(annotations).snapshot("a.example.com/v1", "Reboot")
    assert (snapshot.is_unsigned, snapshot.is_of_operator) == (is_unsigned, is_of_operator)


@pytest.mark.parametrize(
    ("workflow_id", "is_its_own"),
    [
        (INCIDENT.workflow_id, True),
        (INCIDENT.model_copy(update={"cluster": "renamed-12345678"}).workflow_id, True),
        (f"{INCIDENT.workflow_id}0", False),
        (f"{INCIDENT.workflow_id}/more", False),
        (INCIDENT.workflow_id.replace("remediation/", "upgrade/"), False),
        ("", False),
        ("remediation", False),
    ],
)
def test_workflow_id_is_compared_whole_but_for_the_name_of_the_cluster(
    workflow_id: str, *, is_its_own: bool
) -> None:
    assert is_id_of(workflow_id, INCIDENT) is is_its_own


def test_request_for_another_target_of_the_same_workflow_id_is_another_incidents() -> None:
    """A workflow id has but a part of the uid."""
    signs = {INCIDENT_ANNOTATION: INCIDENT.workflow_id}
    assert _request(signs).names(INCIDENT)
    assert _request(signs | {TARGET_UID: INCIDENT.target.uid}).names(INCIDENT)
    assert not _request(signs | {TARGET_UID: f"{INCIDENT.target.uid}-of-another"}).names(INCIDENT)


def _request(annotations: dict[str, str]) -> RemediationRequest:
    metadata = {
        "name": "node-1",
        "uid": "u",
        "creationTimestamp": stamp(NOW),
        "annotations": annotations,
    }
    return RemediationRequest.model_validate({"metadata": metadata})
