"""Adds a made-up kind of check by one entry in each registry, and runs one of its incidents.

Its name equals that of an existing kind. During the incident the API server switches from one version of the
kind to the other.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client as TemporalClient

from devcluster.control_plane import ControlPlane
from devcluster.simulation.resources import DEFINITIONS
from devcluster.temporal import TemporalServer
from health.model.references import CheckReference, IncidentReference, TargetReference
from kube.errors import KubernetesError, NotFound
from kube.lease import name_for
from kube.resource import LEASES, Object, Resource, resource_of
from objects.timestamps import stamp
from tests.end_to_end.third_kind import processes
from tests.end_to_end.third_kind.check import GROUP, KIND, MACHINE_HEALTH_CHECK, MACHINES
from tests.support.cluster.processes import our_process
from tests.support.story.other_kind import CLUSTER_ROLES
from tests.support.story.outcome import outcome_of
from tests.support.story.paramedic import Paramedic, watched_world
from tests.support.story.policies import NO_BACK_OFF, put_policy
from tests.support.story.world import LEASE_NAMESPACE, REQUESTS, World
from workflows.messages import State

pytestmark = pytest.mark.cluster

NAMESPACE, NAME = "default", "workers"
POLICY_OF_WRITES = "paramedic-detector-writes"
OLD = Resource(f"{GROUP}/v1", KIND, "machinehealthchecks", namespaced=True)
NEW = resource_of(MACHINE_HEALTH_CHECK)
MACHINE = resource_of(MACHINES)
ADMISSION_POLICIES = Resource(
    "admissionregistration.k8s.io/v1",
    "ValidatingAdmissionPolicy",
    "validatingadmissionpolicies",
    namespaced=False,
)


def crd(resource: Resource, *versions: str) -> Object:
    """A CRD that serves the first of `versions`."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = [
        {
            "name": version,
            "served": version == versions[0],
            "storage": version == versions[0],
            "schema": {"openAPIV3Schema": schema},
            "subresources": {"status": {}},
        }
        for version in versions
    ]
    names = {"plural": resource.plural, "kind": resource.kind}
    return {
        "apiVersion": DEFINITIONS.api_version,
        "kind": DEFINITIONS.kind,
        "metadata": {"name": f"{resource.plural}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": served},
    }


class Fleet:
    def __init__(self, world: World) -> None:
        self.world = world
        self.client = world.client
        self.machine = world.name
        self._uid = ""
        self._validations: list[dict[str, Any]] = []
        """The validations of the policy of the detector's writes, without this kind."""

    async def install(self) -> None:
        role = {
            "apiVersion": CLUSTER_ROLES.api_version,
            "kind": CLUSTER_ROLES.kind,
            "metadata": {
                "name": GROUP,
                "labels": {"rbac.ext-remediation/aggregate-to-ext-remediation": "true"},
            },
            "rules": [{"apiGroups": [GROUP], "resources": ["*"], "verbs": ["*"]}],
        }
        await self.client.create(CLUSTER_ROLES, role)
        await self._let_the_detector_write_status()
        await self.client.create(DEFINITIONS, crd(MACHINE, "v1"))
        await self.client.create(DEFINITIONS, crd(OLD, "v1", "v2"))
        await self.until_served(MACHINE)
        await self.until_served(OLD)

    async def _let_the_detector_write_status(self) -> None:
        """Grant the detector writes of the status, as an installation with this kind does."""
        policy = await self.client.get(ADMISSION_POLICIES, POLICY_OF_WRITES)
        (validation,) = self._validations = policy["spec"]["validations"]
        beginning = "variables.written in ["
        more = f'{beginning} "UPDATE machinehealthchecks/status.{GROUP}",'
        expression = validation["expression"].replace(beginning, more)
        await self._validate_by([validation | {"expression": expression}])

    async def _validate_by(self, validations: list[dict[str, Any]]) -> None:
        patch = {"spec": {"validations": validations}}
        await self.client.merge_patch(ADMISSION_POLICIES, POLICY_OF_WRITES, patch)

    async def upgrade(self) -> None:
        patch = {"spec": crd(NEW, "v2", "v1")["spec"]}
        await self.client.merge_patch(DEFINITIONS, f"{NEW.plural}.{GROUP}", patch)
        await self.until_served(NEW)

    async def until_served(self, resource: Resource) -> None:
        async def is_served() -> bool:
            with suppress(KubernetesError):
                await self.client.list(resource)
                return True
            return False

        await self.world.until(is_served, f"{resource} is not served")

    async def add_machine(self) -> None:
        body = {"apiVersion": MACHINE.api_version, "kind": MACHINE.kind, "metadata": {"name": self.machine}}
        made = await self.client.create(MACHINE, body, NAMESPACE)
        self._uid = made["metadata"]["uid"]

    async def set_failed(self, since: datetime | None) -> None:
        status = {"failedSince": stamp(since) if since else None}
        await self.client.merge_patch(MACHINE, self.machine, {"status": status}, NAMESPACE, "status")

    async def add_check(self) -> None:
        """Add a check with the fields of the old version, and one with those of the new version."""
        await self.world.add_template()
        body = {
            "apiVersion": OLD.api_version,
            "kind": OLD.kind,
            "metadata": {"name": NAME},
            "spec": {
                "template": self.world.template(),
                "failedForSeconds": 1,
                "failed": {"forSeconds": 2},
            },
        }
        await self.client.create(OLD, body, NAMESPACE)

    async def request(self) -> Object | None:
        with suppress(NotFound):
            return await self.client.get(REQUESTS, self.machine, NAMESPACE)
        return None

    @property
    def incident(self) -> IncidentReference:
        return IncidentReference(
            cluster=self.world.cluster,
            check=CheckReference(kind=KIND, group=GROUP, namespace=NAMESPACE, name=NAME),
            target=TargetReference(
                kind=MACHINE.kind, group=GROUP, namespace=NAMESPACE, name=self.machine, uid=self._uid
            ),
        )

    async def uninstall(self) -> None:
        for resource, name in (
            (DEFINITIONS, f"{NEW.plural}.{GROUP}"),
            (DEFINITIONS, f"{MACHINE.plural}.{GROUP}"),
            (CLUSTER_ROLES, GROUP),
        ):
            with suppress(NotFound):
                await self.client.delete(resource, name)
        if self._validations:
            await self._validate_by(self._validations)  # other tests share the control plane


