"""Boots: the identity of one boot of one machine, as a Node shows it (rule 65). Pure.

A boot ID alone does not identify it: Windows counts boots, so that the tenth boots of two machines are equal.
A boot is the boot ID, the machine ID and the system UUID together, joined by "/"; a Node that reports the
boot ID alone has that. A missing part is not compared: an older version wrote the boot ID alone.
"""

from collections.abc import Sequence
from uuid import UUID

from objects.short_text import short

_BETWEEN = "/"
MOST_EARLIER_BOOTS = 4
"""Earlier boots of a Node that are remembered: enough to see two or three machines take turns."""


def boot_of(boot_id: str, machine_id: str = "", system_uuid: str = "") -> str:
    """The boot, as a text; "" without a boot ID."""
    # The kubelet wrote the system UUID in other letters before it read it from another place.
    parts = (boot_id, machine_id, system_uuid.lower())
    return short(_BETWEEN.join(parts).rstrip(_BETWEEN)) if boot_id else ""


def is_same_boot(one: str, other: str) -> bool:
    """True if both are known, and no part that both have differs but by its byte order."""
    pairs = zip(one.split(_BETWEEN), other.split(_BETWEEN), strict=False)
    is_same = (a == b or _in_the_other_order(b) == a for a, b in pairs if a and b)
    return bool(one) and bool(other) and all(is_same)


def _in_the_other_order(part: str) -> str:
    """A UUID with the bytes of its first three groups swapped; any other part as it is.

    SMBIOS stores them so, and not every firmware and kubelet swaps them back: an upgrade may change that.
    """
    try:
        return str(UUID(bytes_le=UUID(part).bytes))
    except ValueError:
        return part


def boot_id_of(boot: str) -> str:
    """The boot ID alone; a person knows it from `kubectl describe`."""
    return boot.split(_BETWEEN, 1)[0]


def earlier_boots(known: Sequence[str], was: str, now: str) -> tuple[str, ...]:
    """The boots before `now`, the latest last, once it follows `was`; a time without a boot is not one."""
    if was and not is_same_boot(was, now):
        return (*known, was)[-MOST_EARLIER_BOOTS:]
    if now and known and not was and is_same_boot(known[-1], now):
        return tuple(known[:-1])
    return tuple(known)


def has_come_back(earlier: Sequence[str], boot: str) -> bool:
    """True if the Node showed this boot before another one: a machine never boots the same way twice."""
    return any(is_same_boot(before, boot) for before in earlier)
