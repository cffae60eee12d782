"""ConfigMaps stand for every kind: small objects that a scripted and a real API server both serve."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from kube.record import Key
from kube.resource import Object, Resource
from objects.frozen import FrozenObject
from objects.metadata import ObjectMetadata

NAMESPACE = "default"
CONFIG_MAPS = Resource("v1", "ConfigMap", "configmaps", namespaced=True)
PATH = CONFIG_MAPS.path(NAMESPACE)

Contents = dict[str, tuple[str, str]]
"""uid and size by name: what two copies of the same ConfigMaps must agree about."""


class ConfigMap(FrozenObject):
    metadata: ObjectMetadata
    data: dict[str, str] = Field(default_factory=dict)


def body(name: str, size: int, **metadata: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": NAMESPACE, **metadata},
        "data": {"size": str(size)},
    }


def contents(store: Mapping[Key, ConfigMap]) -> Contents:
    return {key.name: facts(config_map) for key, config_map in store.items()}


def facts(config_map: ConfigMap) -> tuple[str, str]:
    return config_map.metadata.uid, config_map.data["size"]
