"""The ids of clusters and workflows: which check and which cluster they belong to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from health.cluster.cluster_identity import (
    ANNOTATION,
    MOST_BELIEVED,
    NOT_KNOWN,
    UNREADABLE,
    KnownCluster,
    bounded,
    changed_hold,
    node_digest,
    read_note,
)
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


EAST = KnownCluster(owner="cluster-1", uid="uid-1", believed=("12", "34"))


@pytest.mark.rule("rule 50")
@pytest.mark.parametrize(
    ("before", "owner", "uid", "confirmed", "after"),
    [
        (NOT_KNOWN, "cluster-1", "uid-1", [], KnownCluster(owner="cluster-1", uid="uid-1")),
        (EAST, "cluster-1", "uid-1", [], EAST),
        (EAST, "cluster-1", "uid-2", [], EAST),
        (EAST, "cluster-1", "uid-2", ["uid-3"], EAST),
        (EAST, "cluster-1", "uid-2", ["uid-2"], EAST.model_copy(update={"uid": "uid-2"})),
        # Another Cluster of that name, which has its own cluster.
        (EAST, "cluster-2", "uid-2", [], KnownCluster(owner="cluster-2", uid="uid-2")),
        (UNREADABLE, "cluster-1", "uid-1", [], UNREADABLE),
        (UNREADABLE, "cluster-1", "uid-1", ["uid-1"], KnownCluster(owner="cluster-1", uid="uid-1")),
    ],
)
def test_first_uid_is_believed_and_another_one_only_when_a_person_confirms_it(
    before: KnownCluster, owner: str, uid: str, confirmed: list[str], after: KnownCluster
) -> None:
    assert before.after(owner, uid, confirmed) == after
    assert after.is_one(owner, uid) is (after is not EAST or uid == "uid-1") or not after.is_readable


@pytest.mark.rule("rule 50")
def test_hold_says_both_uids_and_how_a_person_confirms_the_new_one() -> None:
    message = changed_hold("fleet/east", EAST, "uid-2").message
    assert "kube-system is uid-2, it was uid-1" in message
    assert "paramedic.dev/confirmed-cluster=uid-2" in message
    assert "cannot be read" in changed_hold("fleet/east", UNREADABLE, "uid-2").message


@pytest.mark.rule("rule 50")
def test_note_that_is_not_there_says_nothing_and_one_that_is_garbage_may_say_anything() -> None:
    assert read_note({}) == {}
    assert read_note({ANNOTATION: "{"}) is None
    assert read_note({ANNOTATION: '{"fleet/east": {"uid": "uid-1"}}'}) == {
        "fleet/east": KnownCluster(uid="uid-1")
    }


@pytest.mark.rule("rule 50")
def test_note_of_an_earlier_version_which_had_the_number_of_losses_alone_has_no_names() -> None:
    assert read_note({ANNOTATION: '{"fleet/east": {"uid": "uid-1", "lost": 3}}'}) == {
        "fleet/east": KnownCluster(uid="uid-1")
    }


@pytest.mark.rule("rule 50")
def test_record_of_ten_thousand_losses_fits_on_a_lease_and_keeps_those_of_small_clusters() -> None:
    large, small = (
        tuple(node_digest(f"{one}-{index}") for index in range(number))
        for one, number in (("l", 10_000), ("s", 3))
    )
    records = {
        "fleet/large": KnownCluster(uid="1", believed=large),
        "fleet/small": KnownCluster(uid="2", believed=small),
    }
    kept = bounded(records)
    assert kept["fleet/small"] == records["fleet/small"]
    assert (kept["fleet/large"].uid, len(kept["fleet/large"].believed)) == ("1", MOST_BELIEVED - len(small))
    assert len(TypeAdapter(dict[str, KnownCluster]).dump_json(kept)) < 256 * 1024 / 2
    assert len(set(large)) == len(large)
