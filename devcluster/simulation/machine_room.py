"""The machines and whether they run, kept in a file beside the control socket.

The file is to the simulated machines what their hardware is to real ones: a machine that hangs still
hangs when the simulation is restarted, and one that ran has not been rebooted by that.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from devcluster.files import write
from devcluster.simulation.errors import MachineRoomError
from devcluster.simulation.machine import Machine, new_boot_id, node_name


class Kept(BaseModel):
    """What the file keeps of one machine."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    boot_id: str
    stopped: bool


FILE = TypeAdapter(dict[str, Kept])


@dataclass(frozen=True)
class Slot:
    """One machine, and whether a person or a fault stopped its kubelet."""

    machine: Machine
    stopped: bool = False


class MachineRoom:
    """All machines of one simulation, by the name of their Node."""

    def __init__(self, file: Path, count: int) -> None:
        """Take machines 1 to `count` as `file` knows them, new ones as if just booted.

        Raises MachineRoomError.
        """
        self._file = file
        kept = _read(file)
        slots = (_slot(number, kept.get(node_name(number))) for number in range(1, count + 1))
        self._slots = {slot.machine.name: slot for slot in slots}
        self._write()

    @property
    def slots(self) -> Mapping[str, Slot]:
        """The machines as they are now, in the order of their numbers."""
        return MappingProxyType(self._slots)

    def stop(self, name: str) -> None:
        """Remember that the kubelet of that machine is stopped."""
        self._change(name, replace(self._slots[name], stopped=True))

    def start(self, name: str) -> None:
        """Remember that the kubelet of that machine runs, on the same boot."""
        self._change(name, replace(self._slots[name], stopped=False))

    def boot(self, name: str) -> None:
        """Give the machine a new boot ID and remember that it runs."""
        machine = replace(self._slots[name].machine, boot_id=new_boot_id())
        self._change(name, Slot(machine))

    def _change(self, name: str, slot: Slot) -> None:
        self._slots[name] = slot
        self._write()

    def _write(self) -> None:
        kept = {name: Kept(boot_id=s.machine.boot_id, stopped=s.stopped) for name, s in self._slots.items()}
        write(self._file, FILE.dump_json(kept, indent=1).decode())


def _slot(number: int, kept: Kept | None) -> Slot:
    name = node_name(number)
    if kept is None:
        return Slot(Machine(name, number, new_boot_id()))
    return Slot(Machine(name, number, kept.boot_id), kept.stopped)


def _read(file: Path) -> dict[str, Kept]:
    try:
        return FILE.validate_json(file.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValidationError) as error:
        raise MachineRoomError(
            f"cannot read {file}, delete it to begin with new machines: {error}"
        ) from error
