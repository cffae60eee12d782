"""The sentence of `explain` and `check` about the leader Lease of a cluster in which no detector leads."""

from datetime import timedelta

import pytest

from cli.shared.leader import leader_trouble
from kube.lease import LeaseRecord
from objects.timestamps import micro_time, stamp
from tests.support.values.builders import NOW

NAME = "paramedic-system/paramedic-detector"
METADATA = {
    "name": "paramedic-detector",
    "namespace": "paramedic-system",
    "uid": "u",
    "creationTimestamp": stamp(NOW),
}
SPEC = {"holderIdentity": "detector-1", "leaseDurationSeconds": 15, "renewTime": micro_time(NOW)}
HELD = {"metadata": METADATA, "spec": SPEC}
RELEASED = {"metadata": METADATA, "spec": {**SPEC, "holderIdentity": ""}}
EXPIRED = f"the Lease {NAME} expired at 2026-03-01 12:00:15Z (59m45s ago); its last holder was detector-1"


def test_leading_detector_is_no_trouble() -> None:
    assert not leader_trouble(NAME, LeaseRecord.read(HELD), NOW)


@pytest.mark.parametrize(
    ("lease", "why"),
    [
        (None, f"there is no Lease {NAME}"),
        (RELEASED, f"the Lease {NAME} has no holder"),
        (HELD, EXPIRED),
    ],
    ids=["no Lease", "released", "expired"],
)
def test_lease_that_nothing_holds_is_named_with_its_last_holder_and_its_end(
    lease: dict[str, object] | None, why: str
) -> None:
    found = None if lease is None else LeaseRecord.read(lease)
    later = NOW + timedelta(hours=1)
    assert leader_trouble(NAME, found, later) == f"no detector leads, so nothing is done: {why}"
