"""Containers of a rendered installation, with their environment and their mounts."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kube.resource import Object
from tests.deploy.overlays import of_kind

WORKLOADS = ("Deployment", "StatefulSet")
POD_FIELDS = {"metadata.name": "a-pod", "metadata.namespace": "paramedic-system", "spec.nodeName": "a-node"}
"""What the downward API says in these tests."""


@dataclass(frozen=True)
class Container:
    workload: Object
    spec: Object
    """Its own part of the workload."""
    command: tuple[str, ...]
    """With its arguments."""
    environment: Mapping[str, str] = field(hash=False)
    secrets: Mapping[str, str]
    """The names of the Secrets that are mounted, by their paths."""

    @property
    def name(self) -> str:
        return str(self.spec["name"])

    @property
    def pod(self) -> Object:
        spec: Object = self.workload["spec"]["template"]["spec"]
        return spec


def containers(
    objects: tuple[Object, ...], secrets: Mapping[str, Mapping[str, str]] | None = None
) -> Iterator[Container]:
    """All containers of all workloads; `secrets` are there, each with its data."""
    sources = {
        "configMapRef": {
            config_map["metadata"]["name"]: config_map["data"] for config_map in of_kind(objects, "ConfigMap")
        },
        "secretRef": secrets or {},
    }
    for workload in of_kind(objects, *WORKLOADS):
        pod = workload["spec"]["template"]["spec"]
        for spec in (*pod.get("initContainers", ()), *pod["containers"]):
            yield Container(
                workload,
                spec,
                (*spec.get("command", ()), *spec.get("args", ())),
                dict(_variables(spec, sources)),
                dict(_mounted_secrets(spec, pod)),
            )


def container(objects: tuple[Object, ...], name: str) -> Container:
    (found,) = [one for one in containers(objects) if one.name == name]
    return found


def _variables(spec: Object, sources: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for source in spec.get("envFrom", ()):
        ((kind, reference),) = source.items()
        if not (reference.get("optional") and reference["name"] not in sources[kind]):
            yield from sources[kind][reference["name"]].items()
    for variable in spec.get("env", ()):
        by_field = variable.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
        yield variable["name"], POD_FIELDS[by_field] if by_field else variable["value"]


def _mounted_secrets(spec: Object, pod: Object) -> Iterator[tuple[str, str]]:
    volumes = {volume["name"]: volume for volume in pod.get("volumes", ())}
    for mount in spec.get("volumeMounts", ()):
        if secret := volumes.get(mount["name"], {}).get("secret"):
            yield mount["mountPath"], secret["secretName"]
