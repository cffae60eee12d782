"""With a template, an external remediator is asked; its request goes when nobody needs it any more."""

from contextlib import suppress

import pytest

from devcluster.control_plane import ControlPlane
from devcluster.simulation.resources import MACHINES
from kube.errors import NotFound
from kube.resource import Object
from tests.end_to_end.machines.audit import deletions
from tests.end_to_end.machines.machine_incidents import CHECK
from tests.end_to_end.machines.machines import FINALIZER, Machines
from tests.end_to_end.other_kind import OtherKind
from tests.end_to_end.world import REQUESTS, TEMPLATES

pytestmark = pytest.mark.cluster

TEMPLATE, REQUEST = "ExternalRemediationTemplateAvailable", "ExternalRemediationRequestAvailable"
FAILED = "ExternalRemediationRequestCreationFailed"


def request_of(machines: Machines, name: str, uid: str) -> Object:
    """As the machine-api-operator makes it."""
    return {
        "apiVersion": REQUESTS.api_version,
        "kind": REQUESTS.kind,
        "metadata": {
            "name": name,
            "namespace": machines.namespace,
            "annotations": {
                "machine.openshift.io/cloned-from-name": CHECK,
                "machine.openshift.io/cloned-from-groupkind": f"{TEMPLATES.kind}.demo.paramedic.dev",
            },
            "ownerReferences": [
                {"apiVersion": MACHINES.api_version, "kind": "Machine", "name": name, "uid": uid}
            ],
        },
        "spec": {"powerOffSeconds": 7},
    }


async def until_gone(machines: Machines, *names: str) -> None:
    """Return when none of them has a request."""

    async def are_gone() -> bool:
        return not any(machines.world.requests.existing(name) for name in names)

    await machines.world.until(are_gone, f"requests of {names} are left")


@pytest.mark.rule(
    "MHC A.2.5/request",
    "MHC A.2.5/template",
    "MHC A.1/annotation/cloned-from",
    "MHC A.1/event/requests",
    "MHC A.2.4/request",
    "MHC A.2.6/healthy",
    "rule 7/clean-up",
    "rule 27",
)
async def test_request_for_a_machine_is_the_operators_and_goes_when_it_is_healthy_again(
    machines: Machines, control_plane: ControlPlane
) -> None:
    name = await machines.add_orphan("alone")
    check = await machines.add_check(remediationTemplate=await machines.add_template())
    await machines.world.fail(name)
    await machines.world.until_requested(name)

    made = await machines.client.get(REQUESTS, name, machines.namespace)
    wanted = request_of(machines, name, machines.incident(name).target.uid)
    assert made["spec"] == wanted["spec"]
    for part in ("ownerReferences", "name", "namespace"):
        assert made["metadata"][part] == wanted["metadata"][part]
    annotations = made["metadata"]["annotations"]
    assert wanted["metadata"]["annotations"].items() <= annotations.items()
    assert annotations["paramedic.dev/incident"] == machines.incident(name).workflow_id
    for condition in (TEMPLATE, REQUEST):
        assert await check.until_condition(condition, status="True") == {"status": "True"}
    await check.until_numbers(1, 0, 0)
    keep: Object = {"metadata": {"finalizers": [FINALIZER]}}
    await machines.client.merge_patch(REQUESTS, name, keep, machines.namespace)

    await machines.world.recover(name)
    await check.until_numbers(1, 1, 1)
    await machines.until_state(name, lambda state: state.phase == "CleaningUp")
    await machines.client.merge_patch(REQUESTS, name, {"metadata": {"finalizers": None}}, machines.namespace)
    assert await machines.outcome(name) == "Remediated"
    await until_gone(machines, name)
    assert machines.world.requests.created(name) == 1
    assert {event["reason"] for event in await machines.events(name)} == {"DetectedUnhealthy"}
    assert deletions(control_plane.audit_log, machines.namespace, name) == []


@pytest.mark.rule("rule 10", "rule 39", "MHC A.2.1/check")
async def test_requests_go_when_the_check_is_deleted_and_after_its_template_was_taken_out(
    machines: Machines,
) -> None:
    edited, left = await machines.add("edited", "left", finalizers=[FINALIZER])
    await machines.set_metadata(edited, labels={"check": "edited"})
    await machines.set_metadata(left, labels={"check": "left"})
    template = await machines.add_template()
    first, second = [
        await machines.add_check(
            name, selector={"matchLabels": {"check": name}}, remediationTemplate=template
        )
        for name in ("edited", "left")
    ]
    await machines.world.fail(edited, left)
    await machines.world.until_requested(edited, left)

    await first.edit(remediationTemplate=None)
    await second.delete()
    await until_gone(machines, left)
    assert await machines.outcome(left, "left") == "Released"
    assert not await machines.is_going(left)
    await first.until_numbers(1, 0, 0)
    await first.until_without(TEMPLATE)
    # Its remediator is still at work on it.
    assert machines.world.requests.existing(edited) == 1
    await machines.world.recover(edited)

    assert await machines.outcome(edited, "edited") == "Remediated"
    await until_gone(machines, edited)
    assert not await machines.is_going(edited)


