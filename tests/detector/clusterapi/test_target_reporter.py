"""Conditions of Machines are written on change, to the Machine with the right uid, and no change is lost."""

from datetime import timedelta
from typing import Any

import pytest

from health.check.template_validity import TemplateKind
from health.kinds.clusterapi.cluster import CLUSTERS
from health.model.observation import Hold, HoldReason
from health.model.references import IncidentReference, TargetReference
from health.policy.policy_in_force import SHADOW
from kube.resource import Object
from tests.detector.clusterapi.reporting import EXTERNAL, OWNER, SUCCEEDED, Reporting
from tests.support.api.api_server import refused
from tests.support.api.eventually import eventually
from tests.support.state.small_cluster_api import machine_object, named
from tests.support.values.builders import NOW
from tests.support.values.cluster_api import MINUTE, NAMESPACE, PAUSED, TEMPLATE, cluster, merged

WITH_TEMPLATE: dict[str, Any] = {"remediation": {"templateRef": TEMPLATE}}
FOREIGN = [
    {"type": "Ready", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z", "extra": {"a": [1]}},
    {"type": "example.com/Custom", "status": "Unknown"},
]


@pytest.mark.rule(
    "rule 30",
    "CAPI B.2.2/excluded",
    "CAPI B.2.5/healthy",
    "CAPI B.1/condition/HealthCheckSucceeded",
    "CAPI B.2.1/heartbeat",
)
async def test_healthy_machines_that_are_not_left_alone_are_reported_once_and_again_when_that_changes(
    reports: Reporting,
) -> None:
    reports.small.check()
    for name, annotation in (("paused", "paused"), ("skipped", "skip-remediation")):
        reports.small.node(name, "False")
        reports.api.put(name, machine_object(name, annotations={f"cluster.x-k8s.io/{annotation}": ""}))
    for name in ("a", "b"):
        reports.add(name)
    async with reports.leading():
        await reports.says("a", "True")
        await reports.says("b", "True")
        reports.small.cluster_state.notify_all()
        reports.small.node("a", "True", NOW)  # a heartbeat changes no condition
        await reports.all_written()
        assert sorted(reports.written()) == ["a", "b"]

        reports.small.delete_node("a")
        await reports.says("a", "False")
        found = reports.api.condition("a", SUCCEEDED)
        assert found is not None
        assert found["reason"] == "NodeDeleted"
        reports.small.node("a")
        await reports.says("a", "True")
        assert reports.api.written().count("b") == 1


async def test_new_leader_writes_no_condition_that_is_already_stored(reports: Reporting) -> None:
    reports.small.check()
    reports.add("a")
    async with reports.leading():
        await reports.says("a", "True")
    reports.small.node("a", "False")
    async with reports.leading():
        await reports.says("a", "False")
    async with reports.leading():
        await reports.all_written()
        assert reports.api.written().count("a") == 2


@pytest.mark.rule("CAPI B.2.4/blocked")
async def test_machine_that_failed_is_reported_first_also_where_nothing_may_be_done(
    reports: Reporting,
) -> None:
    reports.small.check(remediation={"triggerIf": {"unhealthyLessThanOrEqualTo": 0}})
    for number in range(5):
        reports.add(f"healthy-{number}")
    reports.add("failed", "False")
    async with reports.leading():
        await eventually(lambda: len(reports.api.written()) == 6)
        assert reports.api.written()[0] == "failed"
        assert reports.said("failed") == "False"
        assert reports.said("failed", OWNER) is None


@pytest.mark.rule("CAPI B.2.3/Node condition")
async def test_deadline_that_passes_while_nothing_else_happens_is_reported(reports: Reporting) -> None:
    reports.small.check()
    reports.offset = timedelta(seconds=0.6)
    reports.small.node("a", "False", NOW - 5 * MINUTE + timedelta(seconds=1))
    reports.api.put("a", machine_object("a"))
    async with reports.leading():
        await reports.all_written()
        assert reports.api.written().count("a") == 0
        await reports.says("a", "False")
        assert reports.now() > NOW + timedelta(seconds=1)


@pytest.mark.rule("CAPI B.2.7/nothing")
async def test_nothing_is_reported_for_a_check_that_is_paused_until_it_is_not(reports: Reporting) -> None:
    reports.small.check(annotations=PAUSED)
    reports.add("a", "False")
    async with reports.leading():
        await reports.all_written()
        reports.small.check()
        await reports.says("a", "False")

        reports.small.cluster(cluster(paused=True))
        reports.small.node("a")
        await reports.all_written()
        assert reports.said("a") == "False"
        reports.small.cluster(cluster())
        await reports.says("a", "True")


@pytest.mark.rule("rule 43")
async def test_nothing_is_reported_for_a_check_in_shadow_until_it_is_left(reports: Reporting) -> None:
    reports.small.check(annotations={SHADOW: "true"})
    reports.add("a", "False")
    async with reports.leading():
        await reports.all_written()
        assert reports.written() == []
        reports.small.check()
        await reports.says("a", "False")


@pytest.mark.rule("rule 33/unreachable")
async def test_nothing_is_reported_while_the_nodes_cannot_be_seen(reports: Reporting) -> None:
    reports.small.check()
    reports.small.unreachable("it does not answer")
    reports.add("a", "False")
    async with reports.leading():
        await reports.all_written()
        assert reports.written() == []
        reports.small.unreachable("")
        await reports.says("a", "False")


@pytest.mark.rule("rule 3")
async def test_check_that_could_not_be_judged_by_is_looked_at_again(reports: Reporting) -> None:
    reports.small.check()
    reports.add("a", "False")
    reports.unseen.add(named())
    async with reports.leading():
        await reports.all_written()
        assert reports.written() == []
        reports.unseen.clear()  # the reporter gets no notification
        await reports.says("a", "False")


@pytest.mark.rule("CAPI B.1/refused")
async def test_nothing_is_reported_for_a_check_that_cannot_be_read(reports: Reporting) -> None:
    reports.small.check(remediation={"triggerIf": {"unhealthyInRange": "[5-3]"}})
    reports.add("a", "False")
    async with reports.leading():
        await reports.all_written()
        assert reports.written() == []
        reports.small.check()
        await reports.says("a", "False")


@pytest.mark.rule("CAPI B.2.2/no Cluster")
async def test_nothing_is_reported_where_there_is_no_cluster_not_even_of_a_machine_that_is_to_be_remediated(
    reports: Reporting,
) -> None:
    reports.small.cluster(None)
    reports.small.check()
    reports.small.node("a")
    asked_for = {"cluster.x-k8s.io/remediate-machine": ""}
    reports.api.put("a", machine_object("a", annotations=asked_for))
    async with reports.leading():
        await reports.all_written()
        assert reports.written() == []
        reports.small.cluster(cluster())
        await reports.says("a", "False")


async def test_of_two_checks_that_select_a_machine_the_one_that_it_fails_is_heard(
    reports: Reporting,
) -> None:
    lenient: dict[str, Any] = {"checks": {"unhealthyMachineConditions": [], "unhealthyNodeConditions": []}}
    reports.small.check("a-lenient", **lenient)
    reports.small.check("strict")
    reports.small.check("z-lenient", **lenient)
    reports.add("a", "False")
    async with reports.leading():
        await reports.says("a", "False")
        reports.small.cluster_state.notify_all()
        await reports.all_written()
        assert reports.api.written().count("a") == 1
        reports.small.delete_check("strict")
        reports.small.cluster_state.notify_check(named("a-lenient"))
        reports.small.node("a", "False", NOW)
        await reports.says("a", "True")


async def test_answer_that_it_is_not_there_is_no_reason_to_be_silent_for_ever(reports: Reporting) -> None:
    """An API server answers 404 for a moment while its kinds switch to another version."""
    reports.small.check()
    reports.add("a", "False")
    reports.api.refusals["a"] = refused(404, "NotFound", "a")
    async with reports.leading():
        await eventually(lambda: len(reports.attempts("a")) == 2)
        del reports.api.refusals["a"]
        await reports.says("a", "False")


async def test_machine_that_is_made_anew_under_its_name_is_another_one(reports: Reporting) -> None:
    reports.small.check()
    reports.add("a", "False")
    reports.is_watching = False
    reports.api.put("a", machine_object("a", uid="another"))
    async with reports.leading():
        await eventually(lambda: reports.reads("a"))
        reports.is_watching = True
        await reports.all_written()
        assert reports.api.written().count("a") == 0

        reports.api.put("a", machine_object("a", uid="another"))
        await reports.says("a", "False")


@pytest.mark.rule("CAPI B.1/condition/others")
async def test_conditions_of_three_other_writers_survive_a_write_in_the_same_moment(
    reports: Reporting,
) -> None:
    reports.small.check()
    reports.add("a", "False")

    def writer(number: int) -> Any:
        def write(found: Object) -> None:
            theirs = {"type": f"example.com/Of{number}", "status": "True", "odd": {"kept": [number, None]}}
            conditions = [*found["status"].get("conditions", []), theirs]
            reports.api.put("a", merged(found, {"status": {"conditions": conditions}}))

        return write

    reports.api.between.extend(writer(number) for number in (1, 2, 3))
    async with reports.leading():
        await reports.says("a", "False")
        others = [
            condition for condition in reports.api.status("a")["conditions"] if condition["type"] != SUCCEEDED
        ]
        assert others == [
            {"type": f"example.com/Of{number}", "status": "True", "odd": {"kept": [number, None]}}
            for number in (1, 2, 3)
        ]
        assert reports.api.written().count("a") == 1


@pytest.mark.rule("CAPI B.1/condition/others")
async def test_conditions_of_others_are_written_back_as_they_were(reports: Reporting) -> None:
    reports.small.check()
    reports.small.node("a")
    reports.api.put("a", machine_object("a", status={"conditions": FOREIGN}))
    async with reports.leading():
        await reports.says("a", "True")
        assert [
            condition for condition in reports.api.status("a")["conditions"] if condition in FOREIGN
        ] == FOREIGN


async def test_machine_that_recovers_while_its_failure_is_written_is_reported_as_healthy_alone(
    reports: Reporting,
) -> None:
    reports.small.check()
    reports.add("a", "False")

    def recovers(found: Object) -> None:
        reports.api.put("a", found)  # another version: the write is a conflict
        reports.small.node("a")

    reports.api.between.append(recovers)
    async with reports.leading():
        await reports.says("a", "True")
        await reports.all_written()
        statuses = [
            condition["status"]
            for name, body in reports.api.patches
            for condition in body["conditions"]
            if name == "a" and condition["type"] == SUCCEEDED
        ]
        assert statuses == ["True"]


async def test_check_that_is_paused_while_it_writes_writes_nothing_more(reports: Reporting) -> None:
    reports.small.check()
    reports.add("a", "False")

    def is_paused(found: Object) -> None:
        reports.api.put("a", found)
        reports.small.check(annotations=PAUSED)

    reports.api.between.append(is_paused)
    async with reports.leading():
        await eventually(lambda: reports.reads("a"))
        await reports.all_written()
        assert reports.written() == []


@pytest.mark.rule("CAPI B.1/condition/ExternallyRemediated", "rule 45", "CAPI B.2.5/no template")
async def test_result_of_a_request_is_reported_while_its_machine_is_unhealthy(reports: Reporting) -> None:
    reports.small.check(**WITH_TEMPLATE)
    reports.add("a", "False")
    incident = IncidentReference(
        cluster="main-0a1b",
        check=named(),
        target=TargetReference(
            kind="Machine", group=CLUSTERS.group, namespace=NAMESPACE, name="a", uid="uid-a"
        ),
    )
    async with reports.leading():
        await reports.says("a", "False", EXTERNAL)
        assert reports.reason("a", EXTERNAL) == "WaitingForRemediation"

        why = "a webhook said no"
        refusal = Hold(reason=HoldReason.REFUSED, message=why, request_error=why)
        reports.small.cluster_state.found(incident, refusal)
        await eventually(lambda: reports.reason("a", EXTERNAL) == "RemediationRequestCreationFailed")

    reports.small.cluster_state.act_findings.clear()  # as on a new leader
    async with reports.leading():
        await reports.all_written()
        assert reports.reason("a", EXTERNAL) == "RemediationRequestCreationFailed"
        reports.small.cluster_state.found(incident, None)
        await eventually(lambda: reports.reason("a", EXTERNAL) == "WaitingForRemediation")

        reports.small.template_kinds = lambda *_: TemplateKind()
        reports.small.cluster_state.templates_changed(TEMPLATE["apiVersion"], TEMPLATE["kind"])
        await eventually(lambda: reports.reason("a", EXTERNAL) == "RemediationTemplateNotFound")

        reports.small.node("a")
        await reports.says("a", None, EXTERNAL)


@pytest.mark.rule("CAPI B.1/condition/ExternallyRemediated", "CAPI B.2.5/no template")
async def test_template_that_is_gone_is_reported_on_no_machine_that_has_its_request(
    reports: Reporting,
) -> None:
    reports.small.check(**WITH_TEMPLATE)
    reports.add("a", "False")
    reports.small.request("a")
    async with reports.leading():
        await reports.says("a", "False", EXTERNAL)
        reports.small.template_kinds = lambda *_: TemplateKind()
        reports.small.cluster_state.templates_changed(TEMPLATE["apiVersion"], TEMPLATE["kind"])
        await reports.all_written()
        assert reports.reason("a", EXTERNAL) == "WaitingForRemediation"

        reports.small.request("a", exists=False)
        await eventually(lambda: reports.reason("a", EXTERNAL) == "RemediationTemplateNotFound")
