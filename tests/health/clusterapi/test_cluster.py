"""The fields of a Cluster that checks use, as each version of the API writes them."""

from typing import Any

import pytest

from health.kinds.clusterapi.cluster import ClusterStatus
from tests.support.values.builders import NOW, condition

READY = {"conditions": [condition("InfrastructureReady", "True", NOW)]}


@pytest.mark.parametrize(
    ("status", "is_ready"),
    [
        ({}, False),
        ({"infrastructureReady": False, "controlPlaneReady": False}, False),
        ({"infrastructureReady": True}, False),
        ({"infrastructureReady": True, "conditions": []}, False),
        ({"infrastructureReady": True, **READY}, True),
        (READY, True),
        ({"v1beta2": READY}, True),
    ],
)
def test_only_a_condition_says_that_the_infrastructure_is_ready(
    status: dict[str, Any], *, is_ready: bool
) -> None:
    found = ClusterStatus.model_validate(status).infrastructure_ready
    assert (found is not None and found.is_true) is is_ready
