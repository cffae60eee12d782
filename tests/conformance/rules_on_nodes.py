"""Rules 17 to 24 and 36 to 44, as far as they are about NodeHealthChecks."""

from tests.conformance.rule import Section

NODES = Section(
    "rule ",
    "Rules 17 to 24: NodeHealthCheck",
    {
        "17": "observedNodes and healthyNodes are true while Disabled, Paused and during an upgrade.",
        "18": (
            "Steps of one kind are tried one after the other, each with its own timeout; the order of the "
            "list changes nothing and causes no status writes."
        ),
        "18/annotation": (
            "A check with steps of one kind whose templates lack the annotation is flagged and never acts."
        ),
        "19": "healthyDelay counts from the latest recovery; unhealthy again restarts it.",
        "20": "A storm ends after its cooldown also when all nodes recover.",
        "20/removed": "Without stormCooldownDuration any more, the storm conditions go.",
        "21": "One control-plane node at a time is remediated, over all checks and kinds.",
        "22": (
            "In a classic remediation Succeeded=False is shown in status and told as a Warning, and the "
            "request stays."
        ),
        "23": "A request older than 48 h raises the metric and carries the flag.",
        "24": "kubectl prints Phase, Observed, Healthy, Unhealthy and Age, and Reason with -o wide.",
    },
)

UPGRADES = Section(
    "rule ",
    "Rules 36 to 38: upgrades",
    {
        "36": (
            "An upgrade state that is unknown or unreadable holds new requests; without ClusterVersion "
            "there is no upgrade."
        ),
        "37": "After an upgrade the clocks of unhealthy nodes restart from its end.",
        "37/cluster": (
            "After an upgrade of a managed cluster the clocks of its own unhealthy Machines restart, those "
            "of their Nodes among them, and no others."
        ),
        "38": "Which conditions of which objects signal an upgrade is a setting.",
        "38/default": (
            "ClusterVersion by default, and RollingOut of KubeadmControlPlanes where MachineHealthChecks of "
            "Cluster API are handled."
        ),
        "38/cluster": (
            "A signalling object with the label cluster.x-k8s.io/cluster-name holds the checks of Cluster "
            "API that are of that Cluster in its namespace, and no others; any other holds every check."
        ),
        "38/unreadable": ("KubeadmControlPlanes that cannot be read hold the checks of Cluster API alone."),
    },
)

PEOPLE = Section(
    "rule ",
    "Rules 39 to 44: taking over, people, values",
    {
        "39": (
            "A request that this check owns, and a Lease in its name, are ours whichever controller made "
            "them, with start, mark and template."
        ),
        "39/escalation": (
            "An escalation that the NodeHealthCheck operator began keeps its request and takes the next step "
            "on time."
        ),
        "39/back": "The NodeHealthCheck operator continues from the objects that Paramedic leaves.",
        "40": "abort cleans up and leaves the target alone until recovery, for a time, or until resume.",
        "40/exhausted": (
            "An exhausted escalation is an open incident that waits for recovery or resume, from the "
            "first step or a named one."
        ),
        "41": "An act compares facts (uid, condition, transition), never ages.",
        "41/late": (
            "A request that appears when the time of its act is over goes within seconds where its incident "
            "is left alone or has ended."
        ),
        "42": "The stop annotation on the Lease namespace stops every act, and the detector shows it.",
        "42/without Temporal": "The stop works while Temporal is down.",
        "43": "No guard, limit or shadow mode is on by default: what a check allows is done.",
        "44": "A threshold of digits without % is that number.",
        "44/duration": "A duration that no clock can hold flags its check, with field and value.",
        "47": "A failed write is not remembered as written, and is tried again, visibly.",
        "47/403": "A 403 is tried again like a fault for half a minute, then told as a missing right.",
    },
)

SECTIONS = (NODES, UPGRADES, PEOPLE)
