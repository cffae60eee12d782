"""Finds the path that serves a kind; the API server must be asked, because plurals cannot be guessed.

A missing kind counts as not served only if the API server reports that it is ready: right after its start it
answers 404 for custom resources.
"""

import re
from contextlib import suppress
from dataclasses import dataclass

from pydantic import ValidationError

from kube.errors import KindUnknown, Malformed, NotFound, Unreachable
from kube.resource import NODES, Resource, group_version_path, resource_of
from kube.transport import Transport
from objects.frozen import FrozenObject
from objects.group_kind import ServedKind

_GROUP_VERSION = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?v[a-z0-9]+", re.ASCII)


@dataclass(frozen=True)
class KindName:
    """A kind whose path is not known yet."""

    api_version: str
    kind: str

    @property
    def full_name(self) -> str:
        """The name in the style of Resource, without a plural: "ClusterVersion (config.openshift.io/v1)"."""
        return f"{self.kind} ({self.api_version})"


class _ApiResource(FrozenObject):
    name: str
    kind: str
    namespaced: bool


class _ApiResourceList(FrozenObject):
    resources: tuple[_ApiResource, ...] = ()


class _GroupVersion(FrozenObject):
    group_version: str


class _ApiGroup(FrozenObject):
    versions: tuple[_GroupVersion, ...] = ()


class Discovery:
    """Caches the kinds that it found.

    Missing kinds are requested again: their CRD may have been created since.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._resources: dict[str, dict[str, Resource]] = {}

    async def resource(self, api_version: str, kind: str) -> Resource:
        """The resource of `kind`.

        Raises KindUnknown: the API server does not serve it now; KubernetesError: the request failed.
        """
        cached = self._resources.get(api_version, {}).get(kind)
        if cached is not None:
            return cached
        found = await self._refresh(api_version)
        if kind not in found:
            raise KindUnknown(
                f"The API server serves no kind {kind} in {api_version}.",
                path=group_version_path(api_version),
            )
        return found[kind]

    async def first_served(self, kind: ServedKind) -> Resource:
        """As `find`, but without a request for a kind that we read in one version only."""
        return resource_of(kind) if len(kind.versions) == 1 else await self.find(kind)

    async def find(self, kind: ServedKind) -> Resource:
        """The resource of `kind` in the first of our versions that the API server serves.

        Raises as `resource`.
        """
        *liked, last = kind.api_versions
        for api_version in liked:
            with suppress(KindUnknown):
                return await self.resource(api_version, kind.kind)
        return await self.resource(last, kind.kind)

    async def served_now(self, api_version: str, kind: str) -> Resource | None:
        """The resource that serves `kind` now: in this version, else in another of its group.

        The cache is not used. None: the kind is certainly not served.

        Raises KubernetesError: the request failed, or its answers prove nothing.
        """
        try:
            await self._transport.request("GET", "/readyz")
            await self._request(NODES.api_version)
        except NotFound as error:
            raise Unreachable(f"What answers is no API server: {error.message}", path=error.path) from error
        # All versions of the group, preferred first; the core group has one version and no list.
        listed: tuple[str, ...] = ()
        group, slash, _ = api_version.partition("/")
        if slash and _GROUP_VERSION.fullmatch(api_version):
            path = f"/apis/{group}"
            try:
                answer = await self._transport.request("GET", path)
                listed = tuple(one.group_version for one in _ApiGroup.model_validate_json(answer).versions)
            except KindUnknown:
                pass
            except ValidationError as error:
                raise Malformed(f"The answer for {path} is not a group.", path=path) from error
        in_motion: KindUnknown | None = None
        for version in dict.fromkeys((api_version, *listed)):
            try:
                found = await self._refresh(version)
            except KindUnknown as error:
                in_motion = error if version in listed else in_motion
                continue
            if kind in found:
                return found[kind]
        if in_motion is not None:  # a listed but missing version is being added or removed
            raise Unreachable(f"It is listed, but {in_motion.message}", path=in_motion.path) from in_motion
        return None

    def forget(self, *api_versions: str) -> None:
        """Drop the cached group versions: a CRD of theirs has changed, or a request met an unserved kind."""
        for api_version in api_versions:
            self._resources.pop(api_version, None)

    async def _refresh(self, api_version: str) -> dict[str, Resource]:
        self.forget(api_version)
        found = await self._request(api_version)
        self._resources[api_version] = found
        return found

    async def _request(self, api_version: str) -> dict[str, Resource]:
        path = group_version_path(api_version)
        if not _GROUP_VERSION.fullmatch(api_version):  # dots and slashes could change the path
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
