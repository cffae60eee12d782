"""Renders overlays of deploy/ with kustomize."""

import os
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import yaml

from devcluster import programs
from devcluster.manifests import ROOT
from kube.resource import Object

DEPLOY = ROOT / "deploy"
SETTINGS = {"name": "paramedic-settings", "namespace": "paramedic-system", "behavior": "merge"}
OVERLAYS = tuple(sorted(folder.name for folder in (DEPLOY / "overlays").iterdir()))


@cache
def built(folder: Path) -> tuple[Object, ...]:
    """All objects of a kustomization; callers must not change them, because they are cached."""
    command = (str(programs.kubectl()), "kustomize", str(folder))
    at_once = os.environ | {"GOGC": "off"}  # it ends before it has much to clear away
    done = subprocess.run(command, env=at_once, capture_output=True, text=True, check=False)  # noqa: S603  ours
    assert done.returncode == 0, done.stderr
    return tuple(yaml.load_all(done.stdout, yaml.CSafeLoader))


def overlay(name: str) -> tuple[Object, ...]:
    return built(DEPLOY / "overlays" / name)


def combined(folder: Path, *components: str, literals: Sequence[str] = ()) -> tuple[Object, ...]:
    """All objects of an overlay in `folder`, as users write their own, with these settings."""
    header = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    deploy = os.path.relpath(DEPLOY, folder)  # kustomize takes relative paths only
    content = {
        "resources": [f"{deploy}/base"],
        "components": [f"{deploy}/components/{component}" for component in (*components, "image")],
        "configMapGenerator": [SETTINGS | {"literals": list(literals)}] if literals else [],
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(header | content))
    return built(folder)


def of_kind(objects: tuple[Object, ...], *kinds: str) -> list[Object]:
    return [document for document in objects if document["kind"] in kinds]


def named(objects: tuple[Object, ...], kind: str, name: str) -> Object:
    """The one of that kind and name."""
    (found,) = [document for document in of_kind(objects, kind) if document["metadata"]["name"] == name]
    return found
