"""RealCluster: ConfigMaps of one test on a real API server, changed on the direct way."""

from kube.client import Client
from kube.errors import AlreadyExists
from tests.kube.faults.config_maps import CONFIG_MAPS, NAMESPACE, Contents, body

LABEL = "tests.kube.faults"


class RealCluster:
    """The ConfigMaps with the label of one test."""

    def __init__(self, client: Client, name: str) -> None:
        self._client = client
        self._name = name
        self.selector = f"{LABEL}={name}"

    async def put(self, name: str, size: int) -> None:
        wanted = body(f"{self._name}-{name}", size, labels={LABEL: self._name})
        try:
            await self._client.create(CONFIG_MAPS, wanted, NAMESPACE)
        except AlreadyExists:
            await self._client.merge_patch(CONFIG_MAPS, wanted["metadata"]["name"], wanted, NAMESPACE)

    async def delete(self, name: str) -> None:
        await self._client.delete(CONFIG_MAPS, f"{self._name}-{name}", NAMESPACE)

    async def contents(self) -> Contents:
        found = await self._client.list(CONFIG_MAPS, NAMESPACE, self.selector)
        return {item["metadata"]["name"]: (item["metadata"]["uid"], item["data"]["size"]) for item in found}

    async def remove(self) -> None:
        for name in await self.contents():
            await self._client.delete(CONFIG_MAPS, name, NAMESPACE)
