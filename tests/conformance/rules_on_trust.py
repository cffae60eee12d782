"""Rules that hold also when other clients write to the cluster and to Temporal."""

from tests.conformance.rule import Section

TRUST = Section(
    "rule ",
    "Trust",
    {
        "50": (
            "Where the uid of a workload cluster changed under the same Cluster, its checks are held, and no "
            "act is taken, until a person confirms it or the first one is back."
        ),
        "50/vanished": (
            "Where the Nodes of Machines vanish together, nothing is done to Machines of that cluster until "
            "these are back, or expected no more, or a person confirms it."
        ),
        "50/silent": (
            "For the outage guard a Node that a Machine expects, and that is gone, is silent; to delete "
            "silent Nodes ends no suspected outage."
        ),
        "50/back": (
            "No Node counts as gone before a minute has passed since the connection to its cluster changed "
            "or came back."
        ),
        "51": (
            "Where a policy is required, a missing one holds every check as PolicyUnknown: deleted, without "
            "its key, blank, and at the first start; when it is back, all goes on without a restart."
        ),
        "52": (
            "An activity changes an object that carries the name of its incident, or that the check owns, as "
            "it is read at that moment; targets are changed by `act` alone."
        ),
        "52/healthy": (
            "Whatever a foreign workflow orders, a target that its check calls healthy is not remediated."
        ),
        "53": (
            "A new check emits the Events of targets that were unhealthy before it existed; a restart "
            "repeats none."
        ),
        "55": (
            "While anything holds a check as a whole its status says so, with the reason: RemediationAllowed "
            "is False, and of a NodeHealthCheck the reason of its phase tells it."
        ),
    },
)

SECTIONS = (TRUST,)
