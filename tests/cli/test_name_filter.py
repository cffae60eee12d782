"""Names that people give, against what they are names of."""

import pytest

from cli.name_filter import NameFilter
from health.references import TargetReference

NODE = TargetReference(kind="Node", name="a", uid="u")
MACHINE = TargetReference(kind="Machine", namespace="ns", name="a", uid="u")
KINDS = (("Node", False), ("Machine", True))


def targets(name: str) -> NameFilter:
    return NameFilter("Target", name, KINDS)


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
    ],
)
def test_name_may_be_given_with_kind_and_namespace(
    name: str,
    takes_node: bool,  # noqa: FBT001  a column of the table
    takes_machine: bool,  # noqa: FBT001  a column of the table
) -> None:
    assert (targets(name).takes(NODE), targets(name).takes(MACHINE)) == (takes_node, takes_machine)


def test_temporal_finds_whole_values_and_beginnings() -> None:
    assert targets("o'a").query == "(Target = 'Node/o''a' OR Target STARTS_WITH 'Machine/')"
    assert targets("Node/a").query == "(Target = 'Node/a' OR Target STARTS_WITH 'Machine/')"
