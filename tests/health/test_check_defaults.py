"""Tests of the base class of checks: which members a kind defines, and which it may leave out."""

import pytest

from health.check.health_check import Check
from health.kinds.machines.check import MachineCheck
from health.model.node import Node

DECIDES = {"steps", "selects", "matches", "allowance"}
"""The members that decide which targets are remediated, and how."""


def test_only_members_that_decide_about_remediation_have_no_default() -> None:
    assert Check.__abstractmethods__ == DECIDES
    assert MachineCheck.__abstractmethods__ == {"selects", "matches"}


def test_kind_that_forgets_its_rules_cannot_be_instantiated() -> None:
    class Forgetful(Check[Node]):
        """A kind of check that has no rules."""

    with pytest.raises(TypeError, match="abstract methods"):
        Forgetful()  # type: ignore[abstract]
