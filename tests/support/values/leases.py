"""Leases as an API server sends them."""

from datetime import UTC, datetime, timedelta
from typing import Any

from kube.lease import LeaseRecord
from objects.timestamps import micro_time

NOW = datetime(2025, 1, 2, 3, 4, 5, 6, tzinfo=UTC)


def lease_object(
    holder: str | None,
    *,
    renewed: timedelta | None = timedelta(0),
    duration_seconds: int | None = 660,
    acquired: timedelta | None = timedelta(0),
    version: int = 1,
) -> dict[str, Any]:
    """`renewed` and `acquired` are how long before NOW it happened; None leaves the field out."""
    spec = {
        "holderIdentity": holder,
        "leaseDurationSeconds": duration_seconds,
        "renewTime": None if renewed is None else micro_time(NOW - renewed),
        "acquireTime": None if acquired is None else micro_time(NOW - acquired),
        "leaseTransitions": 4,
    }
    return {
        "metadata": {
            "name": "node-a",
            "namespace": "leases",
            "uid": "uid-of-lease",
            "resourceVersion": str(version),
            "creationTimestamp": "2025-01-01T00:00:00Z",
        },
        "spec": {key: value for key, value in spec.items() if value is not None},
    }


def lease(holder: str | None, **fields: Any) -> LeaseRecord:
    return LeaseRecord.model_validate(lease_object(holder, **fields))
