"""Search attributes of an incident fit into what Temporal stores of them, whatever its names are."""

import pytest

from cli.incidents.visibility import Filter
from health.model.references import CheckReference, IncidentReference, TargetReference
from runtime.search_attributes import CHECK, LONGEST, TARGET, keyword, of_incident

LONGEST_NAME, LONGEST_NAMESPACE, LONGEST_CLUSTER = "n" * 253, "s" * 63, f"{'c' * 52}-0a1b2c3d"
LONGEST_ID = 1000
"""Characters of a workflow id that Temporal takes."""


def incident(name: str, kind: str = "MachineHealthCheck", target: str = "Machine") -> IncidentReference:
    group, namespace = ("cluster.x-k8s.io", LONGEST_NAMESPACE) if target == "Machine" else ("", "")
    check = CheckReference(kind=kind, namespace=namespace, name=name, **({"group": group} if group else {}))
    of = TargetReference(
        kind=target, namespace=namespace, name=name, uid="0a1b2c3d-4", **({"group": group} if group else {})
    )
    return IncidentReference(cluster=LONGEST_CLUSTER, check=check, target=of)


@pytest.mark.parametrize("length", [1, LONGEST - 1, LONGEST])
def test_value_that_fits_is_kept(length: int) -> None:
    assert keyword("a" * length) == "a" * length


def test_value_that_is_too_long_is_distinguished_from_others_of_the_same_beginning() -> None:
    long = "a" * LONGEST
    values = {keyword(f"{long}{letter}") for letter in "bcd"}
    assert {len(value) for value in values} == {LONGEST}
    assert len(values) == 3
    assert keyword(f"{long}b") == keyword(f"{long}b")


def test_longest_names_of_kubernetes_are_stored_and_found() -> None:
    of_machine = of_incident(incident(LONGEST_NAME))
    check, target = of_machine.get(CHECK), of_machine.get(TARGET)
    assert check is not None
    assert target is not None
    assert (len(str(incident(LONGEST_NAME).check)), len(check), len(target)) == (353, LONGEST, LONGEST)
    assert check.startswith("MachineHealthCheck.cluster.x-k8s.io/")

    of_node = of_incident(incident(LONGEST_NAME, "NodeHealthCheck", "Node"))
    query = Filter(check=LONGEST_NAME, target=LONGEST_NAME).query
    assert f"ParamedicCheck = '{of_node.get(CHECK)}'" in query
    assert f"ParamedicTarget = '{of_node.get(TARGET)}'" in query
    assert "ParamedicCheck STARTS_WITH 'MachineHealthCheck.cluster.x-k8s.io/'" in query


def test_longest_workflow_id_is_one_that_temporal_takes() -> None:
    assert len(incident(LONGEST_NAME).workflow_id) <= LONGEST_ID