@pytest.mark.rule(
    "rule 27",
    "rule 8",
    "MHC A.1/event/RemediationRestricted",
    "MHC A.2.5/request",
    "MHC A.1/remediationTemplate",
)
async def test_template_that_is_missing_or_broken_holds_visibly_until_it_can_be_used(
    machines: Machines, other_kind: OtherKind
) -> None:
    (name,) = await machines.add("a")
    check = await machines.add_check(remediationTemplate=other_kind.template | {"namespace": "elsewhere"})
    await machines.world.fail(name)

    said = await check.until_condition(TEMPLATE, status="False")
    assert (said["severity"], said["reason"]) == ("Error", "ExternalRemediationTemplateNotFound")
    await machines.until_held(name, "Template")
    await check.until_numbers(1, 0, 0)
    await put_template(machines, other_kind, "nothing")
    said = await check.until_condition(TEMPLATE, reason="ExternalRemediationTemplateInvalid")
    assert "didn't find spec.template" in said["message"]
    assert await names_of_requests(machines, other_kind) == []
    metadata = {"labels": {"team": "infra"}, "annotations": {"why": "test"}, "finalizers": ["not/copied"]}
    await put_template(machines, other_kind, {"metadata": metadata, "spec": {"deep": {"er": 1}}, "more": 2})

    await machines.until_state(name, lambda state: state.phase == "Remediating")
    assert await check.until_condition(TEMPLATE, status="True") == {"status": "True"}
    made = await machines.client.get(other_kind.requests, name, machines.namespace)
    assert (made["spec"], made["more"]) == ({"deep": {"er": 1}}, 2)
    assert made["metadata"]["labels"] == {"team": "infra"}
    assert made["metadata"]["annotations"]["why"] == "test"
    assert "finalizers" not in made["metadata"]
    # Once for each of the two reasons.
    assert len(await machines.events(CHECK, "RemediationRestricted")) == 2
    await machines.world.recover(name)
    assert await machines.outcome(name) == "Remediated"
    assert await names_of_requests(machines, other_kind) == []


@pytest.mark.rule("rule 27", "MHC A.1/event/RemediationRestricted")
async def test_request_that_cannot_be_created_is_told_in_its_condition_until_it_can(
    machines: Machines, other_kind: OtherKind
) -> None:
    (name,) = await machines.add("a")
    await other_kind.remove(other_kind.requests)
    await put_template(machines, other_kind, {"metadata": {"labels": {"team": "no label!"}}})
    check = await machines.add_check(remediationTemplate=other_kind.template)

    said = await check.until_condition(REQUEST, status="False")
    not_served = f"the API server serves no kind Reset in {other_kind.api_version}"
    assert (said["severity"], said["reason"]) == ("Error", FAILED)
    assert said["message"] == not_served
    assert await check.condition(TEMPLATE) == {"status": "True"}
    await machines.world.fail(name)
    await machines.until_held(name, f"RemediationRequestCreationFailed: {not_served}")
    told = await machines.until_told(CHECK, "RemediationRestricted")
    assert told["message"].endswith(f"RemediationRequestCreationFailed: {not_served}")

    await other_kind.serve_requests()
    state = await machines.until_held(name, "Refused: POST ")
    answered = state.details.partition("Refused: ")[2].rpartition(" (")[0]
    said = await check.until_condition(REQUEST, status="False", message=answered)
    assert said["reason"] == FAILED
    assert '"no label!"' in said["message"]

    await put_template(machines, other_kind, {"spec": {}})
    await machines.workflow(name).signal("wake")
    await machines.until_state(name, lambda state: state.phase == "Remediating")
    assert await check.until_condition(REQUEST, status="True") == {"status": "True"}
    await machines.world.recover(name)
    assert await machines.outcome(name) == "Remediated"


async def put_template(machines: Machines, kind: OtherKind, template: object) -> None:
    """A template of that kind with this as spec.template, in the place of another."""
    body: Object = {
        "apiVersion": kind.api_version,
        "kind": kind.templates.kind,
        "metadata": {"name": kind.template["name"]},
        "spec": {"template": template},
    }
    with suppress(NotFound):
        await machines.client.delete(kind.templates, kind.template["name"], machines.namespace)
    await machines.client.create(kind.templates, body, machines.namespace)


async def names_of_requests(machines: Machines, kind: OtherKind) -> list[str]:
    """The requests of that kind."""
    found = await machines.client.list(kind.requests, machines.namespace)
    return [request["metadata"]["name"] for request in found]


@pytest.mark.rule("rule 39", "MHC A.2.6/healthy")
async def test_request_that_the_operator_made_is_taken_over_and_removed_on_recovery(
    machines: Machines,
) -> None:
    (name,) = await machines.add("a")
    template = await machines.add_template()
    await machines.world.fail(name)
    made = await machines.client.create(
        REQUESTS, request_of(machines, name, machines.incident(name).target.uid), machines.namespace
    )
    await machines.add_check(remediationTemplate=template)

    state = await machines.until_state(name, lambda state: state.phase == "Remediating")
    assert [request.uid for request in state.requests] == [made["metadata"]["uid"]]
    await machines.world.recover(name)
    assert await machines.outcome(name) == "Remediated"
    await until_gone(machines, name)
    assert machines.world.requests.created(name) == 1


@pytest.mark.rule("rule 13/Machine", "rule 13")
async def test_second_check_over_a_machine_waits_for_the_first_and_says_for_whom(machines: Machines) -> None:
    (name,) = await machines.add("a")
    template = await machines.add_template()
    await machines.add_check("first", remediationTemplate=template)
    await machines.world.fail(name)
    await machines.until_state(name, lambda state: state.phase == "Remediating", "first")
    second = await machines.add_check("second", remediationTemplate=template)

    taken = f"Taken: MachineHealthCheck/{machines.namespace}/first has"
    await machines.until_held(name, taken, "second")
    told = await machines.until_told(name, "RemediationRestricted")
    assert told["type"] == "Normal"
    assert f"/second/{name}/" in told["message"]
    assert f" remediation restricted: {taken}" in told["message"]
    assert machines.world.requests.created(name) == 1
    await second.until_numbers(1, 0, 0)
    await machines.world.recover(name)
    assert await machines.outcome(name, "first") == "Remediated"
    assert await machines.outcome(name, "second") == "Recovered"
    await until_gone(machines, name)
    assert machines.world.requests.created(name) == 1
