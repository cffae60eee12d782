"""The children of one `paramedic dev`, in the order of their start; they end in the opposite order."""

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

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

    async def stop(self, name: str) -> None:
        """End the program `name`; returns when it is gone."""
        await self._keepers.pop(name).stop()
