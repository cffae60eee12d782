"""The threshold of a NodeHealthCheck: how many Nodes must be healthy before anything is done.

Rounding is the operator's (NHC 2.2, rules 4, 5 and 44): with T Nodes, minHealthy p% asks for ceil(p*T/100)
healthy ones, maxUnhealthy p% for T - ceil(p*T/100); remediation is allowed at the threshold. An integer above
T allows always.
"""

from health.gate.threshold import Allowance, IntOrPercent
from objects.frozen import Frozen


class Threshold(Frozen):
    """Exactly one of the two amounts is set."""

    min_healthy: IntOrPercent | None = None
    max_unhealthy: IntOrPercent | None = None

    def required(self, total: int) -> int:
        """How many of `total` targets must be healthy."""
        if self.min_healthy is not None:
            return self.min_healthy.of(total)
        if self.max_unhealthy is not None:
            return max(0, total - self.max_unhealthy.of(total))
        # Fail closed: a threshold that says nothing allows nothing but remediation of nobody.
        return total

    def allowance(self, *, total: int, healthy: int) -> Allowance:
        """Whether remediation is allowed while `healthy` of `total` targets are healthy."""
        return Allowance.of_required(self.required(total), total=total, healthy=healthy)
