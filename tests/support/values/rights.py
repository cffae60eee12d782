"""The rights of an installation that has everything."""

from collections.abc import Iterator

from health.kinds.registry import CHECK_KINDS
from health.kinds.right import Right
from runtime.rights import ETCD, granted_by, needs, needs_for_evidence, needs_for_upgrade_pause
from runtime.settings import Settings


def everything() -> Settings:
    """The settings of an installation that handles all kinds and serves the webhook."""
    return Settings(cluster="any", check_kinds=tuple(CHECK_KINDS.values()), webhook_address=":9443")


def of_installations() -> Iterator[Right]:
    """All rights of our roles in such an installation."""
    yield from needs(everything())
    yield from needs_for_upgrade_pause()
    yield from granted_by(ETCD)
    yield from needs_for_evidence(everything())
