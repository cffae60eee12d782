"""Orders without an incident: any client of our Temporal namespace can schedule activities (rule 52).

A foreign workflow chooses each field of the input. Another tool's object, a target or a check that it names
must stay unchanged.
"""

import pytest

from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.model.moves import AnnotationPatch
from health.model.references import IncidentReference, RequestReference
from health.model.remediation_request import INCIDENT, NODE_NAME, TARGET_UID, TIMED_OUT
from kube.resource import CONFIG_MAPS, NODES, Object, Resource, resource_of
from tests.activities.machine_world import MachineWorld
from tests.activities.worker_activities import LABELS, WorkerActivities
from tests.activities.world import NAMESPACE, REQUESTS, TEMPLATES, World
from workflows.contracts import AnnotateInput, CleanUpInput

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 52")]

MACHINES = resource_of(MACHINE_HEALTH_CHECK.targets)
CHECKS = resource_of(MACHINE_HEALTH_CHECK)
WHEN = "2026-03-01T12:00:00Z"


def named(resource: Resource, found: Object) -> RequestReference:
    """Any object, in the form of a reference to a request."""
    metadata = found["metadata"]
    return RequestReference(
        api_version=resource.api_version,
        kind=resource.kind,
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        uid=metadata["uid"],
    )


async def assert_untouched(
    world: World, worker: WorkerActivities, resource: Resource, found: Object, incident: IncidentReference
) -> None:
    """An order of a foreign workflow must neither delete nor annotate the object."""
    target = named(resource, found)
    patches = (
        AnnotationPatch(request=target, annotations={TIMED_OUT: WHEN}),
        AnnotationPatch(request=target, adopts=True),
    )
    annotated = await worker.annotate(AnnotateInput(incident=incident, patches=patches))
    cleaned = await worker.clean_up(CleanUpInput(incident=incident, requests=(target,)))
    assert await world.client.get(resource, target.name, target.namespace) == found
    assert len(annotated.failures) == len(patches)
    assert len(cleaned.failures) == 1
    assert cleaned.has_lease


async def test_request_of_another_tool_stays(world: World, admin_worker: WorkerActivities) -> None:
    await world.make_request(of_another=True)
    theirs = await world.client.get(REQUESTS, world.name, NAMESPACE)
    await assert_untouched(world, admin_worker, REQUESTS, theirs, world.incident)


async def test_request_of_another_tool_for_a_machine_stays(
    machine_world: MachineWorld, admin_worker: WorkerActivities
) -> None:
    """Only the Machine owns its infrastructure, just as it is the only owner of an operator's request."""
    await machine_world.make_machine_request()
    theirs = await machine_world.client.get(REQUESTS, machine_world.name, NAMESPACE)
    await assert_untouched(machine_world, admin_worker, REQUESTS, theirs, machine_world.incident)


async def test_request_of_the_operator_for_a_machine_that_the_check_does_not_select_stays(
    machine_world: MachineWorld, admin_worker: WorkerActivities
) -> None:
    await machine_world.use_template()
    await machine_world.make_machine_request()
    await machine_world.patch_machine(labels={machine_world.label: None})
    theirs = await machine_world.client.get(REQUESTS, machine_world.name, NAMESPACE)
    await assert_untouched(machine_world, admin_worker, REQUESTS, theirs, machine_world.incident)


async def test_request_of_another_incident_of_the_check_stays(
    world: World, admin_worker: WorkerActivities
) -> None:
    target = world.incident.target.model_copy(update={"name": "another", "uid": "another"})
    other = world.incident.model_copy(update={"target": target})
    signs = {INCIDENT: other.workflow_id, TARGET_UID: target.uid, NODE_NAME: target.name}
    await world.make_request(annotations=signs)
    theirs = await world.client.get(REQUESTS, world.name, NAMESPACE)
    await assert_untouched(world, admin_worker, REQUESTS, theirs, world.incident)


@pytest.mark.parametrize("resource", [MACHINES, CHECKS, NODES], ids=lambda one: one.kind)
async def test_target_or_check_stays_even_with_the_name_of_the_incident_on_it(
    machine_world: MachineWorld, admin_worker: WorkerActivities, resource: Resource
) -> None:
    """The Machine is unhealthy or not; either way only `act` may delete a Machine."""
    world, namespace = machine_world, NAMESPACE if resource.namespaced else ""
    signs: Object = {"metadata": {"annotations": {INCIDENT: world.incident.workflow_id}}}
    found = await world.client.merge_patch(resource, world.name, signs, namespace)
    await assert_untouched(world, admin_worker, resource, found, world.incident)


