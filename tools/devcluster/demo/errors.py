"""The errors of the demo."""

from devcluster.errors import DevclusterError


class DemoFailedError(DevclusterError):
    """An expected event did not happen; the message is one sentence."""
