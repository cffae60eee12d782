"""Decodes the bytes of a list page or a watch line into records. Pure.

Fast path: the whole page or line is validated at once from its bytes. Only if that fails are its parts
examined, to find a bookmark, an error, or the object that does not decode. Of a line, only the
metadata is read again.

In an answer with more JSON values than MOST_VALUES, an object that does not decode becomes its identity,
without the reason: the error would contain its values as Python values (objects/bounds.py). pydantic still
copies each invalid value for a moment, for each field that is wrong with it, so the objects of an answer with
over MOST_DECODED_VALUES are only named.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError, ValidationInfo
from pydantic_core import PydanticCustomError, to_json

from kube.answer_bounds import (
    LONGEST_NAME,
    LONGEST_NAMESPACE,
    LONGEST_VERSION,
    MOST_DECODED_VALUES,
    MOST_ITEMS_OF_A_PAGE,
    MOST_OF_AN_OBJECT,
    MOST_VALUES,
    has_more_values,
)
from kube.errors import Malformed
from kube.record import ChangeKind, Key, RecordT
from kube.status import Status
from objects.bounds import OR_NONE
from objects.field_problem import FieldProblem, quoted
from objects.frozen import FrozenObject

_LONGEST_VALUE = 64  # in characters, as quoted in errors
_TOO_MANY_VALUES = f"over {MOST_VALUES} JSON values, too many to say why"

_ITEM: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])


ItemT = TypeVar("ItemT")


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
class ObjectEvent(Generic[RecordT]):
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


class ListMetadata(FrozenObject):
    """The version of a list, and the token of its next page."""

    resource_version: str
    token: str = Field(default="", alias="continue")


class ListHead(FrozenObject):
    """A list without its items, for its resourceVersion."""

    metadata: ListMetadata


class Identity(FrozenObject):
    """The metadata of an undecodable object, or of a bookmark; a longer name makes the answer Malformed.

    A name that is cut could be the name of another object.
    """

    name: str = Field(default="", max_length=LONGEST_NAME)
    namespace: str = Field(default="", max_length=LONGEST_NAMESPACE)
    resource_version: str = Field(default="", max_length=LONGEST_VERSION)


def counted(item: ItemT, info: ValidationInfo[Iterator[int]]) -> ItemT:
    """Count an item of a page by the context of its validation.

    `max_length` would cost up to a second: its error contains the whole list as Python values.
    """
    if next(info.context) >= MOST_ITEMS_OF_A_PAGE:
        raise PydanticCustomError("too_many", f"A page has at most {MOST_ITEMS_OF_A_PAGE} objects")
    return item


class _List(ListHead, Generic[ItemT]):
    # Go writes an empty list of some kinds as null.
    items: tuple[Annotated[ItemT, AfterValidator(counted)], ...] | None = None


class _ObjectEvent(FrozenObject, Generic[ItemT]):
    type: Literal["ADDED", "MODIFIED", "DELETED"]
    object: ItemT


class _Identified(FrozenObject):
    metadata: Identity


class _Other(FrozenObject):
    metadata: Identity | None = None


class _OtherEvent(FrozenObject):
    """Any event, without the object's other fields: as Python values they would take up to a second."""

    type: str
    object: _Other


class _ErrorEvent(FrozenObject):
    object: Status


class _Unread(FrozenObject):
    """An object that does not decode, or anything else in its place."""

    metadata: Annotated[Identity | None, OR_NONE] = None


class _Unwanted(_Unread):
    """Any object, in place of a record."""


_LENIENT = Field(union_mode="left_to_right"), OR_NONE
_Item = Annotated[ItemT | _Unread | None, *_LENIENT]


class _LenientPage(FrozenObject, Generic[ItemT]):
    metadata: Annotated[ListMetadata | None, OR_NONE] = None
    items: Annotated[tuple[Annotated[_Item[ItemT], AfterValidator(counted)], ...] | None, OR_NONE] = None


class _LenientEvent(FrozenObject, Generic[ItemT]):
    type: Annotated[str | None, OR_NONE] = None
    object: _Item[ItemT] = None


@cache
def _lenient_page(model: Any) -> TypeAdapter[Any]:  # noqa: ANN401  a class
    page: Any = _LenientPage.__class_getitem__(model)
    return TypeAdapter(Annotated[page | None, OR_NONE])


@cache
def _lenient_object(model: Any) -> TypeAdapter[Any]:  # noqa: ANN401  a class
    return TypeAdapter(Annotated[model | _Unread | None, *_LENIENT])


@cache
def _lenient_event(model: Any) -> TypeAdapter[Any]:  # noqa: ANN401  a class
    event: Any = _LenientEvent.__class_getitem__(model)
    return TypeAdapter(Annotated[event | None, OR_NONE])


