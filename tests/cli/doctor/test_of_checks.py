"""Findings about one check."""

from typing import Any

import pytest

from cli.doctor.of_checks import check_findings
from health.kinds.check_kind import CheckKind
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from tests.support.values.builders import check_object, escalation
from tests.support.values.openshift import PAUSED
from tests.support.values.openshift import check_object as machine_check


def said(kind: CheckKind, stored: dict[str, Any]) -> list[str]:
    return [str(finding) for finding in check_findings(kind, stored)]


def with_status(stored: dict[str, Any], *conditions: dict[str, str]) -> dict[str, Any]:
    return stored | {"status": {"conditions": list(conditions)}}


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        (NODE_HEALTH_CHECK, check_object()),
        (MACHINE_HEALTH_CHECK, machine_check()),
        (NODE_HEALTH_CHECK, with_status(check_object(), {"type": "Disabled", "status": "False"})),
        (
            MACHINE_HEALTH_CHECK,
            with_status(
                machine_check(),
                {"type": "RemediationAllowed", "status": "False", "reason": "TooManyUnhealthy"},
            ),
        ),
    ],
)
def test_nothing_is_said_of_a_check_that_works(kind: CheckKind, stored: dict[str, Any]) -> None:
    assert said(kind, stored) == []


@pytest.mark.rule("rule 64")
@pytest.mark.parametrize(
    ("kind", "stored", "name"),
    [
        (NODE_HEALTH_CHECK, check_object(), "NodeHealthCheck workers"),
        (MACHINE_HEALTH_CHECK, machine_check(), "MachineHealthCheck openshift-machine-api/workers"),
        (
            NODE_HEALTH_CHECK,
            check_object(escalatingRemediations=[escalation(1)], remediationTemplate=None),
            "",
        ),
    ],
)
def test_relapse_is_said_to_change_nothing_where_remediations_have_one_step(
    kind: CheckKind, stored: dict[str, Any], name: str
) -> None:
    metadata = stored["metadata"]
    annotations = metadata.get("annotations", {}) | {"paramedic.dev/relapse": "30m"}
    words = (
        f"warning: {name} has paramedic.dev/relapse, which changes nothing: its remediations have one step: "
        "remove the annotation: only an escalation has a next step"
    )
    assert said(kind, stored | {"metadata": metadata | {"annotations": annotations}}) == [words] * bool(name)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (
            {"maxUnhealthy": "many"},
            "spec.maxUnhealthy: must be a whole number or a percentage from 0% to 100% (found 'many')",
        ),
        ({"maxUnhealthy": -1}, "spec.maxUnhealthy: must not be negative (found -1)"),
        ({"maxUnhealthy": 2**31}, "spec.maxUnhealthy: must fit into 32 bits (found 2147483648)"),
        (
            {"unhealthyConditions": [{"type": "Ready", "status": "False"}]},
            "spec.unhealthyConditions[0].timeout: is missing",
        ),
        (
            {"nodeStartupTimeout": "-5m"},
            "spec.nodeStartupTimeout: must be a duration such as 300s, 5m or 1h30m (found '-5m')",
        ),
    ],
)
@pytest.mark.parametrize("annotations", [{}, PAUSED])
def test_check_that_cannot_be_read_is_said_with_field_and_value_even_while_it_is_paused(
    spec: dict[str, Any], why: str, annotations: dict[str, str]
) -> None:
    (sentence,) = said(MACHINE_HEALTH_CHECK, machine_check(annotations, **spec))
    assert sentence == (
        f"problem: MachineHealthCheck openshift-machine-api/workers cannot be read: {why}: "
        "correct it; until then it does nothing"
    )


FLAGGED = {
    "type": "RemediationAllowed",
    "status": "False",
    "reason": "InvalidSpec",
    "message": "spec.maxUnhealthy: must not be negative (found -1)",
}


def test_check_that_cannot_be_read_and_is_flagged_for_it_is_said_once() -> None:
    (finding,) = check_findings(MACHINE_HEALTH_CHECK, with_status(machine_check(maxUnhealthy=-1), FLAGGED))
    assert (finding.reason, finding.advice) == ("CheckUnreadable", "correct it; until then it does nothing")


def test_check_that_is_still_flagged_is_said_with_what_its_status_says() -> None:
    (finding,) = check_findings(MACHINE_HEALTH_CHECK, with_status(machine_check(), FLAGGED))
    assert finding.reason == "CheckUnreadable"
    assert finding.what == (
        "MachineHealthCheck openshift-machine-api/workers is marked as one that cannot be read: InvalidSpec: "
        "spec.maxUnhealthy: must not be negative (found -1)"
    )


@pytest.mark.parametrize(
    ("kind", "stored", "condition", "reason", "words"),
    [
        (
            NODE_HEALTH_CHECK,
            check_object(),
            {"type": "Disabled", "status": "True"},
            "CheckDisabled",
            "NodeHealthCheck workers is disabled",
        ),
        (
            MACHINE_HEALTH_CHECK,
            machine_check(),
            {"type": "ExternalRemediationTemplateAvailable", "status": "False"},
            "TemplateUnavailable",
            "MachineHealthCheck openshift-machine-api/workers cannot use its template",
        ),
        (
            MACHINE_HEALTH_CHECK,
            machine_check(),
            {"type": "ExternalRemediationRequestAvailable", "status": "False"},
            "RequestUnavailable",
            "MachineHealthCheck openshift-machine-api/workers cannot make its request",
        ),
    ],
)
def test_check_that_says_that_it_does_not_work_is_repeated_with_its_reason(
    kind: CheckKind, stored: dict[str, Any], condition: dict[str, str], reason: str, words: str
) -> None:
    because = {"reason": "NotFound", "message": "no such template"}
    (finding,) = check_findings(kind, with_status(stored, condition | because))
    assert finding.reason == reason
    assert str(finding) == (
        f"problem: {words}: NotFound: no such template: "
        "fix the problem that it names; the fix is noticed by itself"
    )
