"""The id of an incident's workflow says which check it is of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.model.references import CheckReference, IncidentReference, TargetReference, check_of

NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,20}[a-z0-9])?", fullmatch=True)


@given(NAMES, st.sampled_from(["NodeHealthCheck", "MachineHealthCheck"]), NAMES | st.just(""), NAMES, NAMES)
def test_check_of_an_incident_is_read_back_from_its_id(
    cluster: str, kind: str, namespace: str, name: str, target: str
) -> None:
    check = CheckReference(kind=kind, namespace=namespace, name=name)
    reference = TargetReference(kind="Machine", namespace=namespace, name=target, uid="0123456789")
    incident = IncidentReference(cluster=cluster, check=check, target=reference)
    assert check_of(incident.workflow_id) == check


@pytest.mark.parametrize(
    "text",
    ["", "remediation", "remediation/c/Kind/name/target", "remediation/c/Kind//name/t/u", "a/b/c/d/e/f"],
)
def test_what_is_no_id_of_an_incident_names_no_check(text: str) -> None:
    assert check_of(text) is None
