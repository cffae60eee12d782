"""Encrypted and plain payloads: the keys, what is refused, and in which words."""

import os
from base64 import b64encode
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from temporalio import workflow
from temporalio.api.failure.v1 import Failure
from temporalio.client import Client, WorkflowHandle, WorkflowUpdateFailedError
from temporalio.converter import DataConverter
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker

from devcluster.polling import until
from devcluster.temporal import TemporalServer
from health.runbook.orders import HoldOrder
from runtime.payload_codec import (
    ENCRYPTED,
    PROCESS_DATA,
    InvalidPayload,
    PayloadKeys,
    UnreadablePayload,
    with_keys,
)
from runtime.settings import SettingsError
from tests.support.cluster.forked import run
from tests.support.cluster.temporal_servers import client_of
from tests.support.values.payload_keys import LAST_YEAR, THIS_YEAR, keys_file, read

WORDS = "Ready of node-1 is Unknown"
FORGED = ("2026", LAST_YEAR[1])
"""Another key of the same name."""


def converter(directory: Path, *keys: tuple[str, bytes], encrypts: bool = True) -> DataConverter:
    return with_keys(read(keys_file(directory / "keys", *keys, encrypts=encrypts)))


async def test_value_is_encrypted_with_the_first_key_whose_name_can_be_read(tmp_path: Path) -> None:
    ours = converter(tmp_path, THIS_YEAR, LAST_YEAR)
    (kept,) = await ours.encode([WORDS])
    assert dict(kept.metadata) == {"encoding": ENCRYPTED, "encryption-key-id": b"2026"}
    assert b"node-1" not in kept.data
    assert await ours.decode([kept]) == [WORDS]
    (again,) = await ours.encode([WORDS])
    assert again.data != kept.data


async def test_value_that_an_earlier_key_encrypted_is_read(tmp_path: Path) -> None:
    kept = await converter(tmp_path, LAST_YEAR).encode([WORDS])
    assert await converter(tmp_path, THIS_YEAR, LAST_YEAR).decode(kept) == [WORDS]


async def test_value_from_before_is_read_and_what_is_turned_off_encrypts_nothing(tmp_path: Path) -> None:
    plain = with_keys(PayloadKeys.read(None))
    kept = await plain.encode([WORDS])
    assert WORDS.encode() in kept[0].data
    assert await converter(tmp_path, THIS_YEAR).decode(kept) == [WORDS]

    encrypted = await converter(tmp_path, THIS_YEAR).encode([WORDS])
    off = converter(tmp_path, THIS_YEAR, encrypts=False)
    assert await off.encode([WORDS]) == kept
    assert await off.decode(encrypted) == [WORDS]


@pytest.mark.parametrize(
    ("others", "why"),
    [
        ((), "and PARAMEDIC_PAYLOAD_KEYS_FILE is not set"),
        ((LAST_YEAR,), "which the file of PARAMEDIC_PAYLOAD_KEYS_FILE lacks"),
        ((FORGED,), "and that of this name in the file of PARAMEDIC_PAYLOAD_KEYS_FILE does not fit"),
    ],
)
async def test_value_that_cannot_be_decrypted_is_reported_by_the_name_of_its_key(
    tmp_path: Path, others: tuple[tuple[str, bytes], ...], why: str
) -> None:
    kept = await converter(tmp_path, THIS_YEAR).encode([WORDS])
    reader = converter(tmp_path, *others) if others else with_keys(PayloadKeys.read(None))
    with pytest.raises(UnreadablePayload) as refused:
        await reader.decode(kept)
    assert str(refused.value) == f"a payload in Temporal is encrypted with the key '2026', {why}"


@pytest.mark.parametrize("cut", [0, 11, 12, 20])
async def test_value_that_was_spoilt_is_unreadable_and_nothing_else(tmp_path: Path, cut: int) -> None:
    ours = converter(tmp_path, THIS_YEAR)
    (kept,) = await ours.encode([WORDS])
    kept.data = kept.data[:cut]
    with pytest.raises(UnreadablePayload):
        await ours.decode([kept])


async def test_failure_keeps_its_type_and_hides_what_it_says(tmp_path: Path) -> None:
    ours, failure = converter(tmp_path, THIS_YEAR), Failure()
    error = ApplicationError(f"refused: {WORDS}", WORDS, type="Forbidden")
    error.__cause__ = ValueError(WORDS)
    await ours.encode_failure(error, failure)
    assert b"node-1" not in failure.SerializeToString()
    assert (failure.message, failure.application_failure_info.type) == ("Encoded failure", "Forbidden")
    read_again = await ours.decode_failure(failure)
    assert isinstance(read_again, ApplicationError)
    assert (read_again.message, list(read_again.details)) == (f"refused: {WORDS}", [WORDS])


REFUSED = (
    "a payload in Temporal is not encrypted, and requireEncryption in the file of "
    "PARAMEDIC_PAYLOAD_KEYS_FILE refuses it"
)


def requiring(directory: Path) -> DataConverter:
    return with_keys(read(keys_file(directory / "keys", THIS_YEAR, requires_encryption=True)))


