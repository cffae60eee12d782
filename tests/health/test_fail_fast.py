"""Each model that reads text of other processes stops at the first bad item of a collection."""

import importlib
import json
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from pydantic import ValidationError

from health.model.node import Node
from health.model.observation import Observation
from kube.decoding import Decoder, Undecodable
from objects.bounds import MOST_ITEMS, collections_in

ROOMS = ("activities", "cli", "detector", "health", "kube", "objects", "runtime", "worker", "workflows")
BAD = 10_000


def _models() -> Iterator[type[Any]]:
    """Every pydantic model and dataclass of the product."""
    for room in ROOMS:
        for module in pkgutil.walk_packages(importlib.import_module(room).__path__, f"{room}."):
            if not module.name.endswith("__main__"):
                yield from _models_of(importlib.import_module(module.name))


def _models_of(module: ModuleType) -> Iterator[type[Any]]:
    for var in vars(module).values():
        is_ours = isinstance(var, type) and var.__module__ == module.__name__
        if is_ours and "__pydantic_core_schema__" in var.__dict__:
            yield var


def test_collections_of_every_model_fail_fast() -> None:
    models = set(_models())
    slow = {
        model.__qualname__
        for model in models
        for collection in collections_in(model.__pydantic_core_schema__)
        if not collection.get("fail_fast") or collection["max_length"] > MOST_ITEMS
    }

    assert slow == set()
    assert {Node, Observation} <= models


@pytest.mark.parametrize("bad", [1, {}, []])
@pytest.mark.parametrize("field", ["conditions", "labels"])
def test_one_error_is_kept_for_ten_thousand_bad_items_of_a_node(field: str, bad: object) -> None:
    items: object = {f"k{n}": bad for n in range(BAD)} if field == "labels" else [bad] * BAD
    metadata = {"name": "a", "uid": "u", "resourceVersion": "7", "creationTimestamp": "2026-01-01T00:00:00Z"}
    labels = {"labels": items} if field == "labels" else {}
    status = {} if field == "labels" else {"conditions": items}
    node = json.dumps({"metadata": metadata | labels, "status": status})

    with pytest.raises(ValidationError) as refused:
        Node.model_validate_json(node)
    assert refused.value.error_count() <= 2
    with pytest.raises(ValidationError) as refused:
        Node.model_validate(json.loads(node))
    assert refused.value.error_count() <= 2
    found = Decoder(Node).object(node.encode())
    assert isinstance(found, Undecodable)
    assert len(found.error) < 200


def test_one_error_is_kept_for_ten_thousand_bad_parts_of_a_message() -> None:
    with pytest.raises(ValidationError) as refused:
        Observation.model_validate({"state": "Expired", "reason": "x", "requests": [1] * BAD})
    assert refused.value.error_count() <= 1
