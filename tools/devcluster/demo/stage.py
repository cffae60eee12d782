"""The stage of one scenario: its environment, and what its rows have seen so far; and the kinds of rows.

The texts of rows are format strings. They may name the constants, what the stage knows, and as `it` the value
that the row waited for.
"""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from devcluster.demo import fixtures
from devcluster.demo.environment import Environment
from devcluster.demo.facts import MachineSeen, NodeSeen, Run
from devcluster.demo.upgrade_view import TIMEOUT_SECONDS
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


SOON = timedelta(seconds=30)
LATER = timedelta(seconds=60)


@dataclass(frozen=True, kw_only=True)
class DemoStep:
    """One wait, and the texts before and after it."""

    before: str
    wait: Callable[[Stage], Awaitable[Any]]
    """Returns the value that `after` quotes as `it`."""
    after: str
    failure: str
    """A sentence that the narrator completes with `within 30 s.`"""
    within: timedelta = SOON
    advice: str = ""
    """The likely cause of the failure and what to do, in whole sentences."""


@dataclass(frozen=True)
class Do:
    """A change that the demo makes without a text."""

    act: Callable[[Stage], Awaitable[object]]


@dataclass(frozen=True)
class Show:
    """An address or a command to copy, which works while everything runs."""

    heading: str
    text: Callable[[Stage], str]


@dataclass(frozen=True)
class Success:
    """The last sentence; `elapsed` is the time since the first failure, in seconds."""

    text: str


Row = DemoStep | Do | Show | Success
