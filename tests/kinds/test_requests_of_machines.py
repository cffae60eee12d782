"""Which request for a Machine belongs to which check: the same rule for both Machine APIs (rule 39)."""

from typing import Any, NamedTuple

import pytest

from health.kinds.check_kind import CheckKind
from health.kinds.clusterapi.group import V1BETA1, V1BETA2
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.model.references import CheckReference, IncidentReference, TargetReference
from tests.support.values import cluster_api, openshift
from tests.support.values.builders import INCIDENT as INCIDENT_OF_NODE
from tests.support.values.machines import request

pytestmark = pytest.mark.rule("rule 39")

NODE_HEALTH_CHECK = {
    "apiVersion": "remediation.medik8s.io/v1alpha1",
    "kind": "NodeHealthCheck",
    "name": "workers",
    "uid": "check-uid",
}


class MachineApi(NamedTuple):
    """One of the two Machine APIs, with an incident of a check of it."""

    kind: CheckKind
    namespace: str
    api_version: str
    other_versions: tuple[str, ...]
    """Other versions of the same API, which may stand in owner references."""

    @property
    def incident(self) -> IncidentReference:
        check = CheckReference(
            kind="MachineHealthCheck", group=self.kind.group, namespace=self.namespace, name="workers"
        )
        target = TargetReference(
            kind="Machine", namespace=self.namespace, name="machine-1", uid="machine-uid"
        )
        return IncidentReference(cluster="c", check=check, target=target)

    @property
    def owner(self) -> dict[str, str]:
        return {
            "apiVersion": self.api_version,
            "kind": "Machine",
            "name": "machine-1",
            "uid": "machine-uid",
        }


OPENSHIFT = MachineApi(MACHINE_HEALTH_CHECK, openshift.NAMESPACE, "machine.openshift.io/v1beta1", ())
CLUSTER_API = MachineApi(
    CLUSTER_API_MACHINE_HEALTH_CHECK,
    cluster_api.NAMESPACE,
    V1BETA2,
    (V1BETA1,),
)
APIS = {"OpenShift": OPENSHIFT, "Cluster API": CLUSTER_API}


@pytest.fixture(params=APIS)
def api(request: pytest.FixtureRequest) -> MachineApi:
    return APIS[request.param]


@pytest.fixture
def other_api(api: MachineApi) -> MachineApi:
    return OPENSHIFT if api is CLUSTER_API else CLUSTER_API


def test_request_belongs_to_the_check_whose_incident_made_it(api: MachineApi) -> None:
    ours = request(api.owner, namespace=api.namespace, incident=api.incident.workflow_id)
    assert api.kind.owner_of(ours) == api.incident.check
    assert ours.target_name == "machine-1"


def test_request_that_no_incident_of_such_a_check_made_belongs_to_none(
    api: MachineApi, other_api: MachineApi
) -> None:
    of_the_controller = request(api.owner, namespace=api.namespace)
    elsewhere = request(api.owner, namespace="elsewhere", incident=api.incident.workflow_id)
    assert api.kind.owner_of(of_the_controller) is None
    assert api.kind.owner_of(elsewhere) is None
    other_kind = api.incident.model_copy(
        update={"check": api.incident.check.model_copy(update={"group": other_api.kind.group})}
    )
    for incident in (other_kind.workflow_id, INCIDENT_OF_NODE.workflow_id, "remediation"):
        assert api.kind.owner_of(request(api.owner, namespace=api.namespace, incident=incident)) is None


def test_request_with_its_machine_as_only_owner_is_one_of_the_controller(
    api: MachineApi, other_api: MachineApi
) -> None:
    def is_unsigned(*owners: dict[str, Any], incident: str = "") -> bool:
        made = request(*owners, namespace=api.namespace, incident=incident)
        return api.kind.is_unsigned_for(made, api.incident.target)

    assert is_unsigned(api.owner)
    for version in api.other_versions:
        assert is_unsigned(api.owner | {"apiVersion": version})
    assert not is_unsigned(api.owner, incident=api.incident.workflow_id)
    assert not is_unsigned(api.owner | {"uid": "another"})
    assert not is_unsigned(api.owner | {"controller": True})  # the infrastructure of the Machine
    assert not is_unsigned(api.owner | {"apiVersion": other_api.api_version})
    assert not is_unsigned(NODE_HEALTH_CHECK, api.owner)
    assert not is_unsigned(api.owner, NODE_HEALTH_CHECK)
    assert not is_unsigned()
