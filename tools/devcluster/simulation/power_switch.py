"""PowerSwitch: switches simulated machines through the control socket, for remediator and provider."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from devcluster.simulation.control_socket import send_request


@dataclass(frozen=True)
class PowerSwitch:
    """Switches simulated machines on and off; every method raises SimulationError."""

    control: Path

    async def boot_ids(self) -> Mapping[str, str]:
        """The present boot ID of each machine, by the name of its node."""
        answer = await send_request(self.control, {"list": True})
        return {node["name"]: node["boot_id"] for node in answer["nodes"]}

    async def add(self, node: str) -> None:
        """Add a machine whose Node is called `node`; without effect if it exists."""
        await send_request(self.control, {"add": node})

    async def remove(self, node: str) -> None:
        """Remove an added machine; without effect if it is gone."""
        await send_request(self.control, {"remove": node})

    async def power_cycle(self, node: str, power_off: timedelta) -> None:
        """Switch the machine of that node off and on; returns once it runs again."""
        await send_request(
            self.control, {"power_cycle": node, "power_off_seconds": power_off.total_seconds()}
        )
