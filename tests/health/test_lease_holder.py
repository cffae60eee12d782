"""How a check signs the Leases that it takes."""

import pytest

from health.kinds.lease_holder import holder_of, turn_holder_of
from health.model.references import CheckReference


@pytest.mark.rule("NHC 1.8/holder", "rule 39")
def test_check_signs_leases_as_the_reference_does() -> None:
    assert holder_of(CheckReference(kind="NodeHealthCheck", name="workers")) == "NodeHealthCheck-workers"


@pytest.mark.rule("rule 13/Machine")
def test_checks_of_one_name_in_two_namespaces_sign_differently() -> None:
    check = CheckReference(kind="MachineHealthCheck", namespace="machines", name="workers")
    assert holder_of(check) == "MachineHealthCheck-machines/workers"


@pytest.mark.rule("rule 21")
def test_turn_of_the_control_plane_is_signed_for_one_node() -> None:
    check = CheckReference(kind="NodeHealthCheck", name="masters")
    assert turn_holder_of(check, "master-1") == "NodeHealthCheck-masters/master-1"
