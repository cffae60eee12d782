"""The stage of one scenario: its environment, and what its rows have seen so far."""

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from devcluster.demo import fixtures
from devcluster.demo.environment import Environment
from devcluster.demo.facts import MachineSeen, NodeSeen, Run
from devcluster.demo.upgrade_fixtures import TIMEOUT_SECONDS
from devcluster.dev_cluster_api import CLUSTER
from devcluster.simulation.resources import TEMPLATES

CONSTANTS = {
    "check": fixtures.CHECK,
    "node_count": fixtures.NODES,
    "machine_count": fixtures.MACHINES,
    "condition_seconds": fixtures.CONDITION_SECONDS,
    "power_off_seconds": fixtures.POWER_OFF_SECONDS,
    "provisioning_seconds": fixtures.PROVISIONING_SECONDS,
    "template_kind": TEMPLATES.kind,
    "spare": fixtures.SPARE,
    "timeout_seconds": TIMEOUT_SECONDS,
    "workload": CLUSTER,
}


class Stage:
    """The attributes are set by the rows before those that use them."""

    fleet: Sequence[NodeSeen | MachineSeen]
    """All targets, before the first failure."""
    target: NodeSeen | MachineSeen
    """The target that fails."""
    node: NodeSeen
    """The node of the target."""
    failed_at: datetime
    run: Run
    """The run of the incident of the target."""
    pid: int
    """The process of the worker that is killed."""

    def __init__(self, environment: Environment, constants: Mapping[str, object] = CONSTANTS) -> None:
        self.environment = environment
        self._constants = constants
        self._began: float | None = None

    @property
    def machine(self) -> MachineSeen:
        """The target, in a scenario of Machines."""
        assert isinstance(self.target, MachineSeen)  # nodes have scenarios of their own
        return self.target

    def aim_at(self, target: NodeSeen | MachineSeen) -> None:
        self.target = target
        self.node = target.node if isinstance(target, MachineSeen) else target
        self.failed_at = datetime.now(UTC)
        self._began = self._began or time.monotonic()

    def words(self, text: str, it: object = None) -> str:
        """The text with the values of the constants and of the stage."""
        elapsed = 0.0 if self._began is None else time.monotonic() - self._began
        return text.format(**self._constants, **vars(self), elapsed=elapsed, it=it)
