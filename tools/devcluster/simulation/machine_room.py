"""The simulated machines and their state, kept in a file.

The file beside the control socket stands for the hardware: a machine that hangs still hangs after the
simulation restarts, and one that ran was not rebooted by that. Machines can be added to the initial fleet,
and removed, at any time.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from devcluster.errors import MachineRoomError
from devcluster.files import write
from objects.field_problem import FieldProblem

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


class MachineEntry(BaseModel):
    """The entry of one machine in the file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    boot_id: str
    stopped: bool
    number: int | None = None
    """The number of an added machine; others have it in their name."""


FILE = TypeAdapter(dict[str, MachineEntry])


@dataclass(frozen=True)
class Slot:
    """One machine, and whether a person or a fault stopped its kubelet."""

    machine: SimulatedMachine
    stopped: bool = False
    is_added: bool = False


class MachineRoom:
    """All machines of one simulation, by the name of their Node."""

    def __init__(self, file: Path, count: int) -> None:
        """Read machines 1 to `count` and the added ones from `file`; new ones have just booted.

        Raises MachineRoomError.
        """
        self._file = file
        kept = _read(file)
        fleet = [_slot(number, kept.get(node_name(number))) for number in range(1, count + 1)]
        self._slots = {slot.machine.name: slot for slot in (*fleet, *_added(kept))}
        self._write()

    @property
    def slots(self) -> Mapping[str, Slot]:
        """The machines now, in the order of their numbers."""
        return MappingProxyType(self._slots)

    @property
    def names(self) -> str:
        """The names of the machines as a short phrase, whatever their number."""
        fleet = [name for name, slot in self._slots.items() if not slot.is_added]
        words = [f"{fleet[0]} to {fleet[-1]}"] if fleet else []
        if added := len(self._slots) - len(fleet):
            words.append(f"the {added} that were added")
        return " or ".join(words) or "an empty fleet"

    def add(self, name: str) -> None:
        """Add a machine that has just booted; an existing one stays as it is."""
        if name not in self._slots:
            last = max(
                (s.machine.number for s in self._slots.values() if s.is_added), default=FIRST_ADDED - 1
            )
            self._change(name, Slot(SimulatedMachine(name, last + 1, new_boot_id()), is_added=True))

    def remove(self, name: str) -> None:
        """Remove an added machine; without effect if it does not exist."""
        if self._slots.pop(name, None) is not None:
            self._write()

    def stop(self, name: str) -> None:
        self._change(name, replace(self._slots[name], stopped=True))

    def start(self, name: str) -> None:
        """Record that the kubelet of that machine runs, on the same boot."""
        self._change(name, replace(self._slots[name], stopped=False))

    def boot(self, name: str) -> None:
        """Give the machine a new boot ID and record that it runs."""
        slot = self._slots[name]
        machine = replace(slot.machine, boot_id=new_boot_id())
        self._change(name, replace(slot, machine=machine, stopped=False))

    def _change(self, name: str, slot: Slot) -> None:
        self._slots[name] = slot
        self._write()

    def _write(self) -> None:
        kept = {name: _kept(slot) for name, slot in self._slots.items()}
        write(self._file, FILE.dump_json(kept, indent=1, exclude_none=True).decode())


def _slot(number: int, kept: MachineEntry | None) -> Slot:
    name = node_name(number)
    if kept is None:
        return Slot(SimulatedMachine(name, number, new_boot_id()))
    return Slot(SimulatedMachine(name, number, kept.boot_id), kept.stopped)


def _added(kept: Mapping[str, MachineEntry]) -> list[Slot]:
    return [
        Slot(SimulatedMachine(name, found.number, found.boot_id), found.stopped, is_added=True)
        for name, found in kept.items()
        if found.number is not None
    ]


def _kept(slot: Slot) -> MachineEntry:
    number = slot.machine.number if slot.is_added else None
    return MachineEntry(boot_id=slot.machine.boot_id, stopped=slot.stopped, number=number)


def _read(file: Path) -> dict[str, MachineEntry]:
    try:
        return FILE.validate_json(file.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise _unreadable(file, error) from error
    except ValidationError as error:
        raise _unreadable(file, FieldProblem.of(error)) from error


def _unreadable(file: Path, why: object) -> MachineRoomError:
    return MachineRoomError(f"cannot read {file}, delete it to begin with new machines: {why}")
