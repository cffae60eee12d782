"""Decodes the bytes of a list page or a watch line into records. Pure.

Fast path: the whole page or line is validated at once from its bytes. Only if that fails are its parts
examined, to find a bookmark, an error, or the object that does not decode. Of a line, only the
metadata is read again.

The items of a page are counted one by one. `max_length` would cost up to a second: its error contains the
whole list as Python values.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from reprlib import Repr
from typing import Annotated, Any, Generic, Literal, TypeVar, cast

from pydantic import AfterValidator, BaseModel, Field, TypeAdapter, ValidationError, ValidationInfo
from pydantic_core import PydanticCustomError, to_json

from kube.answer_bounds import (
    LONGEST_NAME,
    LONGEST_NAMESPACE,
    LONGEST_VERSION,
    MOST_ITEMS_OF_A_PAGE,
    MOST_OF_AN_OBJECT,
)
from kube.errors import Malformed
from kube.record import ChangeKind, Key, RecordT
from kube.status import Status
from objects.frozen import FrozenObject

_LONGEST_VALUE = 64  # in characters, as quoted in errors
_LONGEST_FIELD = 256  # in characters: a field may be the key of a label, which may have any length
_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = 2 * _LONGEST_VALUE

ItemT = TypeVar("ItemT")
_ITEM: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])


@dataclass(frozen=True)
class Undecodable:
    """An object that exists but does not decode, with the error."""

    key: Key
    resource_version: str
    error: str
    """One line that names the field and the value."""


@dataclass(frozen=True)
class ListPage(Generic[RecordT]):
    """A part of a list; `token` requests the next one, and is "" on the last."""

    records: tuple[RecordT, ...]
    undecodable: tuple[Undecodable, ...]
    resource_version: str
    token: str


@dataclass(frozen=True)
class Seen(Generic[RecordT]):
    """An event of a watch: an object as it is now, or as it was when it was deleted."""

    kind: ChangeKind
    found: RecordT | Undecodable

    @property
    def resource_version(self) -> str:
        """The version up to which the watch is complete."""
        found = self.found
        return found.resource_version if isinstance(found, Undecodable) else found.metadata.resource_version


@dataclass(frozen=True)
class Bookmark:
    """An event of a watch without a change up to this resourceVersion."""

    resource_version: str


@dataclass(frozen=True)
class WatchError:
    """An event with which the server ends the watch."""

    status: Status


class _ListMetadata(FrozenObject):
    resource_version: str
    token: str = Field(default="", alias="continue")


class ListHead(FrozenObject):
    """A list without its items, for its resourceVersion."""

    metadata: _ListMetadata


def _counted(item: ItemT, info: ValidationInfo) -> ItemT:
    """Count an item of a page by the context of its validation."""
    numbers = cast("Iterator[int]", info.context)
    if next(numbers) >= MOST_ITEMS_OF_A_PAGE:
        raise PydanticCustomError("too_many", f"A page has at most {MOST_ITEMS_OF_A_PAGE} objects")
    return item


class _List(ListHead, Generic[ItemT]):
    # Go writes an empty list of some kinds as null.
    items: tuple[Annotated[ItemT, AfterValidator(_counted)], ...] | None = None


class _ObjectEvent(FrozenObject, Generic[ItemT]):
    type: Literal["ADDED", "MODIFIED", "DELETED"]
    object: ItemT


class _Identity(FrozenObject):
    """The metadata of an undecodable object, or of a bookmark; a longer name makes the answer Malformed.

    A name that is cut could be the name of another object.
    """

    name: str = Field(default="", max_length=LONGEST_NAME)
    namespace: str = Field(default="", max_length=LONGEST_NAMESPACE)
    resource_version: str = Field(default="", max_length=LONGEST_VERSION)

    def undecodable(self, error: str) -> Undecodable:
        return Undecodable(Key(self.namespace, self.name), self.resource_version, error)


class _Identified(FrozenObject):
    metadata: _Identity


class _Other(FrozenObject):
    metadata: _Identity | None = None


class _OtherEvent(FrozenObject):
    """Any event, without the object's other fields: as Python values they would take up to a second."""

    type: str
    object: _Other


class _ErrorEvent(FrozenObject):
    object: Status


