"""Decodes answers with more JSON values than MOST_VALUES. Pure.

An object that does not decode becomes its identity, without the reason: the error would contain its values as
Python values (objects/or_none.py). pydantic still copies each invalid value for a moment, for each field that
is wrong with it, so an answer with over MOST_DECODED_VALUES is not decoded as records.
"""

from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Annotated, Any, Generic

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError

from kube.answer_bounds import MOST_DECODED_VALUES, MOST_VALUES, has_more_values
from kube.envelopes import Identity, ItemT, ListMetadata, counted
from kube.errors import Malformed
from kube.record import RecordT
from objects.field_problem import FieldProblem
from objects.frozen import FrozenObject
from objects.or_none import OR_NONE

TOO_MANY_VALUES = f"over {MOST_VALUES} JSON values, too many to say why"


class Unread(FrozenObject):
    """An object that does not decode, or anything else in its place."""

    metadata: Annotated[Identity | None, OR_NONE] = None


class _Undecoded(Unread):
    """Any object, in place of a record."""


_LENIENT = Field(union_mode="left_to_right"), OR_NONE
_Item = Annotated[ItemT | Unread | None, *_LENIENT]


class _Page(FrozenObject, Generic[ItemT]):
    metadata: Annotated[ListMetadata | None, OR_NONE] = None
    items: Annotated[tuple[Annotated[_Item[ItemT], AfterValidator(counted)], ...] | None, OR_NONE] = None


class _Event(FrozenObject, Generic[ItemT]):
    type: Annotated[str | None, OR_NONE] = None
    object: _Item[ItemT] = None


@dataclass(frozen=True)
class LenientPage(Generic[RecordT]):
    """The objects of a page."""

    metadata: ListMetadata
    items: tuple[RecordT | Identity, ...]


class LenientDecoder(Generic[RecordT]):
    """Decodes the objects of one kind into one record model. Each method raises Malformed."""

    def __init__(self, decode: type[RecordT]) -> None:
        self._decode = decode

    def page(self, answer: bytes) -> LenientPage[RecordT]:
        """A page of a list."""
        adapter = _page_adapter(self._model(answer))
        page = _validated(adapter, answer, "The API server's answer is no list", context=count())
        if page is None or page.metadata is None or page.items is None:
            raise Malformed(f"The API server's answer is no list: it has {TOO_MANY_VALUES}")
        return LenientPage(page.metadata, tuple(_read(item) for item in page.items))

    def object(self, answer: bytes) -> RecordT | Identity:
        """One object."""
        adapter = _object_adapter(self._model(answer))
        found: RecordT | Identity = _read(_validated(adapter, answer, "The API server's answer is no object"))
        return found

    def event(self, line: bytes) -> tuple[str, RecordT | Identity]:
        """The type and the object of one line of a watch."""
        event = _validated(_event_adapter(self._model(line)), line, "A line of a watch is no event")
        if event is None or event.type is None:
            raise Malformed(f"A line of a watch is no event: it has {TOO_MANY_VALUES}")
        return event.type, _read(event.object)

    def _model(self, answer: bytes) -> Any:  # noqa: ANN401  a class
        return _Undecoded if has_more_values(answer, MOST_DECODED_VALUES) else self._decode


@cache
def _page_adapter(model: Any) -> TypeAdapter[Any]:  # noqa: ANN401  a class
    page: Any = _Page.__class_getitem__(model)
    return TypeAdapter(Annotated[page | None, OR_NONE])


@cache
def _object_adapter(model: Any) -> TypeAdapter[Any]:  # noqa: ANN401  a class
    return TypeAdapter(Annotated[model | Unread | None, *_LENIENT])


@cache
def _event_adapter(model: Any) -> TypeAdapter[Any]:  # noqa: ANN401  a class
    event: Any = _Event.__class_getitem__(model)
    return TypeAdapter(Annotated[event | None, OR_NONE])


def _validated(adapter: TypeAdapter[Any], answer: bytes, subject: str, context: object = None) -> Any:  # noqa: ANN401  of any model
    try:
        return adapter.validate_json(answer, context=context)
    except ValidationError as error:  # only if it is no JSON
        raise Malformed(f"{subject}: {FieldProblem.of(error, longest_value=0)}") from error


def _read(item: Any) -> Any:  # noqa: ANN401  a record, Unread or None
    if item is None or (isinstance(item, Unread) and item.metadata is None):
        raise Malformed(f"An object has no readable metadata: the answer has {TOO_MANY_VALUES}")
    return item.metadata if isinstance(item, Unread) else item
