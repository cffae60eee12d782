"""The children of one `paramedic dev`, in the order of their start; they end in the opposite order."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from types import TracebackType
from typing import Self

from devcluster import polling
from devcluster.errors import HopelessError
from devcluster.keeper import Keeper, Program


def _nobody_asks() -> None:
    pass


class Supervisor:
    """Starts programs, keeps them running, and ends all of them when its `async with` block is left.

    `changed` is called each time a program runs under a new pid.
    """

    def __init__(self, changed: Callable[[], None] = _nobody_asks) -> None:
        self._changed = changed
        self._keepers: dict[str, Keeper] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for name in reversed(list(self._keepers)):
            await self.stop(name)

    @property
    def pids(self) -> Mapping[str, int]:
        """The processes that run now, by name of their program."""
        return {name: keeper.pid for name, keeper in self._keepers.items() if keeper.pid is not None}

    async def start(self, program: Program) -> None:
        """Start `program` and keep it running."""
        keeper = self._keepers[program.name] = Keeper(program, self._changed)
        await keeper.start()

    def require_hope(self) -> None:
        """Raise HopelessError when a program died so often in a row that waiting is of no use."""
        for keeper in self._keepers.values():
            if keeper.despair:
                raise HopelessError(keeper.despair)

    async def until(self, true: Callable[[], Awaitable[bool]], *, within: timedelta, otherwise: str) -> None:
        """Wait for something that the programs do, as `polling.until`, but not where there is no hope.

        Raises NotReadyError and HopelessError.
        """

        async def hoped_for() -> bool:
            self.require_hope()
            return await true()

        await polling.until(hoped_for, within=within, otherwise=otherwise)

    async def stop(self, name: str) -> None:
        """End the program `name`; returns when it is gone."""
        await self._keepers.pop(name).stop()
