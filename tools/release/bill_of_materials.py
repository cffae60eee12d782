"""The bill of materials in CycloneDX: the wheel and the dependencies in the lock file of the image.

The lock file is read in the format of `uv pip compile`: each dependency, and those that need it. The bill
depends on neither time nor machine, so a commit always gives the same bytes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

PROJECT = "paramedic"
_PINNED = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;]+)")
_ASKED = re.compile(r" +# +(?:via +)?(?P<name>[a-z0-9-]+)(?: \(pyproject\.toml\))?$")


@dataclass(frozen=True)
class Locked:
    """A dependency, and the names of those that need it."""

    name: str
    version: str
    needed_by: frozenset[str]


def read_lock(text: str) -> tuple[Locked, ...]:
    """The dependencies in the lock file, in its order."""
    return tuple(_entries(text))


def _entries(text: str) -> Iterator[Locked]:
    for entry in re.split(r"\n(?=[A-Za-z0-9])", text):
        if pinned := _PINNED.match(entry):
            asking = frozenset(found["name"] for line in entry.splitlines() if (found := _ASKED.match(line)))
            yield Locked(pinned["name"], pinned["version"], asking - {"via"})


def bill(version: str, wheel_sha256: str, locked: Sequence[Locked], time: datetime) -> str:
    hashes = [HashType(alg=HashAlgorithm.SHA_256, content=wheel_sha256)]
    project = _component(PROJECT, version, ComponentType.APPLICATION, hashes)
    libraries = {one.name: _component(one.name, one.version, ComponentType.LIBRARY) for one in locked}
    bom = Bom(
        components=libraries.values(),
        serial_number=uuid5(NAMESPACE_URL, f"{project.purl}#sha256={wheel_sha256}"),
        metadata=BomMetaData(component=project, timestamp=time),
    )
    _connect(bom, {PROJECT: project, **libraries}, locked)
    return f"{JsonV1Dot6(bom).output_as_string(indent=2)}\n"


def _component(name: str, version: str, kind: ComponentType, hashes: Iterable[HashType] = ()) -> Component:
    url = PackageURL("pypi", name=name, version=version)
    return Component(name=name, version=version, type=kind, purl=url, bom_ref=url.to_string(), hashes=hashes)


def _connect(bom: Bom, components: Mapping[str, Component], locked: Sequence[Locked]) -> None:
    for name, component in components.items():
        needed = [components[one.name] for one in locked if name in one.needed_by]
        bom.register_dependency(component, needed)
