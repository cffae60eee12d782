"""A simulated machine with its boot ID, as its kubelet finds it."""

import uuid
from dataclasses import dataclass

FIRST_ADDED = 1_000_001
"""The number of the first machine that is added to the initial fleet."""

ADDRESS_BLOCK = 254
"""Usable addresses in each /24 of 10.0.0.0/8."""


@dataclass(frozen=True)
class SimulatedMachine:
    """One machine, as its kubelet finds it when it starts."""

    name: str
    """The name of its Node: `node-<number>`, or the name it was added with."""
    number: int
    """Counted from 1, or from `FIRST_ADDED`."""
    boot_id: str
    """As /proc/sys/kernel/random/boot_id: it changes with each boot."""

    @property
    def hardware_id(self) -> str:
        """An ID that survives reboots, and new simulations of the fleet."""
        return _hardware_id(self.name)

    @property
    def address(self) -> str:
        """The address of the node; no process listens there."""
        block, host = divmod(self.number - 1, ADDRESS_BLOCK)
        return f"10.{block >> 8 & 255}.{block & 255}.{host + 1}"


def node_name(number: int) -> str:
    return f"node-{number}"


def provider_id(node: str) -> str:
    """The ID that a cloud would give the machine of the Node `node`."""
    return f"simulated://{_hardware_id(node)}"


def new_boot_id() -> str:
    return str(uuid.uuid4())


def _hardware_id(node: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{node}.demo.paramedic.dev"))
