"""What a simulated machine is: facts that survive a reboot, and the one that does not, its boot ID."""

import uuid
from dataclasses import dataclass

ADDRESS_BLOCK = 254
"""Usable addresses in each /24 of 10.0.0.0/8 that nodes are given."""


@dataclass(frozen=True)
class Machine:
    """One machine, as its kubelet finds it when it starts."""

    name: str
    """Name of its Node, `node-<number>`."""
    number: int
    """From 1."""
    boot_id: str
    """As /proc/sys/kernel/random/boot_id: another one after each boot."""

    @property
    def hardware_id(self) -> str:
        """The same over every reboot, and every time the fleet is simulated."""
        return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{self.name}.demo.paramedic.dev"))

    @property
    def address(self) -> str:
        """Address of the node; nothing listens there."""
        block, host = divmod(self.number - 1, ADDRESS_BLOCK)
        return f"10.{block >> 8 & 255}.{block & 255}.{host + 1}"


def node_name(number: int) -> str:
    """Name of the Node of machine `number`."""
    return f"node-{number}"


def new_boot_id() -> str:
    """Boot ID of a machine that boots now."""
    return str(uuid.uuid4())
