"""EvidenceDocument: evidence as texts of YAML that people read, cut to a size. Pure.

What is told first is kept longest: the incident, the Node, the target, Events from the newest on, then Pods,
those with which something is the matter first. What has no room is left out as a whole, an object or an item
of a list, so that what is there can be parsed; and it is said how much there was.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from health.evidence.kept import Object, text

LIMIT_BYTES = 256 * 1024
"""A quarter of what a ConfigMap may have: a hundred of them are 25 MiB of etcd at most."""
INCIDENT = "incident.yaml"
_LONGEST_LACK = 300
_LACK_BYTES = 4 * _LONGEST_LACK + 16
"""Of one in UTF-8, with what YAML puts around it."""


@dataclass(frozen=True)
class Part:
    """What was read of one thing: an object, or a list of what tells most first."""

    name: str
    items: Sequence[Object] = ()
    """One, where it is no list."""
    is_list: bool = True
    unread: str = ""
    """Why it is not there; "" if it is."""
    most: str = ""
    """In words how many there are, where not all were read."""

    @property
    def key(self) -> str:
        """Its name as a file."""
        return f"{self.name}.yaml"

    def lack(self, kept: int) -> str:
        """What is missing when so many of its items have room; "" if nothing is."""
        if self.unread:
            # On one line, as it stands in a comment: what an API server says may have several.
            return text(" ".join(f"no {self.name}: {self.unread}".split()), _LONGEST_LACK)
        total = self.most or str(len(self.items))
        if not self.is_list:
            return "" if kept else f"no {self.name}: it has no room"
        return f"{kept} of {total} {self.name}" if self.most or kept < len(self.items) else ""


@dataclass(frozen=True)
class EvidenceDocument:
    """The texts by their names, each valid YAML, together no longer than was asked for."""

    texts: Mapping[str, str]
    lacks: tuple[str, ...]
    """What is missing, in words."""

    @property
    def as_one(self) -> str:
        """All of it as one file of several documents."""
        return "".join(f"---\n# {name}\n{body}" for name, body in self.texts.items())


def compose(incident: Mapping[str, str], parts: Iterable[Part], limit: int = LIMIT_BYTES) -> EvidenceDocument:
    """The document; `incident` are short facts, which always have room."""
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
    told: dict[str, Any] = dict(incident) | ({"lacks": lacks} if lacks else {})
    return EvidenceDocument({INCIDENT: _dumped(told, is_flat=False), **texts}, tuple(lacks))


def _head_bytes(part: Part) -> int:
    """Room for its name, and for what it lacks, which is told twice; an empty one has a line as well."""
    return len(part.key) + 2 * _LACK_BYTES


def _body(part: Part, room: int) -> tuple[str, int]:
    """What has room, and how many items that is."""
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
    """Says again what is there twice: references are for programs."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002  as there
        return True


def _dumped(value: object, *, is_flat: bool | None = None) -> str:
    """On lines of their own, or on one if it `is_flat`; by itself what has nothing within is on one line."""
    # No line is folded: it would be hard to look for.
    dumped: str = yaml.dump(
        value, Dumper=_Dumper, default_flow_style=is_flat, sort_keys=False, allow_unicode=True, width=10**6
    )
    return dumped
