from pathlib import Path

import pytest

from devcluster.errors import MachineRoomError
from devcluster.simulation.machine_room import MachineRoom


def test_new_machines_run_on_boots_of_their_own(tmp_path: Path) -> None:
    room = MachineRoom(tmp_path / "machines.json", 3)
    slots = [room.slots[name] for name in ("node-1", "node-2", "node-3")]
    assert not any(slot.stopped for slot in slots)
    assert len({slot.machine.boot_id for slot in slots}) == 3


def test_restart_of_the_simulation_is_no_reboot_and_starts_nothing(tmp_path: Path) -> None:
    before = MachineRoom(tmp_path / "machines.json", 3)
    before.stop("node-2")
    after = MachineRoom(tmp_path / "machines.json", 3)
    assert after.slots == before.slots
    assert after.slots["node-2"].stopped


def test_booted_machine_runs_again_on_another_boot(tmp_path: Path) -> None:
    room = MachineRoom(tmp_path / "machines.json", 1)
    room.stop("node-1")
    before = room.slots["node-1"].machine
    room.boot("node-1")
    after = MachineRoom(tmp_path / "machines.json", 1).slots["node-1"]
    assert not after.stopped
    assert after.machine.boot_id != before.boot_id
    assert after.machine.hardware_id == before.hardware_id


def test_started_machine_runs_on_the_same_boot(tmp_path: Path) -> None:
    room = MachineRoom(tmp_path / "machines.json", 1)
    before = room.slots["node-1"]
    room.stop("node-1")
    room.start("node-1")
    assert room.slots["node-1"] == before


def test_more_machines_than_before_keep_those_that_were_there(tmp_path: Path) -> None:
    before = MachineRoom(tmp_path / "machines.json", 1)
    after = MachineRoom(tmp_path / "machines.json", 2)
    assert list(after.slots) == ["node-1", "node-2"]
    assert after.slots["node-1"] == before.slots["node-1"]


@pytest.mark.parametrize("content", ["", "[]", '{"node-1": {"stopped": true}}'])
def test_unreadable_file_is_named_and_left_alone(tmp_path: Path, content: str) -> None:
    file = tmp_path / "machines.json"
    file.write_text(content)
    with pytest.raises(MachineRoomError, match=str(file)):
        MachineRoom(file, 1)
    assert file.read_text() == content


def test_added_machine_is_there_after_a_restart_as_it_was(tmp_path: Path) -> None:
    before = MachineRoom(tmp_path / "machines.json", 1)
    before.add("node-a")
    before.add("node-b")
    before.stop("node-b")
    after = MachineRoom(tmp_path / "machines.json", 1)
    assert after.slots == before.slots
    assert [slot.stopped for slot in after.slots.values()] == [False, False, True]
    assert len({slot.machine.address for slot in after.slots.values()}) == 3


def test_adding_a_machine_that_is_there_is_no_reboot(tmp_path: Path) -> None:
    room = MachineRoom(tmp_path / "machines.json", 0)
    room.add("node-a")
    before = dict(room.slots)
    room.add("node-a")
    assert room.slots == before


def test_removed_machine_stays_away_after_a_restart(tmp_path: Path) -> None:
    room = MachineRoom(tmp_path / "machines.json", 1)
    room.add("node-a")
    room.remove("node-a")
    room.remove("node-a")
    assert list(MachineRoom(tmp_path / "machines.json", 1).slots) == ["node-1"]


def test_added_machine_that_boots_is_still_an_added_one(tmp_path: Path) -> None:
    room = MachineRoom(tmp_path / "machines.json", 0)
    room.add("node-a")
    room.boot("node-a")
    assert list(MachineRoom(tmp_path / "machines.json", 0).slots) == ["node-a"]


@pytest.mark.parametrize(
    ("count", "added", "words"),
    [
        (0, [], "an empty fleet"),
        (3, [], "node-1 to node-3"),
        (0, ["node-a"], "the 1 that were added"),
        (3, ["node-a", "node-b"], "node-1 to node-3 or the 2 that were added"),
    ],
)
def test_any_number_of_machines_is_named_in_words(
    tmp_path: Path, count: int, added: list[str], words: str
) -> None:
    room = MachineRoom(tmp_path / "machines.json", count)
    for name in added:
        room.add(name)
    assert room.names == words
