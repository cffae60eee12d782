"""What Temporal keeps of a value, and who can read it."""

from pathlib import Path

import pytest
from temporalio.api.failure.v1 import Failure
from temporalio.converter import DataConverter
from temporalio.exceptions import ApplicationError

from runtime.payload_codec import ENCRYPTED, UnreadablePayload, with_keys
from runtime.payload_keys import PayloadKeys
from tests.payload_keys import LAST_YEAR, THIS_YEAR, keys_file, read

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
async def test_value_that_cannot_be_decrypted_is_told_by_the_name_of_its_key(
    tmp_path: Path, others: tuple[tuple[str, bytes], ...], why: str
) -> None:
    kept = await converter(tmp_path, THIS_YEAR).encode([WORDS])
    reader = converter(tmp_path, *others) if others else with_keys(PayloadKeys.read(None))
    with pytest.raises(UnreadablePayload) as refused:
        await reader.decode(kept)
    assert str(refused.value) == f"what Temporal keeps is encrypted with the key '2026', {why}"


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
