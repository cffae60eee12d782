"""Frozen: the base of every value that crosses a boundary (the API server, Temporal, the environment)."""

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from objects.bounds import Bounded


class Frozen(Bounded):
    """An immutable value; unknown fields are ignored, so that a newer writer breaks no older reader."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class FrozenObject(Bounded):
    """A part of a Kubernetes object, in the camelCase of its API; only what we decide by is kept."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)