async def test_built_in_object_stays_even_with_check_as_its_owner(
    world: World, admin_worker: WorkerActivities
) -> None:
    metadata = {"name": world.name, "ownerReferences": [world.check_owner]}
    body: Object = {"apiVersion": "v1", "kind": CONFIG_MAPS.kind, "metadata": metadata}
    found = await world.client.create(CONFIG_MAPS, body, NAMESPACE)
    await assert_untouched(world, admin_worker, CONFIG_MAPS, found, world.incident)
    await world.client.delete(CONFIG_MAPS, world.name, NAMESPACE)


async def test_template_of_the_check_stays(world: World, admin_worker: WorkerActivities) -> None:
    found = await world.client.get(TEMPLATES, world.name, NAMESPACE)
    await assert_untouched(world, admin_worker, TEMPLATES, found, world.incident)


async def test_path_in_an_api_version_leads_nowhere(world: World, admin_worker: WorkerActivities) -> None:
    body: Object = {"apiVersion": "v1", "kind": CONFIG_MAPS.kind, "metadata": {"name": world.name}}
    created = await world.client.create(CONFIG_MAPS, body, NAMESPACE)
    detour = named(CONFIG_MAPS, created).model_copy(update={"api_version": "a.example.com/../../api/v1"})
    await admin_worker.clean_up(CleanUpInput(incident=world.incident, requests=(detour,)))
    assert await world.client.get(CONFIG_MAPS, world.name, NAMESPACE) == created
    await world.client.delete(CONFIG_MAPS, world.name, NAMESPACE)


@pytest.mark.parametrize("annotation", [INCIDENT, NODE_NAME, "kubectl.kubernetes.io/restartedAt"])
async def test_own_request_gets_no_other_annotations_than_those_that_remediators_know(
    world: World, admin_worker: WorkerActivities, annotation: str
) -> None:
    request = await world.make_request()
    patch = AnnotationPatch(request=request, annotations={annotation: "forged"})
    (failure,) = (
        await admin_worker.annotate(AnnotateInput(incident=world.incident, patches=(patch,)))
    ).failures
    assert failure.why == f"requests get no annotation {annotation} from us"
    found = await world.client.get(REQUESTS, world.name, NAMESPACE)
    assert "annotations" not in found["metadata"]


@pytest.mark.rule("rule 39")
async def test_request_of_the_operator_gets_the_name_of_the_incident_that_adopts_it(
    world: World, worker: WorkerActivities
) -> None:
    request = await world.make_request()
    adoption = AnnotateInput(
        incident=world.incident, patches=(AnnotationPatch(request=request, adopts=True),)
    )
    assert (await worker.annotate(adoption)).failures == ()
    found = await world.client.get(REQUESTS, world.name, NAMESPACE)
    assert found["metadata"]["annotations"] == {INCIDENT: world.incident.workflow_id}
    assert found["metadata"]["labels"] == LABELS


@pytest.mark.rule("rule 39", "rule 10")
async def test_adopted_request_of_a_machine_is_cleaned_up_once_its_check_is_gone(
    machine_world: MachineWorld, worker: WorkerActivities
) -> None:
    await machine_world.use_template()
    request = await machine_world.make_machine_request()
    patches = (AnnotationPatch(request=request, adopts=True),)
    await worker.annotate(AnnotateInput(incident=machine_world.incident, patches=patches))
    await machine_world.client.delete(CHECKS, machine_world.name, NAMESPACE)
    result = await worker.clean_up(CleanUpInput(incident=machine_world.incident, requests=(request,)))
    assert (result.remaining, result.failures) == ((), ())
    assert await machine_world.request() is None


@pytest.mark.rule("rule 10")
async def test_request_that_an_incident_made_under_an_earlier_name_of_the_cluster_is_its_own(
    world: World, worker: WorkerActivities
) -> None:
    earlier = world.incident.model_copy(update={"cluster": "earlier"})
    signs = {INCIDENT: earlier.workflow_id, TARGET_UID: world.node_uid}
    request = await world.make_request(annotations=signs)
    assert (await worker.clean_up(CleanUpInput(incident=world.incident, requests=(request,)))).failures == ()
    assert await world.request() is None
