import json
import socket
from pathlib import Path

from devcluster.layout import PORT_RANGE, allocate


def test_a_restart_finds_the_servers_at_the_same_ports(tmp_path: Path) -> None:
    first = allocate(tmp_path / "ports.json", ["a", "b"])
    assert allocate(tmp_path / "ports.json", ["a", "b"]) == first


def test_port_that_another_process_took_is_replaced_and_the_others_stay(tmp_path: Path) -> None:
    first = allocate(tmp_path / "ports.json", ["a", "b"])
    with socket.create_server(("127.0.0.1", first["a"])):
        second = allocate(tmp_path / "ports.json", ["a", "b"])
    assert second["a"] != first["a"]
    assert second["b"] == first["b"]
    assert json.loads((tmp_path / "ports.json").read_text()) == second


def test_ports_are_distinct_and_outside_the_range_of_outgoing_connections(tmp_path: Path) -> None:
    ports = allocate(tmp_path / "ports.json", [str(number) for number in range(50)])
    assert len(set(ports.values())) == 50
    assert set(ports.values()) <= set(PORT_RANGE)
