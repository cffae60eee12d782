"""The memory that an upgrade pause passes to its next run is complete for all decisions, and small."""

import base64
import contextlib
import zlib
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.cluster.pause_progress import MOST_CHECKS
from health.upgrade.failed_write import FailedWrite, WriteOutcome
from health.upgrade.memory import (
    MOST_GONE,
    MOST_ORDERS,
    CheckPauseState,
    Handled,
    KnownUpgrade,
    LatestWrite,
    PauseMemory,
)
from health.upgrade.observation import MOST_TRANSITIONS
from health.upgrade.orders import OrderName, PauseOrderRecord
from health.upgrade.packed_memory import EARLIER_ORDER, MOST_UNPACKED, UnreadableMemory, packed, unpacked
from health.upgrade.pausable_check import PauseAction
from runtime.payload_codec import ENCRYPTED, with_keys
from tests.support.values.longest import BLOB_LIMIT, Longest
from tests.support.values.looks import NOW, check, ordered, passed, remembering, under_way
from tests.support.values.payload_keys import THIS_YEAR, keys_file, read
from workflows.upgrade_contracts import UpgradePauseInput

UNPAUSE_MARKED = LatestWrite(action=PauseAction.UNPAUSE_MARKED, replaced="1")


def handled(longest: Longest, number: int, order: PauseOrderRecord) -> Handled:
    """A check that a person unpaused and that nothing was seen of, named by the longest name."""
    made = longest.check()
    return Handled(
        reference=made.reference,
        uid=made.uid,
        how=CheckPauseState.UNPAUSED_BY_OTHERS,
        paused_at=longest.time(),
        unpaused_at=longest.time(),
        reason=order.reason,
        identity=order.identity,
        obeyed=number,
        latest_write=UNPAUSE_MARKED.model_copy(update={"replaced": longest.version()}),
    )


def failed(longest: Longest, row: Handled) -> FailedWrite:
    return FailedWrite(
        uid=row.uid,
        what=f"Unpause {row.reference}",
        why=longest.words(),
        since=longest.time(),
        failed=longest.time(),
        failures=9,
        next_try=longest.time(),
        outcome=WriteOutcome.CONFLICT,
        resource_version=longest.version(),
        unsettled=longest.version(),
    )


@pytest.fixture(scope="module")
def largest_memory() -> PauseMemory:
    """Every check is handled, and failed; each has other times; orders have the longest reasons.

    All checks of the upgrade before were others; they had marks, or their latest write was not seen.
    """
    longest = Longest()
    orders = tuple(
        PauseOrderRecord(
            number=number,
            order=OrderName.UNPAUSE,
            check=str(longest.check().reference),
            reason=longest.words(),
            identity=longest.words(),
            given=longest.time(),
            until=longest.time(),
        )
        for number in range(MOST_ORDERS)
    )
    rows = tuple(handled(longest, number, orders[number % MOST_ORDERS]) for number in range(MOST_CHECKS))
    gone = (handled(longest, 1, orders[0]).model_copy(update={"is_deleted": True}) for _ in range(MOST_GONE))
    upgrade = KnownUpgrade(
        since=NOW,
        first_seen=NOW,
        transitions=tuple(longest.time() for _ in range(MOST_TRANSITIONS)),
        old_marks=tuple(longest.uid() for _ in range(MOST_CHECKS)),
        unseen=tuple(handled(longest, number, orders[0]) for number in range(MOST_CHECKS)),
    )
    changes = {"handled": (*gone, *rows), "failed": tuple(failed(longest, row) for row in rows)}
    return PauseMemory(upgrade=upgrade, orders=orders).model_copy(update=changes)


@pytest.fixture(scope="module")
def largest_text(largest_memory: PauseMemory) -> str:
    """The same, packed: packing so much takes seconds."""
    return packed(largest_memory)


@pytest.mark.rule("rule 34")
def test_largest_memory_stays_below_the_limit_of_a_payload(
    largest_memory: PauseMemory, largest_text: str
) -> None:
    again = unpacked(largest_text)

    assert len(largest_text) < BLOB_LIMIT * 7 // 8
    assert {row.uid: row.how for row in again.handled} == {row.uid: row.how for row in largest_memory.handled}
    assert [(write.uid, write.unsettled) for write in again.failed] == [
        (write.uid, write.unsettled) for write in largest_memory.failed
    ]


@given(
    st.lists(st.tuples(st.sampled_from(["", "P", "M", "PM"]), st.booleans()), max_size=6),
    st.sampled_from([OrderName.PAUSE, OrderName.UNPAUSE, OrderName.FORGET]),
)
def test_next_run_decides_as_this_one(checks: list[tuple[str, bool]], order: OrderName) -> None:
    all_of_them = [check(annotations, name=f"c{n}") for n, (annotations, _) in enumerate(checks)]
    there = [one for one, (_, stays) in zip(all_of_them, checks, strict=True) if stays]
    memory = ordered(remembering(under_way(*all_of_them)), order, "machines/c0")
    memory = remembering(under_way(*there), memory)
    again = unpacked(packed(memory))

    now, later = passed(under_way(*all_of_them), memory), passed(under_way(*all_of_them), again)
    assert later == now


def test_reason_outlives_a_run_with_its_order_and_no_longer() -> None:
    memory = ordered(remembering(under_way(check("PM"))), OrderName.UNPAUSE)
    memory = remembering(under_way(check("PM")), memory)
    without = memory.model_copy(update={"orders": ()})
    again, forgotten = unpacked(packed(memory)), unpacked(packed(without))

    assert [(row.reason, row.identity) for row in again.handled] == [("so I say", "ann")]
    assert [(row.reason, row.identity) for row in forgotten.handled] == [(EARLIER_ORDER, "")]


async def test_largest_memory_stays_below_the_limit_when_it_is_encrypted(
    largest_text: str, tmp_path: Path
) -> None:
    encrypting = with_keys(read(keys_file(tmp_path / "keys", THIS_YEAR)))
    start = UpgradePauseInput(cluster="main", memory=largest_text)
    (kept,) = await encrypting.encode([start])

    assert kept.metadata["encoding"] == ENCRYPTED
    assert kept.ByteSize() < BLOB_LIMIT * 7 // 8


@pytest.mark.rule("rule 36")
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "incomplete"),
        ("!", "damaged"),
        ("aGVsbG8=", "damaged"),
        ("e30=", "damaged"),
        (packed(PauseMemory())[:-8], "incomplete"),
        (base64.b64encode(zlib.compress(b'{"memory": 1}')).decode(), "of another version: memory: "),
        (base64.b64encode(zlib.compress(b" " * (MOST_UNPACKED + 1))).decode(), "more than 16777216 bytes"),
    ],
)
def test_text_that_is_no_memory_is_an_error_and_never_an_empty_memory(text: str, why: str) -> None:
    with pytest.raises(UnreadableMemory, match=why):
        unpacked(text)


@given(st.binary(max_size=40))
def test_damaged_text_raises_no_other_error(noise: bytes) -> None:
    for text in (base64.b64encode(noise).decode(), base64.b64encode(zlib.compress(noise)).decode()):
        with contextlib.suppress(UnreadableMemory):
            assert unpacked(text) == PauseMemory()


def test_memory_counts_the_checks_that_it_forgets() -> None:
    many = [check("PM", name=f"c{number}") for number in range(MOST_GONE + 5)]
    memory = remembering(under_way(*many))
    after = passed(under_way(), memory, NOW + timedelta(minutes=1))

    assert (len(after.memory.handled), after.memory.forgotten) == (MOST_GONE, 5)
    assert "5 that are not there any more are forgotten" in after.why
