"""What a simulated machine is: facts that survive a reboot, and the one that does not, its boot ID."""

import uuid
from dataclasses import dataclass

FIRST_ADDED = 1_000_001
"""Number of the first machine that is added to the fleet a simulation begins with."""

ADDRESS_BLOCK = 254
"""Usable addresses in each /24 of 10.0.0.0/8 that nodes are given."""


@dataclass(frozen=True)
class Machine:
    """One machine, as its kubelet finds it when it starts."""

    name: str
    """Name of its Node: `node-<number>`, or what whoever added it says."""
    number: int
    """From 1, or from `FIRST_ADDED`."""
    boot_id: str
    """As /proc/sys/kernel/random/boot_id: another one after each boot."""

    @property
    def hardware_id(self) -> str:
        """The same over every reboot, and every time the fleet is simulated."""
        return _hardware_id(self.name)

    @property
    def address(self) -> str:
        """Address of the node; nothing listens there."""
        block, host = divmod(self.number - 1, ADDRESS_BLOCK)
        return f"10.{block >> 8 & 255}.{block & 255}.{host + 1}"


def node_name(number: int) -> str:
    """Name of the Node of machine `number`."""
    return f"node-{number}"


def provider_id(node: str) -> str:
    """What a cloud would call the machine of the Node `node`."""
    return f"simulated://{_hardware_id(node)}"


def new_boot_id() -> str:
    """Boot ID of a machine that boots now."""
    return str(uuid.uuid4())


def _hardware_id(node: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{node}.demo.paramedic.dev"))
