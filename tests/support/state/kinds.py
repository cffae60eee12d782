"""The states of all kinds of check, for tests of behaviour that the kinds share."""

import pytest

from tests.support.state.small_cluster import SmallCluster
from tests.support.state.small_cluster_api import SmallClusterApi
from tests.support.state.small_machines import SmallMachines

SMALL_STATES = [
    pytest.param(state, id=state.kind.resource_name)
    for state in (SmallCluster, SmallMachines, SmallClusterApi)
]
