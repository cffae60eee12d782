"""What may be asked of the simulated kubelets: one JSON object on one line, answered by one such line.

| request | answer |
|---|---|
| `{"stop": "node-3"}` | `{"node": {...}}`: it renews nothing any more, as a machine that hangs |
| `{"start": "node-3"}` | `{"node": {...}}`: it goes on, same boot |
| `{"power_cycle": "node-3", "power_off_seconds": 2}` | `{"node": {...}}`, once it runs, on a new boot ID |
| `{"add": "node-x"}` | `{"node": {...}}`: another machine, just booted, unless it is there |
| `{"remove": "node-x"}` | `{"removed": "node-x"}`: a machine that was added is there no more |
| `{"list": true}` | `{"nodes": [{"name": ..., "boot_id": ..., "state": ...}, ...]}` |

Anything else is answered by `{"error": "<field>: <what is wrong with it>, got <value>"}`.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from devcluster.simulation.errors import BadRequestError

LONGEST_POWER_OFF_SECONDS = 3600

NodeName = Annotated[str, Field(min_length=1)]


class Request(BaseModel):
    """A request, unchangeable and without fields we do not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Stop(Request):
    """Stop a kubelet, as if its machine hung."""

    stop: NodeName


class Start(Request):
    """Start a kubelet on the same boot of its machine."""

    start: NodeName


class PowerCycle(Request):
    """Switch a machine off and, after a while, on again."""

    power_cycle: NodeName
    power_off_seconds: float = Field(default=2, ge=0, le=LONGEST_POWER_OFF_SECONDS)


class Add(Request):
    """Add a machine that is switched on, with a Node of this name."""

    add: NodeName


class Remove(Request):
    """Take away a machine that was added; its Node is left to whoever asks."""

    remove: NodeName


class ListNodes(Request):
    """Tell the state of every machine."""

    list: Literal[True]


AnyRequest = Stop | Start | PowerCycle | Add | Remove | ListNodes
KINDS: dict[str, type[AnyRequest]] = {
    "stop": Stop,
    "start": Start,
    "power_cycle": PowerCycle,
    "add": Add,
    "remove": Remove,
    "list": ListNodes,
}


def parse(fields: Any) -> AnyRequest:  # noqa: ANN401  whatever JSON a client sent
    """Read a request from decoded JSON; raises BadRequestError with the field and its value."""
    if not isinstance(fields, dict):
        raise BadRequestError(f"request: must be a JSON object, got {fields!r}")
    kinds = [kind for name, kind in KINDS.items() if name in fields]
    if len(kinds) != 1:
        raise BadRequestError(f"request: must have exactly one of {', '.join(KINDS)}, got {fields!r}")
    try:
        return kinds[0].model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise BadRequestError(f"{field}: {first['msg']}, got {first['input']!r}") from error
