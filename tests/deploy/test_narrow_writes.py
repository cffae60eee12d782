"""Our rights on Machines and their checks under the admission policies, on a real API server."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from devcluster.control_plane import ControlPlane
from devcluster.polling import until
from health.kinds.openshift.machine import EXTERNAL_REMEDIATION
from health.kinds.registry import CHECK_KINDS
from health.model.remediation_order import REMEDIATE
from kube.client import Client
from kube.errors import Forbidden
from kube.resource import CONFIG_MAPS, Object, Resource
from kube.transport import Transport

pytestmark = pytest.mark.cluster

GROUP = "cluster.x-k8s.io"
IN = "default"
PATIENCE = timedelta(seconds=60)
AT = "2026-03-01T11:00:00Z"
CLUSTER = "my-cluster"
LABEL = f"{GROUP}/cluster-name"
PAUSED = f"{GROUP}/paused"
MARKED = next(kind.upgrade_pause.mark for kind in CHECK_KINDS.values() if kind.upgrade_pause)


def resource(api_version: str, kind: str) -> Resource:
    return Resource(api_version, kind, f"{kind.lower()}s", namespaced=True)


MACHINES = {version: resource(f"{GROUP}/{version}", "Machine") for version in ("v1beta1", "v1beta2")}
CHECKS = resource(f"{GROUP}/v1beta2", "MachineHealthCheck")
TEMPLATES = Resource(
    "demo.paramedic.dev/v1",
    "PowerCycleRemediationTemplate",
    "powercycleremediationtemplates",
    namespaced=True,
)
OPENSHIFT_MACHINES = resource("machine.openshift.io/v1beta1", "Machine")
OPENSHIFT_CHECKS = resource("machine.openshift.io/v1beta1", "MachineHealthCheck")


def condition(type_: str, status: str) -> dict[str, str]:
    said = {"type": type_, "status": status, "reason": "Because", "message": "so"}
    return said | {"lastTransitionTime": AT}


HOLD = "paramedic.dev/hold"
READY, SUCCEEDED = condition("Ready", "True"), condition("HealthCheckSucceeded", "True")
FAILED, EXTERNAL = condition("HealthCheckSucceeded", "False"), condition("ExternallyRemediated", "False")
MARK, DONE = condition("OwnerRemediated", "False"), condition("OwnerRemediated", "True")
HEALTHY = [READY, SUCCEEDED]


def listed(form: str, *conditions: Mapping[str, str]) -> Object:
    """A status in which one of the three lists has these conditions."""
    found: Object = {"conditions": list(conditions)}
    for field in reversed([field for field in form.split("/") if field]):
        found = {field: found}
    return found


every_form = pytest.mark.parametrize(
    ("version", "form"),
    [
        pytest.param("v1beta2", "", id="v1beta2"),
        pytest.param("v1beta2", "deprecated/v1beta1", id="deprecated"),
        pytest.param("v1beta1", "", id="v1beta1"),
        pytest.param("v1beta1", "v1beta2", id="to come"),
    ],
)


class Machine:
    """One object that all of us write to."""

    def __init__(self, administrator: Client, detector: Client, worker: Client) -> None:
        self.administrator, self.detector, self.worker = administrator, detector, worker
        self.name = f"narrow-{uuid4().hex[:8]}"

    async def refuses(
        self, client: Client, of: Resource, patch: Object, subresource: str | None = None
    ) -> str:
        """The policy that refuses a patch; "" if none does."""
        try:
            await client.merge_patch(of, self.name, patch, IN, subresource=subresource)
        except Forbidden as error:
            _, _, policy = error.message.partition("ValidatingAdmissionPolicy '")
            if not policy:
                raise
            return policy.partition("'")[0]
        return ""

    async def create(self, of: Resource, **content: Any) -> None:
        metadata = {"name": self.name, **content.pop("metadata", {})}
        body = {"apiVersion": of.api_version, "kind": of.kind, "metadata": metadata, **content}
        await self.administrator.create(of, body, IN)

    async def says(self, version: str, status: Object) -> None:
        await self.administrator.merge_patch(
            MACHINES[version], self.name, {"status": status}, IN, subresource="status"
        )

    async def refuses_status(self, client: Client, version: str, status: Object) -> str:
        return await self.refuses(client, MACHINES[version], {"status": status}, "status")


@pytest.fixture
async def machine(control_plane: ControlPlane) -> AsyncIterator[Machine]:
    kubeconfigs = (
        control_plane.kubeconfig,
        control_plane.detector_kubeconfig,
        control_plane.worker_kubeconfig,
    )
    async with AsyncExitStack() as stack:
        connected = [await Transport.connect(str(kubeconfig)) for kubeconfig in kubeconfigs]
        yield Machine(*[Client(await stack.enter_async_context(one), "tests") for one in connected])


@pytest.fixture
async def in_cluster_api(machine: Machine) -> AsyncIterator[Machine]:
    await machine.create(MACHINES["v1beta2"], spec={"clusterName": CLUSTER})
    await machine.says("v1beta2", {"nodeRef": {"name": "node-1"}, "conditions": HEALTHY})

    async def is_narrowed() -> bool:
        return bool(await machine.refuses_status(machine.detector, "v1beta2", {"phase": "Failed"}))

    await until(is_narrowed, within=PATIENCE, otherwise="the detector may write any status of a Machine")
    yield machine
    await machine.administrator.delete(MACHINES["v1beta2"], machine.name, IN)


@every_form
@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(HEALTHY, [*HEALTHY, MARK], id="mark for the owner"),
        pytest.param([READY, FAILED, DONE], [READY, FAILED, MARK], id="mark again"),
        pytest.param([READY, FAILED, MARK], [READY, FAILED], id="mark taken off"),
        pytest.param(HEALTHY, [condition("Ready", "False"), SUCCEEDED], id="condition of another"),
        pytest.param(HEALTHY, [*HEALTHY, condition("NodeReady", "False")], id="new condition"),
    ],
)
async def test_detector_has_no_machine_remediated_by_its_owner(
    in_cluster_api: Machine,
    version: str,
    form: str,
    before: list[dict[str, str]],
    after: list[dict[str, str]],
) -> None:
    machine = in_cluster_api
    await machine.says(version, listed(form, *before))
    refused = await machine.refuses_status(machine.detector, version, listed(form, *after))
    assert refused == "paramedic-machine-status"


@every_form
async def test_detector_says_of_machines_what_is_its_own_in_any_order(
    in_cluster_api: Machine, version: str, form: str
) -> None:
    machine = in_cluster_api
    await machine.says(version, listed(form, READY, SUCCEEDED, MARK))
    for said in ([EXTERNAL, FAILED, MARK, READY], [MARK, READY], [READY, SUCCEEDED, MARK]):
        assert not await machine.refuses_status(machine.detector, version, listed(form, *said))


@pytest.mark.parametrize(
    ("version", "status"),
    [
        ("v1beta2", {"nodeRef": {"name": "gone"}}),
        ("v1beta2", {"nodeRef": None}),
        ("v1beta2", {"phase": "Failed"}),
        ("v1beta2", {"deprecated": {"v1beta1": {"failureReason": "UpdateError"}}}),
        ("v1beta1", {"failureReason": "UpdateError"}),
        ("v1beta1", {"failureMessage": "broken"}),
    ],
    ids=str,
)
@pytest.mark.parametrize("of", ["detector", "worker"])
async def test_neither_process_makes_a_machine_unhealthy_by_the_rest_of_its_status(
    in_cluster_api: Machine, version: str, status: Object, of: str
) -> None:
    refused = await in_cluster_api.refuses_status(getattr(in_cluster_api, of), version, status)
    assert refused == "paramedic-machine-status"


@every_form
async def test_worker_asks_the_owner_and_writes_no_other_condition(
    in_cluster_api: Machine, version: str, form: str
) -> None:
    machine = in_cluster_api
    await machine.says(version, listed(form, *HEALTHY))
    for said in ([*HEALTHY, EXTERNAL], [condition("Ready", "False"), SUCCEEDED], [SUCCEEDED]):
        refused = await machine.refuses_status(machine.worker, version, listed(form, *said))
        assert refused == "paramedic-machine-status"
    assert not await machine.refuses_status(machine.worker, version, listed(form, FAILED, MARK, READY))


OWNER = {"apiVersion": f"{GROUP}/v1beta2", "kind": "Cluster", "name": CLUSTER, "uid": "1"}
SPEC = {"clusterName": CLUSTER, "selector": {"matchLabels": {"a": "b"}}}


@pytest.fixture
async def other_owner(machine: Machine) -> AsyncIterator[Object]:
    """An owner that exists, so that the check is not collected."""
    made = await machine.administrator.create(CONFIG_MAPS, {"metadata": {"name": machine.name}}, IN)
    named = {"name": machine.name, "uid": made["metadata"]["uid"]}
    yield {"apiVersion": "v1", "kind": "ConfigMap", **named}
    await machine.administrator.delete(CONFIG_MAPS, machine.name, IN)


@pytest.fixture
async def check(machine: Machine, other_owner: Object) -> AsyncIterator[Machine]:
    metadata = {"labels": {"a": "b"}, "annotations": {PAUSED: ""}, "ownerReferences": [other_owner]}
    await machine.create(CHECKS, metadata=metadata, spec=SPEC)

    async def is_narrowed() -> bool:
        finalizers = {"metadata": {"finalizers": ["tests.paramedic.dev/first"]}}
        return bool(await machine.refuses(machine.detector, CHECKS, finalizers))

    await until(is_narrowed, within=PATIENCE, otherwise="the detector may edit a check")
    yield machine
    await machine.administrator.delete(CHECKS, machine.name, IN)


@pytest.mark.parametrize(
    "patch",
    [
        {"spec": {"selector": {"matchLabels": {"a": None}}}},
        {"spec": {"unhealthyRange": "[0-100]"}},
        {"metadata": {"annotations": {PAUSED: None}}},
        {"metadata": {"annotations": {"paramedic.dev/shadow": "false"}}},
        {"metadata": {"labels": {"a": None}}},
        {"metadata": {"labels": {LABEL: "other"}}},
        {"metadata": {"labels": {"new": ""}}},
        {"metadata": {"finalizers": ["a.b/c"]}},
        {"metadata": {"ownerReferences": [OWNER]}},
    ],
    ids=str,
)
async def test_detector_edits_nothing_of_a_check_that_people_chose(check: Machine, patch: Object) -> None:
    assert await check.refuses(check.detector, CHECKS, patch) == "paramedic-detector-health-checks"


async def test_detector_names_the_cluster_of_a_check_and_adds_no_other_owner(
    check: Machine, other_owner: Object
) -> None:
    async def refused(owner: Object) -> str:
        metadata = {"labels": {LABEL: CLUSTER}, "ownerReferences": [other_owner, owner]}
        return await check.refuses(check.detector, CHECKS, {"metadata": metadata})

    for owner in (other_owner | {"uid": "3"}, OWNER | {"name": "other"}, OWNER | {"apiVersion": "v1"}):
        assert await refused(owner) == "paramedic-detector-health-checks"
    assert not await refused(OWNER)
    assert not await refused(OWNER | {"uid": "2"})


UNTOUCHED: list[Object] = [
    {"labels": {"a": None}},
    {"labels": {"new": ""}},
    {"annotations": {"kept": None}},
    {"annotations": {"new": ""}},
    {"finalizers": ["a.b/c"]},
    {"ownerReferences": [OWNER]},
]
UNHEALTHY = [{"type": "Ready", "status": "False", "timeout": "5m"}]
SPECS: dict[str, Object] = {
    "machines": {"providerSpec": {"value": {"image": "theirs"}}},
    "machinehealthchecks": {"maxUnhealthy": "50%"},
}


@pytest.fixture(params=[OPENSHIFT_MACHINES, OPENSHIFT_CHECKS], ids=lambda of: of.plural)
async def in_openshift(machine: Machine, request: pytest.FixtureRequest) -> AsyncIterator[Resource]:
    of: Resource = request.param
    metadata = {"labels": {"a": "b"}, "annotations": {"kept": ""}}
    spec = {} if of is OPENSHIFT_MACHINES else {"selector": {}, "unhealthyConditions": UNHEALTHY}
    await machine.create(of, metadata=metadata, spec=spec)

    async def is_narrowed() -> bool:
        finalizers = {"metadata": {"finalizers": ["tests.paramedic.dev/first"]}}
        return bool(await machine.refuses(machine.worker, of, finalizers))

    await until(is_narrowed, within=PATIENCE, otherwise="the worker may edit what it marks")
    yield of
    await machine.administrator.delete(of, machine.name, IN)


async def test_worker_edits_nothing_of_machines_and_checks_of_openshift(
    machine: Machine, in_openshift: Resource
) -> None:
    spec = SPECS[in_openshift.plural]
    for patch in ({"spec": spec}, *({"metadata": change} for change in UNTOUCHED)):
        refused = await machine.refuses(machine.worker, in_openshift, patch)
        assert refused == "paramedic-worker-openshift", patch


async def test_worker_marks_a_machine_of_openshift_and_takes_no_mark_off(machine: Machine) -> None:
    await machine.create(OPENSHIFT_MACHINES, spec={})
    try:

        async def refused(value: str | None) -> str:
            patch = {"metadata": {"annotations": {EXTERNAL_REMEDIATION: value}}}
            return await machine.refuses(machine.worker, OPENSHIFT_MACHINES, patch)

        assert not await refused("")
        assert await refused(None) == "paramedic-worker-openshift"
    finally:
        await machine.administrator.delete(OPENSHIFT_MACHINES, machine.name, IN)


@pytest.mark.parametrize(
    ("of", "policy"),
    [
        pytest.param(OPENSHIFT_MACHINES, "paramedic-worker-openshift", id="OpenShift"),
        pytest.param(MACHINES["v1beta2"], "paramedic-worker-orders", id="Cluster API"),
    ],
)
async def test_worker_removes_an_order_from_a_machine_and_changes_nothing_else(
    machine: Machine, of: Resource, policy: str
) -> None:
    spec = {} if of is OPENSHIFT_MACHINES else {"clusterName": CLUSTER}
    await machine.create(of, metadata={"annotations": {REMEDIATE: "{}", HOLD: "", "kept": ""}}, spec=spec)
    try:

        async def refused(**metadata: Any) -> str:
            return await machine.refuses(machine.worker, of, {"metadata": metadata})

        async def is_narrowed() -> bool:
            return await refused(finalizers=["a.b/c"]) == policy

        await until(is_narrowed, within=PATIENCE, otherwise="the worker may change a Machine")
        for annotations in ({REMEDIATE: "again"}, {HOLD: None}, {"kept": None}, {"new": ""}):
            assert await refused(annotations=annotations) == policy
        assert await refused(labels={"a": "b"}) == policy
        assert not await refused(annotations={REMEDIATE: None})
        assert await refused(annotations={REMEDIATE: "{}"}) == policy
    finally:
        await machine.administrator.delete(of, machine.name, IN)


async def test_worker_pauses_a_check_of_openshift_and_gives_it_back(machine: Machine) -> None:
    await machine.create(OPENSHIFT_CHECKS, spec={"selector": {}, "unhealthyConditions": UNHEALTHY})
    try:
        for value in ("", None):
            patch = {"metadata": {"annotations": {PAUSED: value, MARKED: value}}}
            assert not await machine.refuses(machine.worker, OPENSHIFT_CHECKS, patch)
    finally:
        await machine.administrator.delete(OPENSHIFT_CHECKS, machine.name, IN)


async def test_worker_writes_no_template_though_it_is_granted(machine: Machine) -> None:
    await machine.create(TEMPLATES, spec={"template": {"spec": {}}})
    try:

        async def is_refused() -> bool:
            patch = {"metadata": {"annotations": {"a": "b"}}}
            return await machine.refuses(machine.worker, TEMPLATES, patch) == "paramedic-worker-templates"

        await until(is_refused, within=PATIENCE, otherwise="the worker may edit templates")
        with pytest.raises(Forbidden, match="paramedic-worker-templates"):
            await machine.worker.delete(TEMPLATES, machine.name, IN)
    finally:
        await machine.administrator.delete(TEMPLATES, machine.name, IN)
