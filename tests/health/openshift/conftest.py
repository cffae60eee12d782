"""A check without trouble, and who reports on it."""

import pytest

from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from tests.health.openshift.told import FORTY
from tests.support.values.openshift import snapshot
from tests.support.values.reporter import Reporter


@pytest.fixture
def reporter() -> Reporter:
    """A reporter that has seen a check without a hold."""
    one = Reporter(MACHINE_HEALTH_CHECK)
    assert one.sees(snapshot(of=FORTY)) == []
    return one
