"""Reads untrusted YAML (a kubeconfig, the policy, payload keys) within bounds.

It accepts mappings, lists and plain scalars: null, true and false, decimal integers, and text. It refuses
tags, aliases and other numbers, because PyYAML's constructors for them raise any exception and take more than
linear time. It refuses duplicate keys, because programs disagree about which one counts.

Errors quote nothing, because the text may hold credentials: PyYAML's errors quote the line, so they are not
even the cause of ours. `field` and `value` add details for callers whose text is not secret.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

Document = Mapping[str, Any]

LONGEST = 32 * 1024
"""In bytes; the kubeconfig of a workload cluster has 6,000."""
MOST_PARTS = 5_000
"""Mappings, lists and scalars; such a kubeconfig has 40."""
DEEPEST = 20
"""In levels; such a kubeconfig has 5."""

_PARSER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # libyaml is ten times as fast
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
"""Integers that fit into 64 bits; a longer one stays text, which a numeric field refuses."""


class NoDocumentError(Exception):
    """The text was refused; the message quotes nothing of it."""

    def __init__(self, why: str, field: str | None = None, value: str | None = None) -> None:
        super().__init__(why)
        self.field = field
        """The path of the refused part; None if the whole text was refused."""
        self.value = value
        """The value of the refused part; None if `field` says enough."""


class EmptyDocumentError(NoDocumentError):
    """The text holds no mapping, or one without a key."""

    def __init__(self, *, is_mapping: bool) -> None:
        super().__init__("it is empty")
        self.is_mapping = is_mapping
        """True for `{}`; False for a text with only comments or null."""


def read_document(text: bytes | str) -> Document:
    """The mapping in `text`.

    Raises:
        NoDocumentError: the text is not one YAML mapping within the bounds of this module.

    """
    content = _Reader(_events(_decoded(text))).content()
    if content in (None, {}):
        raise EmptyDocumentError(is_mapping=content is not None)
    if not isinstance(content, dict):
        raise NoDocumentError("it is YAML, but not a mapping")
    return content


def _decoded(text: bytes | str) -> str:
    try:
        encoded = text.encode() if isinstance(text, str) else text
        if len(encoded) > LONGEST:
            raise NoDocumentError(f"it is longer than {LONGEST // 1024} KiB")
        return encoded.decode()
    except UnicodeError:
        why = "it is not UTF-8 text"
    raise NoDocumentError(why)


def _events(text: str) -> Iterator[yaml.Event]:
    why = None
    try:
        yield from yaml.parse(text, Loader=_PARSER)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        why = f"line {mark.line + 1} is not valid YAML" if mark else "it is not valid YAML"
    if why is not None:
        raise NoDocumentError(why)


class _Reader:
    """Builds the content from parser events, so that a refused part is never built."""

    def __init__(self, events: Iterator[yaml.Event]) -> None:
        self._events = events
        self._path: list[str | int] = []
        self._parts = 0

    def content(self) -> object:
        """The only document of the stream; None if there is none."""
        next(self._events)  # the start of the stream
        if isinstance(next(self._events), yaml.StreamEndEvent):
            return None
        content = self._part(next(self._events))
        next(self._events)  # the end of the document
        if not isinstance(next(self._events), yaml.StreamEndEvent):
            raise NoDocumentError("it has more than one document")
        return content

    def _part(self, event: yaml.Event) -> object:
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise NoDocumentError("it has too many parts")
        if len(self._path) > DEEPEST:
            raise NoDocumentError("it is nested too deeply")
        if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.tag is not None:
            raise self._refused("it has a tag", event.tag)
        match event:
            case yaml.MappingStartEvent():
                return self._mapping()
            case yaml.SequenceStartEvent():
                return self._sequence()
            case yaml.ScalarEvent():
                return _scalar(event)
            case _:
                raise self._refused("it has an alias")

    def _mapping(self) -> dict[str, object]:
        content: dict[str, object] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent) or event.tag is not None:
                raise self._refused("it has a key that is not plain text")
            key = str(event.value)
            self._path.append(key)
            if key in content:
                raise self._refused("a key stands twice in one mapping")
            content[key] = self._part(next(self._events))
            self._path.pop()
        return content

    def _sequence(self) -> list[object]:
        content: list[object] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            self._path.append(len(content))
            content.append(self._part(event))
            self._path.pop()
        return content

    def _refused(self, why: str, value: str | None = None) -> NoDocumentError:
        parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in self._path)
        return NoDocumentError(why, "".join(parts).removeprefix(".") or None, value)


def _scalar(event: yaml.ScalarEvent) -> object:
    text, is_plain = event.value, event.implicit[0]
    if not is_plain:
        return text
    if text in _NULL:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    return int(text) if _INTEGER.fullmatch(text) else text
