"""Which path serves a kind: asked of the API server, because plurals cannot be guessed.

That a kind is served nowhere is believed of an API server alone that says it is ready: one that has just
started knows its custom resources later than its own paths, and answers 404 until then.
"""

import re
from contextlib import suppress
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kube.errors import KindUnknown, Malformed, NotFound, Unreachable
from kube.resource import NODES, Resource, group_version_path, resource_of
from kube.transport import Transport
from objects.fail_fast import FailFast
from objects.group_kind import ServedKind

_GROUP_VERSION = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?v[a-z0-9]+", re.ASCII)


@dataclass(frozen=True)
class KindName:
    """A kind of which it is not known which path serves it."""

    api_version: str
    kind: str

    @property
    def full_name(self) -> str:
        """As of Resource; the plural is yet to be found: "ClusterVersion (config.openshift.io/v1)"."""
        return f"{self.kind} ({self.api_version})"


class _ApiResource(FailFast, BaseModel):
    model_config = ConfigDict(frozen=True)

    name: str
    kind: str
    namespaced: bool


class _ApiResourceList(FailFast, BaseModel):
    model_config = ConfigDict(frozen=True)

    resources: tuple[_ApiResource, ...] = ()


class _GroupVersion(FailFast, BaseModel):
    model_config = ConfigDict(frozen=True)

    group_version: str = Field(alias="groupVersion")


class _ApiGroup(FailFast, BaseModel):
    model_config = ConfigDict(frozen=True)

    versions: tuple[_GroupVersion, ...] = ()


class Discovery:
    """Remembers what it found. What it did not find it asks for again: a CRD may have come since."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._known: dict[str, dict[str, Resource]] = {}

    async def resource(self, api_version: str, kind: str) -> Resource:
        """Return where `kind` is served.

        Raises KindUnknown: the API server does not serve it now; KubernetesError: it could not be asked.
        """
        known = self._known.get(api_version, {}).get(kind)
        if known is not None:
            return known
        found = await self._ask_anew(api_version)
        if kind not in found:
            raise KindUnknown(
                f"The API server serves no kind {kind} in {api_version}.",
                path=group_version_path(api_version),
            )
        return found[kind]

    async def first_served(self, kind: ServedKind) -> Resource:
        """As `find`, but a kind that we read in one version is there or nowhere, and that is not asked."""
        return resource_of(kind) if len(kind.versions) == 1 else await self.find(kind)

    async def find(self, kind: ServedKind) -> Resource:
        """Return where the first of our versions of `kind` is that the API server serves.

        Raises as `resource`.
        """
        *liked, last = kind.api_versions
        for api_version in liked:
            with suppress(KindUnknown):
                return await self.resource(api_version, kind.kind)
        return await self.resource(last, kind.kind)

    async def served_now(self, api_version: str, kind: str) -> Resource | None:
        """Return where objects of `kind` are served now: in this version, else in another of its group.

        Nothing is taken from memory. None: nowhere, for sure.

        Raises KubernetesError: it could not be asked, or its answers prove nothing.
        """
        await self._confirm_ready()
        listed = await self._versions(api_version)
        in_motion: KindUnknown | None = None
        for version in dict.fromkeys((api_version, *listed)):
            try:
                found = await self._ask_anew(version)
            except KindUnknown as error:
                in_motion = error if version in listed else in_motion
                continue
            if kind in found:
                return found[kind]
        if in_motion is not None:  # what is listed and not there comes or goes at this moment
            raise Unreachable(f"It is listed, but {in_motion.message}", path=in_motion.path) from in_motion
        return None

    def forget(self, api_version: str) -> None:
        """Ask anew next time: a CRD of this group version has changed."""
        self._known.pop(api_version, None)

    async def _confirm_ready(self) -> None:
        """Raises KubernetesError: what answers is no API server, or not ready."""
        try:
            await self._transport.request("GET", "/readyz")
            await self._ask(NODES.api_version)
        except NotFound as error:
            raise Unreachable(f"What answers is no API server: {error.message}", path=error.path) from error

    async def _versions(self, api_version: str) -> tuple[str, ...]:
        """All versions of the group, preferred first; the core group has no list, and one version."""
        group, slash, _ = api_version.partition("/")
        if not slash or not _GROUP_VERSION.fullmatch(api_version):
            return ()
        path = f"/apis/{group}"
        try:
            answer = await self._transport.request("GET", path)
        except KindUnknown:
            return ()
        try:
            listed = _ApiGroup.model_validate_json(answer).versions
        except ValidationError as error:
            raise Malformed(f"The answer for {path} is not a group.", path=path) from error
        return tuple(version.group_version for version in listed)

    async def _ask_anew(self, api_version: str) -> dict[str, Resource]:
        self.forget(api_version)
        found = await self._ask(api_version)
        self._known[api_version] = found
        return found

    async def _ask(self, api_version: str) -> dict[str, Resource]:
        path = group_version_path(api_version)
        if not _GROUP_VERSION.fullmatch(api_version):  # dots and slashes would lead to another path
            raise KindUnknown(f"{api_version!r} is no apiVersion that an API server serves.", path=path)
        answer = await self._transport.request("GET", path)
        try:
            served = _ApiResourceList.model_validate_json(answer).resources
        except ValidationError as error:
            raise Malformed(f"The answer for {path} is not a list of resources.", path=path) from error
        return {
            entry.kind: Resource(api_version, entry.kind, entry.name, entry.namespaced)
            for entry in served
            if "/" not in entry.name  # subresources share the kind of their parent, or have one of their own
        }
