"""HeldNodes: signs that a Node is under maintenance and must not be remediated.

Off by default: draining cordons a Node, and so do autoscalers and some remediators. A remediation in
progress goes on. The Node Maintenance Operator holds the Lease of a Node instead, which always holds and
needs no setting (rule 13).
"""

from typing import Annotated

from pydantic import AfterValidator, ConfigDict, StrictBool, StrictStr
from pydantic.alias_generators import to_camel

from health.model.node import NodeSpec
from health.policy.limits import is_qualified_name
from objects.bounds import Bounded


def _taint_key(key: str) -> str:
    """`key`, if a taint may have it; no Node matches `key:NoSchedule` or `key=value`."""
    if not is_qualified_name(key):
        raise ValueError(f"{key!r} is not the key of a taint")
    return key


class HeldNodes(Bounded):
    """The signs that hold a Node, as the policy sets them."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    cordoned: StrictBool = False
    tainted: tuple[Annotated[StrictStr, AfterValidator(_taint_key)], ...] = ()
    """Keys of taints."""

    def why(self, node: NodeSpec) -> str:
        """The sign that a Node is under maintenance; "" without one."""
        if self.cordoned and node.unschedulable:
            return "it is cordoned"
        key = next((key for key in self.tainted if key in node.taints), None)
        return "" if key is None else f"it has the taint {key}"


NO_NODES = HeldNodes()