@pytest.fixture
async def paramedic(
    cluster_name: str, control_plane: ControlPlane, temporal_server: TemporalServer, tmp_path: Path
) -> AsyncIterator[Paramedic]:
    """Detector and worker with one more kind."""
    entries = {"detector": processes.run_detector, "worker": processes.run_worker}
    both = [
        our_process(name, cluster_name, control_plane, temporal_server, tmp_path, entry=entry)
        for name, entry in entries.items()
    ]
    for process in both:
        process.environment["PARAMEDIC_CHECK_KINDS"] = MACHINE_HEALTH_CHECK.resource_name
    await put_policy(control_plane, NO_BACK_OFF)
    yield Paramedic(*both)
    await asyncio.gather(*(process.stop() for process in both))
    await put_policy(control_plane, "")


@pytest.fixture
async def fleet(
    cluster_name: str, control_plane: ControlPlane, temporal_client: TemporalClient, paramedic: Paramedic
) -> AsyncIterator[Fleet]:
    async with watched_world(cluster_name, control_plane, temporal_client) as world:
        made = Fleet(world)
        try:
            await made.install()
            yield made
        finally:
            await asyncio.gather(paramedic.detector.stop(), paramedic.worker.stop())
            await made.uninstall()
            await world.remove()


async def test_kind_that_is_in_the_registries_alone_runs_an_incident_over_a_change_of_its_version(
    fleet: Fleet, paramedic: Paramedic
) -> None:
    await fleet.add_machine()
    await fleet.add_check()
    await paramedic.start()
    world = fleet.world

    await fleet.set_failed(datetime.now(UTC))
    await world.until_requested(fleet.machine)
    workflow = world.temporal.get_workflow_handle(fleet.incident.workflow_id)
    beginning = f"remediation/{world.cluster}/{KIND}.{GROUP}/{NAMESPACE}/{NAME}/{fleet.machine}/"
    assert fleet.incident.workflow_id.startswith(beginning)
    request = await fleet.request()
    assert request is not None
    assert request["metadata"]["annotations"]["paramedic.dev/incident"] == fleet.incident.workflow_id
    lease = await fleet.client.get(
        LEASES, name_for(f"{MACHINE.kind}.{GROUP}", NAMESPACE, fleet.machine), LEASE_NAMESPACE
    )
    assert lease["spec"]["holderIdentity"] == f"{KIND}.{GROUP}-{NAMESPACE}/{NAME}"

    await fleet.upgrade()
    patch = {"metadata": {"labels": {"seen-in": "v2"}}, "spec": {"failedForSeconds": None}}
    generation = (await fleet.client.merge_patch(NEW, NAME, patch, NAMESPACE))["metadata"]["generation"]

    async def is_seen_anew() -> bool:
        state: State = await workflow.query("state", result_type=State)
        return state.observation is not None and state.observation.generation == generation

    await world.until(is_seen_anew, "the check was never read in its new version")

    async def has_status() -> bool:
        found = (await fleet.client.get(NEW, NAME, NAMESPACE)).get("status", {})
        return (found.get("total"), found.get("healthy")) == (1, 0)

    await world.until(has_status, "the status was never written")
    await fleet.set_failed(None)
    assert await outcome_of(workflow) == "Remediated"
    assert await fleet.request() is None
    counted = await paramedic.worker.metrics()
    ended = [key for key, value in counted.items() if "paramedic_incidents_total" in str(key) and value]
    assert len(ended) == 1
    assert f"{KIND}.{GROUP}" in str(ended[0])
