"""Which path serves a kind: asked of the API server, because plurals cannot be guessed."""

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, ValidationError

from kube.errors import KindUnknown, Malformed
from kube.resource import Resource, group_version_path
from kube.transport import Transport


@dataclass(frozen=True)
class KindName:
    """A kind of which it is not known which path serves it."""

    api_version: str
    kind: str

    @property
    def full_name(self) -> str:
        """As of Resource; the plural is yet to be found: "ClusterVersion (config.openshift.io/v1)"."""
        return f"{self.kind} ({self.api_version})"


class _ApiResource(BaseModel):
    model_config = ConfigDict(frozen=True)

    name: str
    kind: str
    namespaced: bool


class _ApiResourceList(BaseModel):
    model_config = ConfigDict(frozen=True)

    resources: tuple[_ApiResource, ...] = ()


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
        found = await self._ask(api_version)
        if kind not in found:
            raise KindUnknown(
                f"The API server serves no kind {kind} in {api_version}.",
                path=group_version_path(api_version),
            )
        self._known[api_version] = found
        return found[kind]

    def forget(self, api_version: str) -> None:
        """Ask anew next time: a CRD of this group version has changed."""
        self._known.pop(api_version, None)

    async def _ask(self, api_version: str) -> dict[str, Resource]:
        path = group_version_path(api_version)
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
