"""What a person decides about the demo."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Scenario(StrEnum):
    """Which story is told."""

    NODE = "node"
    """A node of a NodeHealthCheck fails, and the worker is killed meanwhile."""
    MACHINE = "machine"
    """A Machine of a MachineHealthCheck is replaced, and the node of another one is power-cycled."""
    CLUSTER_API = "cluster-api"
    """A Machine of Cluster API, whose node is in a workload cluster, is marked, and its owner replaces it."""
    UPGRADE = "upgrade"
    """A node of a Machine is away during an upgrade; its check is paused, and nobody remediates it."""


@dataclass(frozen=True)
class DemoSettings:
    """Where the demo lives, which story it tells, and whether it stays."""

    directory: Path
    """Data, logs and dev.json. What an earlier demo left there is gone on with."""
    stay: bool = False
    """Keep everything running after the story, until Ctrl-C."""
    scenario: Scenario = Scenario.NODE
