"""Packs the memory of an upgrade pause, so that the input of its next run stays below the limit of Temporal.

The memory is packed by uid: the first observation of the next run has the names of the checks. A reason is
kept once, with its order, and times of checks are whole seconds. 5,000 checks that are all handled and all
failed, with the longest values, take 1.2 MB of the 2 MB, and 1.7 MB where the memory also knows 5,000 other
checks of the upgrade before; 5,000 checks that are only paused take 0.15 MB. Encryption adds less than 1 KB.
"""

import base64
import binascii
import zlib
from collections.abc import Iterable, Mapping
from datetime import datetime

from pydantic import ValidationError

from health.upgrade.failed_write import FailedWrite
from health.upgrade.memory import UNNAMED, Handled, KnownUpgrade, PauseMemory
from health.upgrade.orders import PauseOrderRecord
from objects.field_problem import FieldProblem
from objects.frozen import Frozen

MOST_DESCRIBED = 20
"""The maximum of failed writes with their messages, and of deleted checks with their names."""
MOST_UNPACKED = 16 * 1024 * 1024
"""The maximum size in bytes after unpacking; 5,000 checks have 5 MB."""

EARLIER_ORDER = "an order that is no longer in the memory"
EARLIER_PATCH = "patch a check"


class UnreadableMemory(ValueError):
    """A text is no packed memory, or is damaged; says which part cannot be read."""


class _HandedOver(Frozen):
    """The packed values; a list in a message has at most 10,000 items."""

    memory: PauseMemory
    gone: tuple[Handled, ...]
    """The rows of `handled` whose checks were deleted."""


def packed(memory: PauseMemory) -> str:
    handled = _slim(memory.handled, memory.orders)
    slim = memory.model_copy(
        update={
            "upgrade": memory.upgrade and _slim_upgrade(memory.upgrade, memory),
            "handled": tuple(row for row in handled if not row.is_deleted),
            "failed": tuple(map(_slim_failed, range(len(memory.failed)), memory.failed)),
        }
    )
    handed_over = _HandedOver(memory=slim, gone=tuple(row for row in handled if row.is_deleted))
    json = handed_over.model_dump_json(exclude_defaults=True)
    return base64.b64encode(zlib.compress(json.encode())).decode()


def unpacked(text: str) -> PauseMemory:
    """The packed memory.

    Raises:
        UnreadableMemory: the text is no packed memory.

    """
    unpacking = zlib.decompressobj()
    try:
        json = unpacking.decompress(base64.b64decode(text, validate=True), MOST_UNPACKED)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise UnreadableMemory(f"it is damaged: {error}") from None
    if not unpacking.eof:
        raise UnreadableMemory(f"it is incomplete, or has more than {MOST_UNPACKED} bytes")
    try:
        return _full(_HandedOver.model_validate_json(json))
    except ValidationError as error:
        problem = FieldProblem.of(error, longest_value=0)
        raise UnreadableMemory(f"it is of another version: {problem}") from None


def _slim_upgrade(upgrade: KnownUpgrade, memory: PauseMemory) -> KnownUpgrade:
    """The upgrade without marks of handled checks, which are no longer used."""
    handled = memory.by_uid
    marks = tuple(uid for uid in upgrade.old_marks if uid not in handled)
    return upgrade.model_copy(update={"old_marks": marks, "unseen": _slim(upgrade.unseen, memory.orders)})


def _slim(rows: Iterable[Handled], orders: Iterable[PauseOrderRecord]) -> tuple[Handled, ...]:
    """Rows without names, except the latest deleted checks, which no later observation contains."""
    rows = tuple(rows)
    numbers = {(order.reason, order.identity): order.number for order in orders}
    named = {row.uid for row in [row for row in rows if row.is_deleted][-MOST_DESCRIBED:]}
    return tuple(_slim_row(row, numbers, is_named=row.uid in named) for row in rows)


def _slim_row(row: Handled, numbers: Mapping[tuple[str, str], int], *, is_named: bool) -> Handled:
    ordered = (row.reason, row.identity)
    changes = {
        "reference": row.reference if is_named else UNNAMED,
        "reason": "",
        "identity": "",
        "by_order": numbers.get(ordered, -1) if any(ordered) else 0,
        "paused_at": _second(row.paused_at),
        "unpaused_at": _second(row.unpaused_at),
    }
    return row.model_copy(update=changes)


def _slim_failed(number: int, row: FailedWrite) -> FailedWrite:
    times = {name: _second(getattr(row, name)) for name in ("since", "failed", "next_try", "refused_since")}
    words = {} if number < MOST_DESCRIBED else {"what": EARLIER_PATCH, "why": ""}
    return row.model_copy(update={**times, **words})


def _second(time: datetime | None) -> datetime | None:
    return time and time.replace(microsecond=0)


def _full(slim: _HandedOver) -> PauseMemory:
    memory, rows = slim.memory, (*slim.gone, *slim.memory.handled)
    orders = {order.number: order for order in memory.orders}
    upgrade, handled = memory.upgrade, tuple(_full_row(row, orders) for row in rows)
    if upgrade is not None:
        unseen = tuple(_full_row(row, orders) for row in upgrade.unseen)
        upgrade = upgrade.model_copy(update={"unseen": unseen})
    return memory.model_copy(update={"upgrade": upgrade, "handled": handled})


def _full_row(row: Handled, orders: Mapping[int, PauseOrderRecord]) -> Handled:
    if not row.by_order:
        return row
    order = orders.get(row.by_order)
    reason, identity = (order.reason, order.identity) if order else (EARLIER_ORDER, "")
    return row.model_copy(update={"by_order": 0, "reason": reason, "identity": identity})
