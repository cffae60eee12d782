"""EvidenceDocument: evidence as YAML texts for people, cut to a size. Pure.

The order is the priority: the incident, the Node, the target, Events from the newest on, then Pods, those
with problems first. An object or list item without room is left out as a whole, so the rest stays valid
YAML; the document says how many there were.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from health.evidence.kept import Object, text

LIMIT_BYTES = 256 * 1024
"""A quarter of the maximum of a ConfigMap: a hundred of them take at most 25 MiB of etcd."""
INCIDENT = "incident.yaml"
_LONGEST_LACK = 300
_LACK_BYTES = 4 * _LONGEST_LACK + 16
"""The size of one in UTF-8, with the YAML around it."""


@dataclass(frozen=True, kw_only=True)
class EvidencePart:
    """One part of the evidence: an object, or a list with the most important item first."""

    name: str
    items: Sequence[Object] = ()
    """One item, unless it is a list."""
    is_list: bool = True
    unread: str = ""
    """Why it could not be read; "" if it was."""
    most: str = ""
    """The total in words, if not all items were read."""

    @property
    def key(self) -> str:
        return f"{self.name}.yaml"

    def lack(self, kept: int) -> str:
        """The parts that are missing if `kept` items have room; "": none."""
        if self.unread:
            # On one line, because it becomes a comment: messages of API servers may have several lines.
            return text(" ".join(f"no {self.name}: {self.unread}".split()), _LONGEST_LACK)
        total = self.most or str(len(self.items))
        if not self.is_list:
            return "" if kept else f"no {self.name}: it has no room"
        return f"{kept} of {total} {self.name}" if self.most or kept < len(self.items) else ""


@dataclass(frozen=True)
class EvidenceDocument:
    """The texts by name, each valid YAML, together no longer than the limit."""

    texts: Mapping[str, str]
    lacks: tuple[str, ...]
    """The missing parts, in words."""


def compose(
    incident: Mapping[str, str], parts: Iterable[EvidencePart], limit: int = LIMIT_BYTES
) -> EvidenceDocument:
    """The document; `incident` has short facts, which always have room."""
    all_parts = tuple(parts)
    room = (
        limit
        - _size(_dumped(dict(incident), is_flat=False))
        - sum(_head_bytes(part) for part in all_parts)
        - len(INCIDENT)
    )
    texts, lacks = {}, []
    for part in all_parts:
        body, kept = _body(part, room)
        room -= _size(body)
        lack = part.lack(kept)
        texts[part.key] = f"# {lack}\n{body}" if lack else body
        lacks += [lack] if lack else []
    described: dict[str, Any] = dict(incident) | ({"lacks": lacks} if lacks else {})
    return EvidenceDocument({INCIDENT: _dumped(described, is_flat=False), **texts}, tuple(lacks))


def _head_bytes(part: EvidencePart) -> int:
    """Room for its name and for its missing items, which are named twice; an empty part has a line too."""
    return len(part.key) + 2 * _LACK_BYTES


def _body(part: EvidencePart, room: int) -> tuple[str, int]:
    """The text of the items that have room, and their number."""
    bodies = []
    for item in part.items:
        body = _dumped([dict(item)] if part.is_list else dict(item))
        if _size(body) <= room:
            room -= _size(body)
            bodies.append(body)
    return "".join(bodies) or ("[]\n" if part.is_list else "{}\n"), len(bodies)


def _size(body: str) -> int:
    return len(body.encode())


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]  # ten times as fast
    """Writes repeated values in full, because people read the file."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002  as there
        return True


def _dumped(value: object, *, is_flat: bool | None = None) -> str:
    """A value on one line if it `is_flat`, else on several; without nested values on one line."""
    # No line is folded, so that every text can be searched for.
    dumped: str = yaml.dump(
        value, Dumper=_Dumper, default_flow_style=is_flat, sort_keys=False, allow_unicode=True, width=10**6
    )
    return dumped
