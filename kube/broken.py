"""The objects of a kind that do not decode: known, told and logged once per version, and else left out."""

import logging
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from kube.decoding import Broken
from kube.record import Key

_logger = logging.getLogger(__name__)


class BrokenObjects:
    """Broken objects by key."""

    def __init__(self, kind: str, on_broken: Callable[[Key, str], None] | None) -> None:
        self._kind = kind
        self._on_broken = on_broken
        self._versions: dict[Key, str] = {}
        self._errors: dict[Key, str] = {}
        self.errors: Mapping[Key, str] = MappingProxyType(self._errors)
        """What is wrong with each of them; a read-only view."""

    def add(self, broken: Broken) -> None:
        """Note a broken object; a version that is known already is not told again."""
        if self._versions.get(broken.key) == broken.resource_version:
            return
        self._versions[broken.key] = broken.resource_version
        self._errors[broken.key] = broken.error
        where = "/".join(part for part in broken.key if part)
        _logger.warning("Leaving out %s %s, which cannot be read: %s", self._kind, where, broken.error)
        if self._on_broken is not None:
            self._on_broken(broken.key, broken.error)

    def discard(self, key: Key) -> None:
        """Forget an object that was repaired or deleted."""
        self._versions.pop(key, None)
        self._errors.pop(key, None)

    def replace(self, broken: Iterable[Broken]) -> None:
        """Make these the only ones: a complete list."""
        listed = {one.key: one for one in broken}
        for key in [key for key in self._errors if key not in listed]:
            self.discard(key)
        for one in listed.values():
            self.add(one)
