"""What is said of one check."""

from datetime import timedelta
from typing import Any

import pytest

from cli.doctor.of_checks import check_findings
from health.check_kind import CheckKind
from health.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.openshift.kind import MACHINE_HEALTH_CHECK
from tests.health.openshift.samples import PAUSED
from tests.health.openshift.samples import check_object as machine_check
from tests.health.samples import NOW, check_object, stamp

OURS = frozenset({"paramedic-detector"})


def said(kind: CheckKind, stored: dict[str, Any]) -> list[str]:
    return [str(finding) for finding in check_findings(kind, stored, OURS, NOW)]


def with_status(stored: dict[str, Any], *conditions: dict[str, str]) -> dict[str, Any]:
    return stored | {"status": {"conditions": list(conditions)}}


def written(stored: dict[str, Any], **minutes_ago: int) -> dict[str, Any]:
    entries = [
        {
            "manager": manager.replace("_", "-"),
            "subresource": "status",
            "time": stamp(NOW - timedelta(minutes=ago)),
        }
        for manager, ago in minutes_ago.items()
    ]
    return stored | {"metadata": stored["metadata"] | {"managedFields": entries}}


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
        (MACHINE_HEALTH_CHECK, written(machine_check(), paramedic_detector=1)),
    ],
)
def test_nothing_is_said_of_a_check_that_works(kind: CheckKind, stored: dict[str, Any]) -> None:
    assert said(kind, stored) == []


def test_controller_that_still_writes_the_status_is_named_with_the_time() -> None:
    (sentence,) = said(MACHINE_HEALTH_CHECK, written(machine_check(), machine_healthcheck=3))
    assert sentence == (
        "warning: 'machine-healthcheck' is still writing the status of MachineHealthCheck "
        "openshift-machine-api/workers (last at 2026-03-01T11:57:00Z): "
        "stop it, two controllers would remediate the same targets"
    )


def test_controller_after_which_we_wrote_may_be_stopped_already() -> None:
    (sentence,) = said(NODE_HEALTH_CHECK, written(check_object(), manager=9, paramedic_detector=3))
    assert sentence == (
        "warning: 'manager' wrote the status of NodeHealthCheck workers within the last hour (last at "
        "2026-03-01T11:51:00Z), and we did since: make sure that it is stopped, two controllers would "
        "remediate the same targets"
    )


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (
            {"maxUnhealthy": "many"},
            "spec.maxUnhealthy: must be a whole number or a percentage from 0% to 100% (found 'many')",
        ),
        ({"maxUnhealthy": -1}, "spec.maxUnhealthy: must not be negative: -1 (found -1)"),
        ({"maxUnhealthy": 2**31}, "spec.maxUnhealthy: must fit into 32 bits (found 2147483648)"),
        (
            {"unhealthyConditions": [{"type": "Ready", "status": "False"}]},
            "spec.unhealthyConditions[0].timeout: Field required",
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
        "mend it; until then it does nothing"
    )


FLAGGED = {
    "type": "RemediationAllowed",
    "status": "False",
    "reason": "InvalidSpec",
    "message": "spec.maxUnhealthy: must not be negative: -1 (found -1)",
}


def test_check_that_cannot_be_read_and_is_flagged_for_it_is_said_once() -> None:
    (finding,) = check_findings(
        MACHINE_HEALTH_CHECK, with_status(machine_check(maxUnhealthy=-1), FLAGGED), OURS, NOW
    )
    assert (finding.reason, finding.advice) == ("CheckUnreadable", "mend it; until then it does nothing")


def test_check_that_is_still_flagged_is_said_with_what_its_status_says() -> None:
    (finding,) = check_findings(MACHINE_HEALTH_CHECK, with_status(machine_check(), FLAGGED), OURS, NOW)
    assert finding.reason == "CheckUnreadable"
    assert finding.what == (
        "MachineHealthCheck openshift-machine-api/workers is marked as one that cannot be read: InvalidSpec: "
        "spec.maxUnhealthy: must not be negative: -1 (found -1)"
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
    (finding,) = check_findings(kind, with_status(stored, condition | because), OURS, NOW)
    assert finding.reason == reason
    assert str(finding) == (
        f"problem: {words}: NotFound: no such template: mend what it names; it is noticed by itself"
    )
