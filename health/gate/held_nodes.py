"""HeldNodes: by what people and controllers say that a Node is being worked on, and is to be left alone.

Off by default: whoever drains a Node cordons it, and so do autoscalers and some remediators. A remediation
that is under way goes on. The Lease of a Node, by which the Node Maintenance Operator says the same, needs no
choice: whoever holds it is left alone (rule 13).
"""

from typing import Annotated

from pydantic import AfterValidator, ConfigDict, StrictBool, StrictStr
from pydantic.alias_generators import to_camel

from health.gate.limits import is_qualified_name
from health.model.node import NodeSpec
from objects.bounds import Bounded


def _taint_key(key: str) -> str:
    """`key`, if a taint may have it; no Node matches `key:NoSchedule` or `key=value`."""
    if not is_qualified_name(key):
        raise ValueError(f"{key!r} is no key of a taint")
    return key


class HeldNodes(Bounded):
    """Which Nodes are held."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    cordoned: StrictBool = False
    tainted: tuple[Annotated[StrictStr, AfterValidator(_taint_key)], ...] = ()
    """The keys of taints."""

    def why(self, node: NodeSpec) -> str:
        """What says that a Node is being worked on; "" where nothing does."""
        if self.cordoned and node.unschedulable:
            return "it is cordoned"
        key = next((key for key in self.tainted if key in node.taints), None)
        return "" if key is None else f"it has the taint {key}"


NO_NODES = HeldNodes()