async def test_value_that_is_not_encrypted_is_refused_where_encryption_is_required(tmp_path: Path) -> None:
    ours = requiring(tmp_path)
    (plain,) = await with_keys(PayloadKeys.read(None)).encode([WORDS])
    for payloads in ([plain], [*await ours.encode([WORDS]), plain]):
        with pytest.raises(UnreadablePayload) as refused:
            await ours.decode(payloads)
        assert str(refused.value) == REFUSED
    assert await ours.decode(await ours.encode([WORDS, None])) == [WORDS, None]


async def test_value_that_a_stranger_calls_encrypted_is_refused(tmp_path: Path) -> None:
    (kept,) = await with_keys(PayloadKeys.read(None)).encode([WORDS])
    kept.metadata["encoding"], kept.metadata["encryption-key-id"] = ENCRYPTED, b"2026"
    with pytest.raises(UnreadablePayload):
        await requiring(tmp_path).decode([kept])


@workflow.defn(sandboxed=False)
class Listening:
    """Answers with the arguments that it got."""

    @workflow.init
    def __init__(self, argument: str) -> None:
        self._heard = [argument]

    @workflow.run
    async def run(self, argument: str) -> list[str]:  # noqa: ARG002  `__init__` took it
        await workflow.wait_condition(lambda: {"signal", "update"} <= set(self._heard))
        return self._heard

    @workflow.signal
    def hear(self, argument: str) -> None:
        self._heard.append(argument)

    @workflow.update
    def listen(self, argument: str) -> None:
        self._heard.append(argument)


async def test_plain_messages_stop_no_workflow_where_encryption_is_required(
    temporal_server: TemporalServer, tmp_path: Path
) -> None:
    """The signal is dropped, the update rejected, and a plain start never runs; encrypted ones are obeyed."""
    stranger = await client_of(temporal_server)
    ours = Client(**(stranger.config() | {"data_converter": requiring(tmp_path)}))
    queue = f"q-{uuid4().hex[:8]}"
    async with Worker(ours, task_queue=queue, workflows=[Listening]):
        started = await ours.start_workflow(Listening.run, "start", id=f"{queue}-1", task_queue=queue)
        await stranger.get_workflow_handle(started.id).signal("hear", "forged")
        with pytest.raises(WorkflowUpdateFailedError):
            await stranger.get_workflow_handle(started.id).execute_update("listen", "forged")
        await started.signal("hear", "signal")
        await started.execute_update("listen", "update")
        assert await started.result() == ["start", "signal", "update"]

        forged = await stranger.start_workflow("Listening", "forged", id=f"{queue}-2", task_queue=queue)
        await _until_refused(forged)
        await forged.terminate()


async def _until_refused(forged: WorkflowHandle[Any, Any]) -> None:
    async def is_refused() -> bool:
        events = (await forged.fetch_history()).events
        return any(event.HasField("workflow_task_failed_event_attributes") for event in events)

    await until(is_refused, within=timedelta(seconds=20), otherwise="the forged workflow was not refused")


SECRET = b64encode(THIS_YEAR[1]).decode()
SHORT = b64encode(b"sixteen bytes !!").decode()
LIST = "must have `keys`, a list with the `name` and the `secret` of each"
KEY = "must be 32 bytes in base64"


def test_first_key_encrypts_and_all_can_be_found(tmp_path: Path) -> None:
    keys = read(keys_file(tmp_path / "keys", THIS_YEAR, LAST_YEAR))
    assert keys.encrypting == "2026"
    assert keys.get("2025")
    assert keys.get("2024") is None


def test_keys_that_do_not_encrypt_can_be_found(tmp_path: Path) -> None:
    keys = read(keys_file(tmp_path / "keys", THIS_YEAR, encrypts=False))
    assert keys.encrypting is None
    assert keys.get("2026")


def test_without_a_file_there_are_none() -> None:
    assert not PayloadKeys.read(None)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is empty"),
        (SECRET, "it is YAML, but not a mapping"),
        ("keys: []", LIST),
        (f"keys: {{'2026': {SECRET}}}", LIST),
        (f"keys: [{{name: a, secret: {SHORT}}}]", f"keys[0].secret: {KEY}"),
        (f"keys: [{{name: a, secret: '{SECRET}!'}}]", f"keys[0].secret: {KEY}"),
        ("keys: [{name: a, secret: 12345}]", f"keys[0].secret: {KEY}"),
        ("keys: [{name: a}]", "keys[0].secret: is missing"),
        (f"keys: [{{secret: {SECRET}}}]", "keys[0].name: is missing"),
        (f"keys: [{{name: 'a b', secret: {SECRET}}}]", "keys[0].name: must be letters, digits,"),
        (f"keys: [{{name: a, secret: {SECRET}, {SECRET}: x}}]", "keys[0]: has a field that is not known"),
        (f"keys: [{{name: a, secret: {SECRET}}}, {{name: a, secret: {SECRET}}}]", "keys: two are called 'a'"),
        (
            f"requireEncryption: maybe\nkeys: [{{name: a, secret: {SECRET}}}]",
            "requireEncryption: must be true or false",
        ),
        (
            f"encrypt: false\nrequireEncryption: true\nkeys: [{{name: a, secret: {SECRET}}}]",
            "requireEncryption: needs encrypt: true",
        ),
        (
            f"encrypt: maybe\nkeys: [{{name: a, secret: {SECRET}}}]",
            "encrypt: must be true or false",
        ),
        (f"keys: [{SECRET}: '", "line 1 is not valid YAML"),
        (f"keys: !!binary {SECRET}", "it has a tag"),
        (f"# {SECRET}" * 1000, "it is longer than 32 KiB"),
        ("\udcff", "it is not UTF-8 text"),
    ],
)
def test_file_that_cannot_be_used_is_reported_by_setting_and_field_and_never_by_value(
    tmp_path: Path, text: str, why: str
) -> None:
    path = tmp_path / "keys"
    path.write_text(text, errors="surrogateescape")
    with pytest.raises(SettingsError) as refused:
        read(path)
    said = str(refused.value)
    assert said.startswith(f"PARAMEDIC_PAYLOAD_KEYS_FILE: {path}: {why}")
    assert SECRET not in said
    assert SHORT not in said
    assert refused.value.__cause__ is None  # whose text would quote the file