class Decoder(Generic[RecordT]):
    """Decodes the objects of one kind into one record model."""

    def __init__(self, decode: type[RecordT]) -> None:
        self._model = decode
        self._adapter = TypeAdapter(decode)
        self._list: Any = _List.__class_getitem__(decode)
        self._event: Any = _ObjectEvent.__class_getitem__(decode)

    def page(self, answer: bytes) -> ListPage[RecordT]:
        """Decode one page of a list.

        Raises Malformed: it is not a list.
        """
        if has_more_values(answer, MOST_VALUES):
            found = self._lenient(_lenient_page, answer, "The API server's answer is no list", count())
            if found is None or found.metadata is None or found.items is None:
                raise Malformed(f"The API server's answer is no list: it has {_TOO_MANY_VALUES}")
            return _page_of([_read(item) for item in found.items], found.metadata)
        try:
            page = self._list.model_validate_json(answer, context=count())
        except ValidationError:
            page = None  # the error contains the invalid values: it goes before they are decoded again
        if page is not None:
            return ListPage(page.items or (), (), page.metadata.resource_version, page.metadata.token)
        try:
            raw = _List[dict[str, Any]].model_validate_json(answer, context=count())
        except ValidationError as error:
            raise Malformed(f"The API server's answer is no list: {_place(error)}") from error
        return _page_of([self._one(item) for item in raw.items or ()], raw.metadata)

    def object(self, answer: bytes) -> RecordT | Undecodable:
        """Decode one object.

        Raises Malformed: it is not an object.
        """
        if has_more_values(answer, MOST_VALUES):
            found = self._lenient(_lenient_object, answer, "The API server's answer is no object")
            one: RecordT | Undecodable = _read(found)
            return one
        try:
            return self._one(_ITEM.validate_json(answer))
        except ValidationError as error:
            raise Malformed(f"The API server's answer is no object: {_place(error)}") from error

    def line(self, line: bytes) -> ObjectEvent[RecordT] | Bookmark | WatchError:
        """Decode one line of a watch.

        Raises Malformed: it is not an event of a watch.
        """
        if has_more_values(line, MOST_VALUES):
            found = self._lenient(_lenient_event, line, "A line of a watch is no event")
            if found is None or found.type is None:
                raise Malformed(f"A line of a watch is no event: it has {_TOO_MANY_VALUES}")
            found_object = _read(found.object)
            return ObjectEvent(_change_kind(found.type), found_object)
        try:
            event = self._event.model_validate_json(line)
        except ValidationError as error:
            return _other_line(line, error)
        return ObjectEvent(ChangeKind(event.type), event.object)

    def _lenient(
        self,
        adapter: Callable[[Any], TypeAdapter[Any]],
        answer: bytes,
        subject: str,
        context: Iterator[int] | None = None,
    ) -> Any:  # noqa: ANN401  of any model
        """Decode an answer of many values; raises Malformed if it is no JSON."""
        model = _Unwanted if has_more_values(answer, MOST_DECODED_VALUES) else self._model
        try:
            return adapter(model).validate_json(answer, context=context)
        except ValidationError as error:
            raise Malformed(f"{subject}: {_place(error)}") from error

    def _one(self, item: dict[str, Any]) -> RecordT | Undecodable:
        who, encoded = _identity(item), to_json(item)
        if len(encoded) > MOST_OF_AN_OBJECT:
            return _undecodable(who, f"The object has over {MOST_OF_AN_OBJECT} bytes")
        try:
            # From JSON, not from Python values: the two modes accept different input.
            return self._adapter.validate_json(encoded)
        except ValidationError as error:
            return _undecodable(who, _first(error))


def _undecodable(who: Identity, error: str) -> Undecodable:
    return Undecodable(Key(who.namespace, who.name), who.resource_version, error)


def _read(item: Any) -> Any:  # noqa: ANN401  a record, _Unread or None
    """The record, or the object that does not decode, of an answer of many values."""
    if item is not None and not isinstance(item, _Unread):
        return item
    if item is None or item.metadata is None:
        raise Malformed(f"An object has no readable metadata: the answer has {_TOO_MANY_VALUES}")
    return _undecodable(item.metadata, f"It does not decode, and the answer has {_TOO_MANY_VALUES}")


def _page_of(found: Sequence[RecordT | Undecodable], metadata: ListMetadata) -> ListPage[RecordT]:
    return ListPage(
        tuple(item for item in found if not isinstance(item, Undecodable)),
        tuple(item for item in found if isinstance(item, Undecodable)),
        metadata.resource_version,
        metadata.token,
    )


def _other_line(line: bytes, why: ValidationError) -> ObjectEvent[Any] | Bookmark | WatchError:
    """Decode a line that is no event with a good object, which `why` describes."""
    try:
        event = _OtherEvent.model_validate_json(line)
        if event.type == "ERROR":
            return WatchError(_ErrorEvent.model_validate_json(line).object)
    except ValidationError as error:
        raise Malformed(f"A line of a watch is no event: {_place(error)}") from error
    kind = None if event.type == "BOOKMARK" else _change_kind(event.type)
    who = event.object.metadata
    if who is None:
        raise Malformed("An object of a watch has no metadata.")
    if kind is None:
        return Bookmark(who.resource_version)
    return ObjectEvent(kind, _undecodable(who, _first(why).removeprefix("object.")))


def _change_kind(type_: str) -> ChangeKind:
    if type_ not in ChangeKind.__members__:
        raise Malformed(f"A watch reports {quoted(type_, _LONGEST_VALUE)}, which is unknown.")
    return ChangeKind(type_)


def _identity(item: dict[str, Any]) -> Identity:
    try:
        return _Identified.model_validate(item).metadata
    except ValidationError as error:
        raise Malformed(f"An object has no readable metadata: {_first(error)}") from error


def _first(error: ValidationError) -> str:
    """The field, the problem and the value of one invalid object."""
    return str(FieldProblem.of(error, _LONGEST_VALUE))


def _place(error: ValidationError) -> str:
    """The field and the problem, without the value, which may be the whole answer."""
    return str(FieldProblem.of(error, longest_value=0))
