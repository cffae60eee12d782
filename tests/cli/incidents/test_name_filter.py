"""Names that people give, against what they are names of."""

import pytest

from cli.incidents.names import incident_name, is_named
from cli.incidents.visibility import Filter, named
from health.model.references import TargetReference, is_called
from objects.group_kind import ServedKind
from tests.support.values.builders import INCIDENT

NODE = TargetReference(kind="Node", name="a", uid="u")
MACHINE = TargetReference(kind="Machine", namespace="ns", name="a", uid="u")
OF_GROUP = TargetReference(kind="Widget", group="fleet.example", namespace="ns", name="a", uid="u")
KINDS = (
    ServedKind(group="", kind="Node", plural="nodes", versions=("v1",), is_namespaced=False),
    ServedKind(group="", kind="Machine", plural="machines", versions=("v1",), is_namespaced=True),
)


@pytest.mark.parametrize(
    ("name", "takes_node", "takes_machine"),
    [
        ("", True, True),
        ("a", True, True),
        ("Node/a", True, False),
        ("Machine/a", False, True),
        ("ns/a", False, True),
        ("Machine/ns/a", False, True),
        ("other/a", False, False),
        ("b", False, False),
        ("node/a", True, False),
        ("NODE/a", True, False),
        ("machine/a", False, True),
        ("machine/ns/a", False, True),
        ("Node/A", False, False),
    ],
)
def test_name_may_be_given_with_kind_and_namespace(
    name: str,
    takes_node: bool,  # noqa: FBT001  a column of the table
    takes_machine: bool,  # noqa: FBT001  a column of the table
) -> None:
    of_node, of_machine = (INCIDENT.model_copy(update={"target": target}) for target in (NODE, MACHINE))
    wanted = Filter(target=name)
    assert (wanted.takes(of_node), wanted.takes(of_machine)) == (takes_node, takes_machine)


@pytest.mark.parametrize(
    ("name", "is_its_name"),
    [
        ("Widget.fleet.example/a", True),
        ("widget.fleet.example/ns/a", True),
        ("widget/a", True),
        ("Widget/ns/a", True),
        ("widget.other.example/a", False),
        ("widget.fleet/a", False),
        ("wid/a", False),
    ],
)
def test_kind_may_be_given_without_its_group(name: str, is_its_name: bool) -> None:  # noqa: FBT001  a column
    assert is_called(name, OF_GROUP) is is_its_name


def test_temporal_finds_whole_values_and_beginnings() -> None:
    assert named("Target", "o'a", KINDS) == "(Target = 'Node/o''a' OR Target STARTS_WITH 'Machine/')"
    assert named("Target", "Node/a", KINDS) == "(Target = 'Node/a' OR Target STARTS_WITH 'Machine/')"
    assert named("Target", "node/a", KINDS) == "(Target = 'Node/a' OR Target STARTS_WITH 'Machine/')"


def test_namespace_may_be_called_as_a_kind_is() -> None:
    there = MACHINE.model_copy(update={"namespace": "node"})
    assert is_called("node/a", there)
    assert is_called("node/a", NODE)


@pytest.mark.parametrize(
    "name",
    ["a", "node/a", "workers/a", "nodehealthcheck/workers/a", INCIDENT.workflow_id.replace("node-1", "a")],
)
def test_incident_has_the_names_of_its_target_and_of_its_check_over_it(name: str) -> None:
    incident = INCIDENT.model_copy(update={"target": INCIDENT.target.model_copy(update={"name": "a"})})
    assert is_named(name, incident)
    assert not is_named(f"{name}b", incident)


def test_check_may_be_called_as_ids_of_workflows_begin() -> None:
    check = INCIDENT.check.model_copy(update={"name": "remediation"})
    assert is_named("remediation/node-1", INCIDENT.model_copy(update={"check": check}))
    assert incident_name("remediation/node-1") == "remediation/node-1"
