"""A check with a template asks an external remediator; the request is deleted when it is no longer needed."""

from contextlib import suppress

import pytest

from devcluster.control_plane import ControlPlane
from devcluster.simulation.resources import MACHINES
from kube.errors import NotFound
from kube.resource import Object
from tests.support.story.audit import deletions
from tests.support.story.machine_incidents import CHECK
from tests.support.story.machines import FINALIZER, Machines
from tests.support.story.other_kind import OtherKind
from tests.support.story.world import REQUESTS, TEMPLATES

pytestmark = pytest.mark.cluster

TEMPLATE, REQUEST = "ExternalRemediationTemplateAvailable", "ExternalRemediationRequestAvailable"
FAILED = "ExternalRemediationRequestCreationFailed"


def request_of(machines: Machines, name: str, uid: str) -> Object:
    """A request as the machine-api-operator creates it."""
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
    """Wait until no Machine has a request."""

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


@pytest.mark.rule("rule 27", "rule 8", "MHC A.1/event/RemediationRestricted", "MHC A.1/remediationTemplate")
async def test_request_without_a_template_or_that_cannot_be_created_is_reported_in_its_condition_until_it_can(
    machines: Machines, other_kind: OtherKind
) -> None:
    (name,) = await machines.add("a")
    await other_kind.remove(other_kind.requests)
    check = await machines.add_check(remediationTemplate=other_kind.template | {"namespace": "elsewhere"})
    said = await check.until_condition(TEMPLATE, status="False")
    assert (said["severity"], said["reason"]) == ("Error", "ExternalRemediationTemplateNotFound")
    await machines.world.fail(name)
    await machines.until_held(name, "RemediationTemplateNotFound: ")
    await put_template(machines, other_kind, {"metadata": {"labels": {"team": "no label!"}}})

    said = await check.until_condition(REQUEST, status="False")
    not_served = f"the API server serves no kind Reset in {other_kind.api_version}"
    assert (said["severity"], said["reason"]) == ("Error", FAILED)
    assert said["message"] == not_served
    assert await check.condition(TEMPLATE) == {"status": "True"}
    refused = f"RemediationRequestCreationFailed: {not_served}"
    await machines.until_held(name, refused)
    await until_restricted(machines, "RemediationTemplateNotFound: ", refused)

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


async def until_restricted(machines: Machines, *words: str) -> None:
    """Wait until the check has exactly one Event for each reason that held all its Machines."""

    async def are_told() -> bool:
        told = [event["message"] for event in await machines.events(CHECK, "RemediationRestricted")]
        return len(told) == len(words) and all(
            sum(word in message for message in told) == 1 for word in words
        )

    await machines.world.until(are_told, f"it was never told once of each of {words}")


async def put_template(machines: Machines, kind: OtherKind, template: object) -> None:
    """Replace the spec.template of a template of that kind."""
    body: Object = {
        "apiVersion": kind.api_version,
        "kind": kind.templates.kind,
        "metadata": {"name": kind.template["name"]},
        "spec": {"template": template},
    }
    with suppress(NotFound):
        await machines.client.delete(kind.templates, kind.template["name"], machines.namespace)
    await machines.client.create(kind.templates, body, machines.namespace)
