"""Parsing of remediation requests and of their templates."""

from datetime import UTC, datetime
from typing import Any

import pytest

from health.model.remediation_request import INCIDENT as INCIDENT_ANNOTATION
from health.model.remediation_request import (
    NODE_NAME,
    TARGET_UID,
    TIMED_OUT,
    InvalidTemplateError,
    RemediationRequest,
    template_contents,
)
from tests.support.values.builders import INCIDENT, check

(STEP,) = check().steps


@pytest.mark.parametrize(
    ("text", "attempt"),
    [("3", 3), ("12", 12), (None, 1), ("", 1), ("0", 1), ("-2", 1), ("many", 1), ("٣", 1), ("9" * 40, 1)],
)
def test_attempt_that_cannot_be_read_is_taken_for_the_first(text: str | None, attempt: int) -> None:
    annotations = {} if text is None else {"paramedic.dev/attempt": text}

    assert request_with(annotations=annotations).attempt == attempt


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({}, id="an empty spec"),
        pytest.param(None, id="a spec of null"),
        pytest.param("text", id="a spec of text"),
        pytest.param({"template": None}, id="a template of null"),
        pytest.param({"template": []}, id="a template that is a list"),
        pytest.param({"template": {"spec": "text"}}, id="contents of text"),
    ],
)
def test_template_without_contents_is_refused_in_the_words_of_the_operator(spec: object) -> None:
    problem = "^invalid template remediators/reboot, didn't find spec.template.spec$"

    with pytest.raises(InvalidTemplateError, match=problem):
        template_contents({"spec": spec}, STEP)
    with pytest.raises(InvalidTemplateError, match=problem):
        template_contents({}, STEP)


@pytest.mark.parametrize("inner", [{}, {"spec": {}}])
def test_template_may_have_nothing_to_say(inner: dict[str, Any]) -> None:
    assert template_contents({"spec": {"template": inner}}, STEP) == {}


def request_with(**metadata: Any) -> RemediationRequest:
    return RemediationRequest.model_validate(
        {
            "metadata": {
                "name": "node-1",
                "namespace": "remediators",
                "uid": "request-uid",
                "creationTimestamp": "2026-03-01T12:00:00Z",
                **metadata,
            }
        }
    )


def test_request_is_for_the_node_that_it_says_or_is_named_after() -> None:
    assert request_with().target_name == "node-1"
    assert request_with(annotations={NODE_NAME: "node-2"}).target_name == "node-2"


@pytest.mark.rule("rule 39")
def test_request_of_the_operator_does_not_say_for_which_uid_it_is() -> None:
    assert request_with().target_uid == ""
    assert request_with(annotations={TARGET_UID: "a"}).target_uid == "a"


@pytest.mark.rule("rule 39")
@pytest.mark.parametrize(
    ("annotations", "is_unsigned"),
    [
        pytest.param({}, True, id="none"),
        pytest.param({INCIDENT_ANNOTATION: ""}, True, id="an empty one"),
        pytest.param({INCIDENT_ANNOTATION: INCIDENT.workflow_id}, False, id="one"),
    ],
)
def test_request_that_names_no_incident_is_unsigned(
    annotations: dict[str, str],
    is_unsigned: bool,  # noqa: FBT001  a column of the table
) -> None:
    assert request_with(annotations=annotations).snapshot("a/v1", "B").is_unsigned is is_unsigned


@pytest.mark.rule("NHC 2.4/4", "NHC 2.4/4/foreign")
def test_owner_is_known_by_kind_version_and_name() -> None:
    owners = [
        {"apiVersion": "v1", "kind": "NodeHealthCheck", "name": "other", "uid": "1"},
        {"apiVersion": "a/v1", "kind": "NodeHealthCheck", "name": "workers", "uid": "2"},
    ]
    owned = request_with(ownerReferences=owners)

    assert owned.owner("NodeHealthCheck", "a/v1") == "workers"
    assert owned.owner("NodeHealthCheck", "b/v1") == ""
    assert request_with().owner("NodeHealthCheck", "a/v1") == ""


def test_request_that_is_being_deleted_says_so() -> None:
    assert not request_with().is_being_deleted
    kept = request_with(deletionTimestamp="2026-03-01T12:00:00Z", finalizers=["example.com/reboot"])
    assert kept.is_being_deleted
    assert kept.snapshot("a/v1", "B").is_being_deleted


def test_request_with_a_finalizer_waits_for_its_remediator_when_it_is_deleted() -> None:
    assert not request_with().snapshot("a/v1", "B").has_finalizers
    assert request_with(finalizers=["example.com/reboot"]).snapshot("a/v1", "B").has_finalizers


@pytest.mark.rule("rule 39")
@pytest.mark.parametrize(
    ("mark", "time"),
    [
        pytest.param("2026-03-01T12:00:00Z", datetime(2026, 3, 1, 12, tzinfo=UTC), id="a time"),
        pytest.param(
            "2026-03-01T14:00:00+02:00", datetime(2026, 3, 1, 12, tzinfo=UTC), id="a time of another zone"
        ),
        pytest.param("2026-03-01T12:00:00", None, id="a time of no zone"),
        pytest.param("yes", None, id="no time"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_mark_of_a_request_that_timed_out(mark: str, time: datetime | None) -> None:
    assert request_with(annotations={TIMED_OUT: mark}).snapshot("a/v1", "B").timed_out_at == time
    assert request_with().snapshot("a/v1", "B").timed_out_at is None
