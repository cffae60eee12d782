"""The parts that lists, pages and events of a watch have around objects, as models."""

from collections.abc import Iterator
from typing import TypeVar, cast

from pydantic import Field, ValidationInfo
from pydantic_core import PydanticCustomError

from kube.answer_bounds import LONGEST_NAME, LONGEST_NAMESPACE, LONGEST_VERSION, MOST_ITEMS_OF_A_PAGE
from objects.frozen import FrozenObject

ItemT = TypeVar("ItemT")


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


def counted(item: ItemT, info: ValidationInfo) -> ItemT:
    """Count an item of a page by the context of its validation.

    `max_length` would cost up to a second: its error contains the whole list as Python values.
    """
    numbers = cast("Iterator[int]", info.context)
    if next(numbers) >= MOST_ITEMS_OF_A_PAGE:
        raise PydanticCustomError("too_many", f"A page has at most {MOST_ITEMS_OF_A_PAGE} objects")
    return item
