"""The settings of the demo."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Scenario(StrEnum):
    """The failure that the demo shows, and its remediation."""

    NODE = "node"
    """A node of a NodeHealthCheck fails, and the worker is killed meanwhile."""
    MACHINE = "machine"
    """A Machine of a MachineHealthCheck is replaced, and the node of another one is power-cycled."""
    CLUSTER_API = "cluster-api"
    """A Machine of Cluster API, whose node is in a workload cluster, is marked, and its owner replaces it."""
    UPGRADE = "upgrade"
    """The node of a Machine is away during an upgrade; its check is paused, so it is not remediated."""


@dataclass(frozen=True)
class DemoSettings:
    """The directory and the scenario of the demo, and whether it keeps running."""

    directory: Path
    """Data, logs and dev.json; the data of an earlier demo is reused."""
    stay: bool = False
    """Keep everything running after the story, until Ctrl-C."""
    scenario: Scenario = Scenario.NODE
