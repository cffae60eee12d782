"""What is said of one check."""

from datetime import timedelta
from typing import Any

import pytest

from cli.doctor.of_checks import check_findings
from health.check_kind import CheckKind
from health.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.openshift.kind import MACHINE_HEALTH_CHECK
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


def test_check_that_cannot_be_read_is_said_with_field_and_value() -> None:
    (sentence,) = said(MACHINE_HEALTH_CHECK, machine_check(maxUnhealthy="many"))
    assert sentence == (
        "problem: MachineHealthCheck openshift-machine-api/workers cannot be read: spec.maxUnhealthy: must "
        "be a whole number or a percentage from 0% to 100% (found 'many'): "
        "mend it; until then it does nothing"
    )


@pytest.mark.parametrize(
    ("kind", "stored", "type_", "status", "words"),
    [
        (NODE_HEALTH_CHECK, check_object(), "Disabled", "True", "NodeHealthCheck workers is disabled"),
        (
            MACHINE_HEALTH_CHECK,
            machine_check(),
            "ExternalRemediationTemplateAvailable",
            "False",
            "MachineHealthCheck openshift-machine-api/workers cannot use its template",
        ),
    ],
)
def test_check_that_says_that_it_does_not_work_is_repeated_with_its_reason(
    kind: CheckKind, stored: dict[str, Any], type_: str, status: str, words: str
) -> None:
    condition = {"type": type_, "status": status, "reason": "TemplateNotFound", "message": "no such template"}
    assert said(kind, with_status(stored, condition)) == [
        f"problem: {words}: TemplateNotFound: no such template: mend what it names; it is noticed by itself"
    ]
