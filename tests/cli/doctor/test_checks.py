"""Findings about one check, as the API server stores it and its status says."""

from datetime import timedelta
from typing import Any

import pytest

from cli.doctor import checks
from cli.doctor.checks import CHECK_RULES, kind_not_served, operator_runs
from cli.doctor.finding import Finding
from health.kinds.check_kind import CheckKind
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.policy.policy_in_force import SHADOW
from kube.lease import LeaseRecord, new_lease
from objects.timestamps import stamp
from tests.cli.doctor.known_cluster import KnownCluster
from tests.support.values.builders import NOW, check_object, escalation
from tests.support.values.cluster_api import NOT_READY as CAPI_NOT_READY
from tests.support.values.cluster_api import check_object as capi_check_object
from tests.support.values.openshift import PAUSED
from tests.support.values.openshift import check_object as openshift_check_object

NOT_READY = {"type": "Ready", "status": "False", "timeout": "5m"}


def machine_check(annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """A check of Machines that watches a condition."""
    return openshift_check_object(annotations, **{"unhealthyConditions": [NOT_READY], **spec})


async def findings(kind: CheckKind, stored: dict[str, Any]) -> list[Finding]:
    """All findings about one check; two questions are about other objects."""
    metadata = {"uid": "u", "resourceVersion": "1"} | stored["metadata"]
    cluster = KnownCluster(checks={kind: [stored | {"metadata": metadata}]})
    asked = [question for question in CHECK_RULES if question not in (kind_not_served, operator_runs)]
    return [finding for question in asked for finding in await question.findings(cluster)]


async def said(kind: CheckKind, stored: dict[str, Any]) -> list[str]:
    return [str(finding) for finding in await findings(kind, stored)]


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
async def test_nothing_is_said_of_a_check_that_works(kind: CheckKind, stored: dict[str, Any]) -> None:
    assert await said(kind, stored) == []


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
async def test_relapse_is_said_to_change_nothing_where_remediations_have_one_step(
    kind: CheckKind, stored: dict[str, Any], name: str
) -> None:
    metadata = stored["metadata"]
    annotations = metadata.get("annotations", {}) | {"paramedic.dev/relapse": "30m"}
    words = (
        f"warning: {name} has paramedic.dev/relapse, which changes nothing: its remediations have one step: "
        "remove the annotation: only an escalation has a next step"
    )
    assert await said(kind, stored | {"metadata": metadata | {"annotations": annotations}}) == [words] * bool(
        name
    )


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
async def test_check_that_cannot_be_read_is_said_with_field_and_value_even_while_it_is_paused(
    spec: dict[str, Any], why: str, annotations: dict[str, str]
) -> None:
    (sentence,) = await said(MACHINE_HEALTH_CHECK, machine_check(annotations, **spec))
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


async def test_check_that_cannot_be_read_and_is_flagged_for_it_is_said_once() -> None:
    (finding,) = await findings(MACHINE_HEALTH_CHECK, with_status(machine_check(maxUnhealthy=-1), FLAGGED))
    assert (finding.reason, finding.advice) == ("CheckUnreadable", "correct it; until then it does nothing")


async def test_check_that_is_still_flagged_is_said_with_what_its_status_says() -> None:
    (finding,) = await findings(MACHINE_HEALTH_CHECK, with_status(machine_check(), FLAGGED))
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
async def test_check_that_says_that_it_does_not_work_is_repeated_with_its_reason(
    kind: CheckKind, stored: dict[str, Any], condition: dict[str, str], reason: str, words: str
) -> None:
    because = {"reason": "NotFound", "message": "no such template"}
    (finding,) = await findings(kind, with_status(stored, condition | because))
    assert finding.reason == reason
    assert str(finding) == (
        f"problem: {words}: NotFound: no such template: "
        "fix the problem that it names; the fix is noticed by itself"
    )


@pytest.mark.parametrize(
    ("stored", "words"),
    [
        (check_object() | {"status": {"observedNodes": 0}}, "selects none of the Nodes, by its status"),
        (
            check_object(minHealthy="100%") | {"status": {"observedNodes": 3}},
            "never allows a remediation of its 3 Nodes: ",
        ),
        (check_object(minHealthy="100%") | {"status": {}}, None),
        (check_object() | {"status": {"observedNodes": 3}}, None),
        (check_object(unhealthyConditions=[]), "watches no condition, so no target is remediated for one"),
        (
            check_object(unhealthyConditions=[{"type": "Ready", "status": "Flase", "duration": "5m"}]),
            "waits for Ready=Flase, and a condition is True, False or Unknown",
        ),
    ],
)
async def test_check_that_cannot_act_by_its_spec_and_status_is_named(
    stored: dict[str, Any], words: str | None
) -> None:
    lines = await said(NODE_HEALTH_CHECK, stored)
    assert len(lines) == (words is not None), lines
    assert all(f"NodeHealthCheck workers {words}" in line for line in lines)


async def test_check_in_shadow_is_a_note_and_its_other_writers_are_expected() -> None:
    shadow = with_writers(CLUSTER_API, {"kubectl": MINUTE})
    shadow["metadata"]["annotations"] = {SHADOW: "true"}
    (found,) = await findings(CLUSTER_API, shadow)
    assert (found.severity, found.reason) == ("note", "InShadow")


CLUSTER_API = CLUSTER_API_MACHINE_HEALTH_CHECK
MINUTE = timedelta(minutes=1)


def with_writers(kind: CheckKind, ago: dict[str, timedelta]) -> dict[str, Any]:
    """A check whose status these managers wrote so long ago."""
    stored = (
        capi_check_object(checks={"unhealthyNodeConditions": [CAPI_NOT_READY]})
        if kind is CLUSTER_API
        else machine_check()
    )
    fields = [
        {"manager": manager, "subresource": "status", "time": stamp(NOW - age)}
        for manager, age in ago.items()
    ]
    return stored | {"metadata": stored["metadata"] | {"managedFields": fields}}


@pytest.mark.parametrize(
    ("ago", "is_found"),
    [
        ({"paramedic-detector": 2 * MINUTE}, False),
        ({"machine-healthcheck": 10 * MINUTE}, True),
        ({"machine-healthcheck": 10 * MINUTE, "paramedic-detector": MINUTE}, True),
        ({"machine-healthcheck": 100 * MINUTE, "paramedic-detector": MINUTE}, False),
        ({"machine-healthcheck": 100 * MINUTE, "paramedic-detector": 200 * MINUTE}, True),
    ],
)
async def test_other_writer_of_a_status_within_the_hour_or_after_us_is_named(
    ago: dict[str, timedelta], *, is_found: bool
) -> None:
    lines = await said(MACHINE_HEALTH_CHECK, with_writers(MACHINE_HEALTH_CHECK, ago))
    assert len(lines) == is_found
    for line in lines:
        assert line.startswith(
            "warning: 'machine-healthcheck' wrote the status of MachineHealthCheck "
            "openshift-machine-api/workers 1"
        )


@pytest.mark.parametrize(("manager", "severity"), [("manager", "note"), ("kubectl-edit", "warning")])
async def test_core_manager_of_cluster_api_may_write_under_admission_policies(
    manager: str, severity: str
) -> None:
    (found,) = await findings(CLUSTER_API, with_writers(CLUSTER_API, {manager: MINUTE}))
    assert (found.reason, found.severity) == ("StatusWrittenByAnother", severity)


def held_lease(name: str) -> LeaseRecord:
    body = new_lease(name, "openshift-machine-api", "pod-1", MINUTE, NOW, None)
    body["metadata"] |= {"uid": "u", "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return LeaseRecord.model_validate(body)


@pytest.mark.parametrize(
    ("kind", "reason", "words"),
    [
        (MACHINE_HEALTH_CHECK, "warning ReferenceRuns", "the machine-api-operator runs: 'pod-1' holds "),
        (CLUSTER_API, "note ReferenceControllerMayRun", "'pod-1' holds the Lease "),
    ],
)
async def test_operator_that_holds_its_lease_runs_and_a_shared_lease_is_no_proof(
    kind: CheckKind, reason: str, words: str
) -> None:
    cluster = KnownCluster(checks={kind: []}, leases=[held_lease(kind.operator_lease)])
    (found,) = await checks.operator_runs.findings(cluster)
    assert f"{found.severity} {found.reason}" == reason
    assert found.what.startswith(words)
