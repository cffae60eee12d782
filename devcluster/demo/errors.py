"""How a demo can fail."""

from devcluster.errors import DevclusterError


class DemoFailedError(DevclusterError):
    """What did not happen, in one sentence."""
