import asyncio
import json
import socket
from pathlib import Path
from typing import Any

import pytest

from devcluster.errors import BadRequestError, ControlPathError, ControlUnavailableError
from devcluster.simulation.control_socket import Answer, send_request, serve


async def echo(fields: Any) -> Answer:
    if fields == "bad":
        raise BadRequestError("fruit: must be an apple, got 'pear'")
    return {"echo": fields}


async def exchange(control: Path, sent: bytes) -> list[dict[str, Any]]:
    reader, writer = await asyncio.open_unix_connection(control)
    writer.write(sent)
    writer.write_eof()
    answers = await reader.read()
    writer.close()
    await writer.wait_closed()
    return [json.loads(line) for line in answers.splitlines()]


async def test_request_is_answered(control: Path) -> None:
    async with serve(control, echo):
        assert await send_request(control, {"list": True}) == {"echo": {"list": True}}


async def test_several_requests_on_one_connection_are_answered_in_order(control: Path) -> None:
    async with serve(control, echo):
        answers = await exchange(control, b"1\n2\n3\n")
    assert answers == [{"echo": 1}, {"echo": 2}, {"echo": 3}]


async def test_line_that_is_not_json_is_answered_by_an_error_and_the_next_one_as_usual(control: Path) -> None:
    async with serve(control, echo):
        answers = await exchange(control, b"stop node-3\n1\n")
    assert answers == [{"error": "request: must be one line of JSON, got 'stop node-3'"}, {"echo": 1}]


async def test_bad_request_is_answered_by_its_error(control: Path) -> None:
    async with serve(control, echo):
        answers = await exchange(control, b'"bad"\n')
    assert answers == [{"error": "fruit: must be an apple, got 'pear'"}]


async def test_error_in_an_answer_is_raised_where_it_was_asked(control: Path) -> None:
    async def refuse(_: Any) -> Answer:
        raise BadRequestError("stop: no")

    async with serve(control, refuse):
        with pytest.raises(BadRequestError, match="stop: no"):
            await send_request(control, {"stop": "node-3"})


async def test_line_without_end_closes_only_its_own_connection(control: Path) -> None:
    async with serve(control, echo):
        assert await exchange(control, b"x" * 200_000) == []
        assert await send_request(control, {}) == {"echo": {}}


async def test_socket_file_of_a_killed_process_is_replaced(control: Path) -> None:
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(control))
    async with serve(control, echo):
        assert await send_request(control, {}) == {"echo": {}}


async def test_socket_without_a_server_is_an_error(control: Path) -> None:
    with pytest.raises(ControlUnavailableError, match="no process answers"):
        await send_request(control, {})


async def test_path_too_long_for_a_socket_is_named(control: Path) -> None:
    path = control.with_name("x" * 200)
    with pytest.raises(ControlPathError, match=r"x{200}"):
        async with serve(path, echo):
            pass


async def test_request_that_does_not_end_is_answered_by_an_error(
    control: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("devcluster.simulation.control_socket.LONGEST_LINE_SECONDS", 0.01)
    async with serve(control, echo):
        reader, writer = await asyncio.open_unix_connection(control)
        writer.write(b'{"start": "node-1"}')
        answers = await reader.read()
        writer.close()
        await writer.wait_closed()
    assert json.loads(answers) == {"error": "request: must end with a newline within 0.01 s"}
