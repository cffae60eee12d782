"""A reflector of ConfigMaps under test."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from kube.reflector import Reflector, ReflectorSettings
from kube.transport import Transport
from tests.kube.faults.config_maps import CONFIG_MAPS, NAMESPACE, ConfigMap
from tests.kube.faults.convergence import Told


@asynccontextmanager
async def following(
    transport: Transport, settings: ReflectorSettings, label_selector: str | None = None
) -> AsyncIterator[tuple[Reflector[ConfigMap], Told]]:
    told = Told()
    reflector = Reflector(
        transport,
        CONFIG_MAPS,
        ConfigMap,
        namespace=NAMESPACE,
        label_selector=label_selector,
        notify=told.note,
        settings=lambda: settings,
    )
    running = asyncio.create_task(reflector.run())
    try:
        yield reflector, told
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