@pytest.mark.parametrize(
    ("given", "why"),
    [("", "must not be empty"), ("/nowhere/keys", "/nowhere/keys: No such file or directory")],
)
def test_file_that_is_not_there_is_reported_by_setting_and_path(given: str, why: str) -> None:
    with pytest.raises(SettingsError) as refused:
        PayloadKeys.read(given)
    assert str(refused.value) == f"PARAMEDIC_PAYLOAD_KEYS_FILE: {why}"


@pytest.mark.parametrize("program", ["detector", "worker", "paramedic"])
async def test_program_without_a_key_that_it_can_use_ends_with_code_2_and_one_sentence(
    program: str, tmp_path: Path
) -> None:
    file = str(keys_file(tmp_path / "keys", ("2026", b"too short")))
    settings = {"PARAMEDIC_CLUSTER": "c", "PARAMEDIC_PAYLOAD_KEYS_FILE": file}
    ran = await run(program, *["list"] * (program == "paramedic"), environment=os.environ | settings)
    assert (ran.code, ran.out) == (2, "")
    sentence = f"PARAMEDIC_PAYLOAD_KEYS_FILE: {file}: keys[0].secret: {KEY}\n"
    assert ran.err.removeprefix("paramedic: ") == sentence


@workflow.defn(sandboxed=False)
class Held:
    """Ends with the reason of the first order that it gets."""

    def __init__(self) -> None:
        self._reason = ""

    @workflow.run
    async def run(self) -> str:
        await workflow.wait_condition(lambda: bool(self._reason))
        return self._reason

    @workflow.update
    def hold(self, order: HoldOrder) -> None:
        self._reason = order.reason


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("now", "must be a mapping (found 'now')"),
        ([1], "must be a mapping (found [1])"),
        (None, "must be a mapping (found null)"),
        ({"for_seconds": "2h"}, "for_seconds: must be a number (found '2h')"),
        ({"for_seconds": -5}, "for_seconds: must be more than 0 (found -5)"),
        ({"reason": {"x": "\u202e" * 1_000}}, 'reason: must be text (found {"x": "\\u202e\\u202e'),
    ],
)
async def test_wrong_value_is_refused_by_field_and_value(value: object, words: str) -> None:
    payloads = await PROCESS_DATA.encode([value])
    with pytest.raises(InvalidPayload) as refused:
        await PROCESS_DATA.decode(payloads, [HoldOrder])
    assert str(refused.value).startswith(words)
    assert len(str(refused.value)) < 250
    assert refused.value.__cause__ is None


async def test_sender_of_an_update_reads_these_words_and_the_workflow_goes_on(
    temporal_server: TemporalServer,
) -> None:
    sender = await client_of(temporal_server)
    ours = Client(**(sender.config() | {"data_converter": PROCESS_DATA}))
    queue = f"q-{uuid4().hex[:8]}"
    async with Worker(ours, task_queue=queue, workflows=[Held]):
        held = await ours.start_workflow(Held.run, id=queue, task_queue=queue)
        assert await _refusal(sender, queue, {"for_seconds": "2h"}) == (
            "InvalidPayload: for_seconds: must be a number (found '2h')"
        )
        await held.execute_update(Held.hold, HoldOrder(reason="disk swap"))
        assert await held.result() == "disk swap"


async def _refusal(sender: Client, workflow_id: str, value: Any) -> str:
    with pytest.raises(WorkflowUpdateFailedError) as refused:
        await sender.get_workflow_handle(workflow_id).execute_update("hold", value)
    assert isinstance(refused.value.cause, ApplicationError)
    return str(refused.value.cause.cause)


async def test_words_stay_the_same_with_encryption(tmp_path: Any) -> None:
    encrypting = with_keys(
        read(keys_file(tmp_path / "keys", THIS_YEAR, requires_encryption=True)), PROCESS_DATA
    )
    with pytest.raises(InvalidPayload, match="must be a mapping"):
        await encrypting.decode(await encrypting.encode(["now"]), [HoldOrder])
