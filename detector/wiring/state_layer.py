"""The first layer: the state of the cluster, and what every other layer reads."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from detector.feeds.feed_handlers import FeedHandlers
from detector.feeds.policy_feed import PolicyFeed, PolicyWatch
from detector.feeds.remediation_kinds import RemediationKinds
from detector.state.cluster_state import ClusterState
from health.policy.policy import CurrentPolicy
from kube.leader import Leadership, LeaderTerm
from runtime.connections import Connections
from runtime.guard import Guard
from runtime.settings import Settings


@dataclass(frozen=True, kw_only=True)
class StateLayer:
    """The cluster state, the policy and the leadership of one detector."""

    settings: Settings
    connections: Connections
    leadership: Leadership
    term: LeaderTerm
    handlers: FeedHandlers
    policy: PolicyFeed
    kinds: RemediationKinds
    cluster_state: ClusterState

    @property
    def now(self) -> Callable[[], datetime]:
        """The clock for deadlines and for the times of observations."""
        return self.connections.management.server_clock.now


def state_layer(settings: Settings, connections: Connections, defaults: CurrentPolicy) -> StateLayer:
    """Make the state; `defaults` is the policy without a ConfigMap."""
    leadership, handlers = Leadership(), FeedHandlers()
    watch = PolicyWatch(
        connections.management.transport,
        settings.namespace,
        defaults,
        handlers.context_changed,
        is_required=settings.requires_policy,
    )
    policy = PolicyFeed(defaults=defaults, watch=watch)
    kinds = RemediationKinds(connections.management, policy.reflectors)
    return StateLayer(
        settings=settings,
        connections=connections,
        leadership=leadership,
        term=LeaderTerm(leadership, connections.management.server_clock.now),
        handlers=handlers,
        policy=policy,
        kinds=kinds,
        cluster_state=ClusterState(
            connections.cluster,
            Guard(connections.metrics),
            kinds.template_kind,
            removes_confirmations=settings.confirmations == "remove",
        ),
    )
