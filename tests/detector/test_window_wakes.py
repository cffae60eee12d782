"""An opening or closing maintenance window wakes each waiting incident, whatever its last answer was."""

from datetime import UTC, datetime, timedelta

import pytest

from health.cluster.cluster_context import ClusterContext
from health.model.observation import Hold, HoldReason, Observation
from health.model.references import TargetReference
from health.policy.maintenance_windows import MaintenanceWindow, open_windows
from health.policy.policy import Policy
from health.policy.policy_in_force import PolicyInForce
from health.runbook.wake_up import needs_wake_up
from tests.support.state.small_cluster import SmallCluster

pytestmark = pytest.mark.rule("rule 43")

SECOND = timedelta(seconds=1)
NODE = TargetReference(kind="Node", name="node-1", uid="uid-node-1")
NIGHTS = MaintenanceWindow.model_validate(
    {"name": "nights", "schedule": "0 22 * * *", "duration": "1h", "remediation": "Allowed"}
)
OPENS, CLOSES = (datetime(2026, 3, 2, hour, tzinfo=UTC) for hour in (22, 23))
LIMIT = Hold(reason=HoldReason.LIMIT, message="1 remediation is under way")


class World:
    """A cluster with one window, and a Node that failed long ago."""

    def __init__(self, now: datetime) -> None:
        self.cluster = SmallCluster()
        self.cluster.check(minHealthy=0)
        self.cluster.node("node-1", ready="Unknown", since=OPENS - timedelta(hours=5))
        self.told: list[str] = []
        self.cluster.cluster_state.event_handlers.add_change_handler(
            lambda _, target: self.told.append(target) if target else None
        )
        self.look(now)

    def look(self, now: datetime) -> None:
        """Poll, as the sources do each second."""
        self.cluster.now = now
        self.told.clear()
        policy = Policy(maintenance_windows=(NIGHTS,))
        self.cluster.cluster_state.take_context(
            ClusterContext(policy=PolicyInForce(policy=policy), open_windows=open_windows([NIGHTS], now))
        )

    def observe(self) -> Observation:
        return self.cluster.observe("node-1")


def test_window_that_opens_wakes_the_targets_that_it_held() -> None:
    world = World(OPENS - SECOND)
    held = world.observe()
    assert held.hold is not None
    assert (held.hold.reason, held.hold.ask_again_seconds) == (HoldReason.MAINTENANCE_WINDOW, 1)

    world.look(OPENS)
    assert world.told == ["node-1"]
    assert world.observe().may_be_admitted
    assert needs_wake_up(held, world.observe())


def test_window_that_closes_wakes_targets_that_wait_for_something_else() -> None:
    world = World(CLOSES - SECOND)
    waits = world.observe().model_copy(update={"hold": LIMIT})
    world.look(CLOSES - SECOND / 2)
    assert world.told == [], "no window opened or closed"

    world.look(CLOSES)
    assert world.told == ["node-1"]
    assert needs_wake_up(waits, world.observe())
