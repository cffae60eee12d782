"""The id of an incident's workflow says which check it is of, and so do the Leases that a check takes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.model.references import CheckReference, IncidentReference, TargetReference, check_of

NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,20}[a-z0-9])?", fullmatch=True)


GROUPS = ["remediation.medik8s.io", "machine.openshift.io", "cluster.x-k8s.io"]
OF_CLUSTER_API = CheckReference(
    kind="MachineHealthCheck", group="cluster.x-k8s.io", namespace="machines", name="workers"
)


@given(
    NAMES,
    st.sampled_from(["NodeHealthCheck", "MachineHealthCheck"]),
    st.sampled_from(GROUPS),
    NAMES | st.just(""),
    NAMES,
    NAMES,
)
def test_check_of_an_incident_is_read_back_from_its_id(  # noqa: PLR0913, PLR0917  an id has these parts
    cluster: str, kind: str, group: str, namespace: str, name: str, target: str
) -> None:
    check = CheckReference(kind=kind, group=group, namespace=namespace, name=name)
    reference = TargetReference(kind="Machine", namespace=namespace, name=target, uid="0123456789")
    incident = IncidentReference(cluster=cluster, check=check, target=reference)
    assert check_of(incident.workflow_id) == check


@pytest.mark.parametrize(
    "text",
    ["", "remediation", "remediation/c/Kind/name/target", "remediation/c/Kind//name/t/u", "a/b/c/d/e/f"],
)
def test_foreign_workflow_id_names_no_check(text: str) -> None:
    assert check_of(text) is None


@pytest.mark.parametrize(
    ("kind", "group"),
    [
        ("NodeHealthCheck", "remediation.medik8s.io"),
        ("MachineHealthCheck", "machine.openshift.io"),
        ("Machine", "machine.openshift.io"),
        ("Node", ""),
    ],
)
def test_kind_that_was_there_first_is_written_and_read_without_its_group(kind: str, group: str) -> None:
    reference = CheckReference(kind=kind, group=group, name="a")
    assert str(reference) == f"{kind}/a"
    assert CheckReference(kind=kind, name="a") == reference
    assert CheckReference.model_validate_json(reference.model_dump_json()) == reference


def test_kinds_of_one_name_are_distinguished_wherever_they_are_written() -> None:
    target = TargetReference(
        kind="Machine", group="cluster.x-k8s.io", namespace="machines", name="m-1", uid="0123456789"
    )
    incident = IncidentReference(cluster="c", check=OF_CLUSTER_API, target=target)
    assert (
        incident.workflow_id
        == "remediation/c/MachineHealthCheck.cluster.x-k8s.io/machines/workers/m-1/01234567"
    )
    assert str(target) == "Machine.cluster.x-k8s.io/machines/m-1"
    assert OF_CLUSTER_API.lease_holder == "MachineHealthCheck.cluster.x-k8s.io-machines/workers"
    assert check_of(incident.workflow_id) == OF_CLUSTER_API
    assert CheckReference(kind="MachineHealthCheck", namespace="machines", name="workers") != OF_CLUSTER_API


@pytest.mark.rule("NHC 1.8/holder", "rule 39")
def test_check_signs_leases_as_the_operator_does() -> None:
    assert CheckReference(kind="NodeHealthCheck", name="workers").lease_holder == "NodeHealthCheck-workers"


@pytest.mark.rule("rule 13/Machine")
def test_checks_of_one_name_in_two_namespaces_sign_differently() -> None:
    check = CheckReference(kind="MachineHealthCheck", namespace="machines", name="workers")
    assert check.lease_holder == "MachineHealthCheck-machines/workers"


@pytest.mark.rule("rule 21")
def test_lock_of_the_control_plane_is_signed_for_one_node() -> None:
    check = CheckReference(kind="NodeHealthCheck", name="masters")
    assert check.lock_holder("master-1") == "NodeHealthCheck-masters/master-1"
