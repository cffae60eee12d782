"""Which activities a workflow must have behind it before it is terminated."""

import pytest
from temporalio.api.common.v1 import ActivityType
from temporalio.api.enums.v1 import PendingActivityState
from temporalio.api.workflow.v1 import PendingActivityInfo

from cli.retire.workflows import at_work
from workflows.contracts import ACT, OBSERVE
from workflows.upgrade_contracts import OBSERVE_UPGRADE, SYNC_PAUSES

STARTED = PendingActivityState.PENDING_ACTIVITY_STATE_STARTED
SCHEDULED = PendingActivityState.PENDING_ACTIVITY_STATE_SCHEDULED


@pytest.mark.parametrize(
    ("name", "state", "found"),
    [
        (ACT.name, STARTED, [ACT.name]),
        (ACT.name, SCHEDULED, [ACT.name]),
        (SYNC_PAUSES.name, SCHEDULED, [SYNC_PAUSES.name]),
        (OBSERVE.name, STARTED, []),
        (OBSERVE_UPGRADE.name, SCHEDULED, []),
    ],
)
def test_activity_that_changes_the_cluster_is_awaited_as_soon_as_it_is_scheduled(
    name: str, state: PendingActivityState.ValueType, found: list[str]
) -> None:
    pending = PendingActivityInfo(activity_type=ActivityType(name=name), state=state)
    assert at_work([pending]) == found
