import re
from datetime import timedelta

import pytest

from kube.lease import (
    LeaseRecord,
    holder_is_valid,
    name_for,
    name_for_node,
    needs_renewal,
    new_lease,
    released,
    renewed,
    taken_over,
)
from objects.metadata import OwnerReference
from tests.support.values.leases import NOW, lease

MINUTE = timedelta(minutes=1)
OWNER = OwnerReference(api_version="v1", kind="Node", name="A", uid="uid-of-node")


@pytest.mark.rule("NHC 2.5/obtain/foreign", "NHC 2.5/obtain/expired")
@pytest.mark.parametrize(
    ("held", "expected"),
    [
        pytest.param(lease("x"), True, id="just renewed"),
        pytest.param(lease("x", renewed=11 * MINUTE), True, id="at its last moment"),
        pytest.param(lease("x", renewed=11 * MINUTE + timedelta(microseconds=1)), False, id="past its end"),
        pytest.param(lease("x", renewed=-timedelta(seconds=2)), True, id="by a clock ahead of ours"),
        pytest.param(lease("x", renewed=-timedelta(seconds=61)), False, id="renewed in the future"),
        pytest.param(lease("x", renewed=None), False, id="never renewed"),
        pytest.param(lease("x", duration_seconds=None), False, id="without a duration"),
        pytest.param(lease(""), False, id="given back"),
        pytest.param(lease(None), False, id="without a holder"),
    ],
)
def test_lease_is_held_until_its_last_moment(held: LeaseRecord, *, expected: bool) -> None:
    assert holder_is_valid(held, NOW) is expected


@pytest.mark.rule("NHC 2.5/manage/renew")
@pytest.mark.parametrize(
    ("held", "expected"),
    [
        pytest.param(lease("x", renewed=MINUTE), False, id="ends exactly then"),
        pytest.param(lease("x", renewed=MINUTE + timedelta(microseconds=1)), True, id="ends before"),
        pytest.param(lease("x"), False, id="ends after"),
        pytest.param(lease("x", renewed=None), True, id="without times"),
    ],
)
def test_lease_is_renewed_when_it_would_end_too_early(held: LeaseRecord, *, expected: bool) -> None:
    assert needs_renewal(held, 10 * MINUTE, NOW) is expected


@pytest.mark.rule("NHC 1.8/owner", "NHC 1.8/times")
def test_new_lease_is_written_as_the_operator_writes_it() -> None:
    assert new_lease("node-a", "leases", "NodeHealthCheck-x", 11 * MINUTE, NOW, OWNER) == {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": "node-a",
            "namespace": "leases",
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "A", "uid": "uid-of-node"}],
        },
        "spec": {
            "holderIdentity": "NodeHealthCheck-x",
            "leaseDurationSeconds": 660,
            "acquireTime": "2025-01-02T03:04:05.000006Z",
            "renewTime": "2025-01-02T03:04:05.000006Z",
            "leaseTransitions": 0,
        },
    }


def test_lease_without_an_owner_has_no_references() -> None:
    assert "ownerReferences" not in new_lease("x", "leases", "me", MINUTE, NOW, None)["metadata"]


@pytest.mark.parametrize(
    ("duration", "expected"),
    [
        pytest.param(timedelta(milliseconds=1), 1, id="never nothing"),
        pytest.param(timedelta(seconds=1.5), 2, id="never shorter than asked"),
        pytest.param(timedelta(days=100_000), 2**31 - 1, id="what the field can hold"),
    ],
)
def test_duration_is_written_in_whole_seconds(duration: timedelta, expected: int) -> None:
    spec = new_lease("x", "leases", "me", duration, NOW, None)["spec"]

    assert spec["leaseDurationSeconds"] == expected


@pytest.mark.rule("NHC 2.5/obtain/expired")
def test_takeover_counts_and_is_conditional() -> None:
    patch = taken_over(lease("x", renewed=20 * MINUTE, version=7), "me", MINUTE, NOW, OWNER)

    assert patch["metadata"]["resourceVersion"] == "7"
    assert patch["metadata"]["ownerReferences"][0]["uid"] == "uid-of-node"
    assert patch["spec"] == {
        "holderIdentity": "me",
        "leaseDurationSeconds": 60,
        "acquireTime": "2025-01-02T03:04:05.000006Z",
        "renewTime": "2025-01-02T03:04:05.000006Z",
        "leaseTransitions": 5,
    }


@pytest.mark.rule("NHC 2.5/obtain/ours")
def test_renewal_keeps_the_time_of_acquisition_and_is_conditional() -> None:
    assert renewed(lease("me", version=7), MINUTE, NOW) == {
        "metadata": {"resourceVersion": "7"},
        "spec": {"leaseDurationSeconds": 60, "renewTime": "2025-01-02T03:04:05.000006Z"},
    }


@pytest.mark.rule("NHC 2.5/obtain/ours")
def test_renewal_sets_a_missing_time_of_acquisition() -> None:
    spec = renewed(lease("me", acquired=None), MINUTE, NOW)["spec"]

    assert spec["acquireTime"] == "2025-01-02T03:04:05.000006Z"


def test_lease_that_is_given_back_has_no_holder() -> None:
    patch = released(lease("me", version=7), NOW)

    assert patch["metadata"] == {"resourceVersion": "7"}
    assert patch["spec"]["holderIdentity"] == ""


@pytest.mark.rule("NHC 1.8/name")
def test_name_is_in_lower_case() -> None:
    assert name_for_node("Worker-1.Example.COM") == "node-worker-1.example.com"
    assert name_for("Node", "", "Worker-1.Example.COM") == "node-worker-1.example.com"


@pytest.mark.rule("rule 13/Machine")
def test_machine_has_a_lease_that_it_shares_with_no_other() -> None:
    assert name_for("Machine", "machines", "worker-1.b") == "machine-machines.worker-1.b"
    assert name_for("Machine", "a", "b-c") != name_for("Machine", "a-b", "c")


@pytest.mark.rule("rule 13/Machine")
def test_name_of_a_lease_that_would_be_too_long_ends_in_a_hash() -> None:
    long = "m" * 243
    assert name_for("Machine", "a", long) == f"machine-a.{long}"
    cut = name_for("Machine", "a", f"{long}m")
    assert len(cut) == 253
    assert cut != name_for("Machine", "a", f"{long}n")
    assert re.fullmatch(r"machine-a\.m+-[0-9a-f]{16}", cut)
