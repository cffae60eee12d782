"""Identities, ids and search attributes fit into what Temporal stores, whatever the names are."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.incidents.visibility import Filter
from health.model.references import CheckReference, IncidentReference, TargetReference, check_of, is_id_of
from objects.clusters import cluster_identity, is_of
from objects.short_text import LONGEST_ID, bounded_id
from runtime.search_attributes import CHECK, TARGET, of_incident
from runtime.settings import LONGEST_CLUSTER
from tests.support.values.notifications import notification
from workflows.notification import notification_workflow_id

LONGEST_NAME, LONGEST_NAMESPACE, LONGEST_IDENTITY = "n" * 253, "s" * 63, f"{'c' * 52}-0a1b2c3d"


def incident(name: str, kind: str = "MachineHealthCheck", target: str = "Machine") -> IncidentReference:
    group, namespace = ("cluster.x-k8s.io", LONGEST_NAMESPACE) if target == "Machine" else ("", "")
    check = CheckReference(kind=kind, namespace=namespace, name=name, **({"group": group} if group else {}))
    of = TargetReference(
        kind=target, namespace=namespace, name=name, uid="0a1b2c3d-4", **({"group": group} if group else {})
    )
    return IncidentReference(cluster=LONGEST_IDENTITY, check=check, target=of)


@pytest.mark.parametrize("length", [1, LONGEST_ID - 1, LONGEST_ID])
def test_value_that_fits_is_kept(length: int) -> None:
    assert bounded_id("a" * length) == "a" * length


def test_value_that_is_too_long_is_distinguished_from_others_of_the_same_beginning() -> None:
    long = "a" * LONGEST_ID
    values = {bounded_id(f"{long}{letter}") for letter in "bcd"}
    assert {len(value) for value in values} == {LONGEST_ID}
    assert len(values) == 3
    assert bounded_id(f"{long}b") == bounded_id(f"{long}b")


def test_longest_names_of_kubernetes_are_stored_and_found() -> None:
    of_machine = of_incident(incident(LONGEST_NAME))
    check, target = of_machine.get(CHECK), of_machine.get(TARGET)
    assert check is not None
    assert target is not None
    assert (len(str(incident(LONGEST_NAME).check)), len(check), len(target)) == (353, LONGEST_ID, LONGEST_ID)
    assert check.startswith("MachineHealthCheck.cluster.x-k8s.io/")

    of_node = of_incident(incident(LONGEST_NAME, "NodeHealthCheck", "Node"))
    query = Filter(check=LONGEST_NAME, target=LONGEST_NAME).query
    assert f"ParamedicCheck = '{of_node.get(CHECK)}'" in query
    assert f"ParamedicTarget = '{of_node.get(TARGET)}'" in query
    assert "ParamedicCheck STARTS_WITH 'MachineHealthCheck.cluster.x-k8s.io/'" in query


def test_every_workflow_id_of_the_longest_names_is_one_that_temporal_stores() -> None:
    long = incident(LONGEST_NAME)
    assert len(long.workflow_id) == LONGEST_ID
    assert len(notification_workflow_id(long.cluster, "r" * 63, notification())) < LONGEST_ID


def test_incident_with_a_cut_id_is_known_by_its_full_one() -> None:
    long = incident(LONGEST_NAME)
    assert (check_of(long.full_id), check_of(long.workflow_id)) == (long.check, None)
    assert is_id_of(long.model_copy(update={"cluster": "renamed-0a1b2c3d"}).full_id, long)


LONGEST_LABEL = 63


def test_identity_is_the_name_and_eight_characters_of_the_uid() -> None:
    assert cluster_identity("prod", "1a2b3c4d-5e6f-4071-8293-a4b5c6d7e8f9") == "prod-1a2b3c4d"


def test_uids_that_begin_with_the_same_four_characters_are_two_clusters() -> None:
    one = cluster_identity("prod", "1a2b3c4d-5e6f-4071-8293-a4b5c6d7e8f9")
    assert one != cluster_identity("prod", "1a2b9f00-5e6f-4071-8293-a4b5c6d7e8f9")


def test_uid_is_that_of_a_cluster_whose_name_ends_with_its_beginning() -> None:
    uid = "1a2b3c4d-5e6f-4071-8293-a4b5c6d7e8f9"
    assert is_of("a-prod-1a2b3c4d", uid)
    assert not is_of("a-prod-1a2b3c4e", uid)
    assert not is_of("prod", "")


@pytest.mark.parametrize(
    "uid", ["cluster-0001", "a/b c", "Ünïcode", "1A2B3C4D-5E6F-4071-8293-A4B5C6D7E8F9", "1", "x" * 999]
)
def test_uid_that_is_no_uuid_is_reported_by_its_hash(uid: str) -> None:
    assert re.fullmatch("prod-[0-9a-f]{8}", cluster_identity("prod", uid))
    assert cluster_identity("prod", uid) != cluster_identity("prod", f"{uid}2")


@given(st.one_of(st.uuids().map(str), st.text()))
def test_name_stands_before_the_last_dash_and_the_whole_fits_a_label(uid: str) -> None:
    name = "a-" * (LONGEST_CLUSTER // 2 - 1) + "ab"
    identity = cluster_identity(name, uid)
    assert identity.rpartition("-")[0] == name
    assert len(identity) <= LONGEST_LABEL