class Decoder(Generic[RecordT]):
    """Decodes the objects of one kind into one record model."""

    def __init__(self, decode: type[RecordT]) -> None:
        self._model = cast("type[BaseModel]", decode)
        self._list: Any = _List.__class_getitem__(decode)
        self._event: Any = _ObjectEvent.__class_getitem__(decode)

    def page(self, answer: bytes) -> ListPage[RecordT]:
        """Decode one page of a list.

        Raises Malformed: it is not a list.
        """
        try:
            page = self._list.model_validate_json(answer, context=count())
        except ValidationError:
            return self._page_one_by_one(answer)
        return ListPage(page.items or (), (), page.metadata.resource_version, page.metadata.token)

    def object(self, answer: bytes) -> RecordT | Undecodable:
        """Decode one object.

        Raises Malformed: it is not an object.
        """
        try:
            return self._one(_ITEM.validate_json(answer))
        except ValidationError as error:
            raise Malformed(f"The API server's answer is no object: {_place(error)}") from error

    def line(self, line: bytes) -> Seen[RecordT] | Bookmark | WatchError:
        """Decode one line of a watch.

        Raises Malformed: it is not an event of a watch.
        """
        try:
            event = self._event.model_validate_json(line)
        except ValidationError as error:
            return _other_line(line, error)
        return Seen(ChangeKind(event.type), event.object)

    def _page_one_by_one(self, answer: bytes) -> ListPage[RecordT]:
        try:
            page = _List[dict[str, Any]].model_validate_json(answer, context=count())
        except ValidationError as error:
            raise Malformed(f"The API server's answer is no list: {_place(error)}") from error
        found = [self._one(item) for item in page.items or ()]
        return ListPage(
            tuple(one for one in found if not isinstance(one, Undecodable)),
            tuple(one for one in found if isinstance(one, Undecodable)),
            page.metadata.resource_version,
            page.metadata.token,
        )

    def _one(self, item: dict[str, Any]) -> RecordT | Undecodable:
        who, encoded = _identity(item), to_json(item)
        if len(encoded) > MOST_OF_AN_OBJECT:
            return who.undecodable(f"The object has over {MOST_OF_AN_OBJECT} bytes")
        try:
            # From JSON, not from Python values: the two modes accept different input.
            return cast("RecordT", self._model.model_validate_json(encoded))
        except ValidationError as error:
            return who.undecodable(_first(error))


def _other_line(line: bytes, why: ValidationError) -> Seen[Any] | Bookmark | WatchError:
    """Decode a line that is no event with a good object, which `why` describes."""
    try:
        event = _OtherEvent.model_validate_json(line)
        if event.type == "ERROR":
            return WatchError(_ErrorEvent.model_validate_json(line).object)
    except ValidationError as error:
        raise Malformed(f"A line of a watch is no event: {_place(error)}") from error
    if event.type != "BOOKMARK" and event.type not in ChangeKind.__members__:
        raise Malformed(f"A watch reports {_quoted(event.type)}, which is unknown.")
    who = event.object.metadata
    if who is None:
        raise Malformed("An object of a watch has no metadata.")
    if event.type == "BOOKMARK":
        return Bookmark(who.resource_version)
    return Seen(ChangeKind(event.type), who.undecodable(_first(why).removeprefix("object.")))


def _identity(item: dict[str, Any]) -> _Identity:
    try:
        return _Identified.model_validate(item).metadata
    except ValidationError as error:
        raise Malformed(f"An object has no readable metadata: {_first(error)}") from error


def _quoted(value: object) -> str:
    """`value` as shown in errors; a large value is shortened before it is formatted."""
    return _shortened(_SHORT.repr(value), _LONGEST_VALUE)


def _shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _first(error: ValidationError) -> str:
    """The field, the problem and the value of one invalid object."""
    value = error.errors(include_url=False, include_context=False)[0]["input"]
    return f"{_place(error)}, not {_quoted(value)}"


def _place(error: ValidationError) -> str:
    """The field and the problem, without the value, which may be the whole answer."""
    problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
    field = _shortened(".".join(str(part) for part in problem["loc"]), _LONGEST_FIELD)
    where = f"{field}: " if field else ""  # there is no field if the whole is not JSON, or not an object
    return f"{where}{_shortened(problem['msg'], _LONGEST_FIELD)}"
