"""Our own rules by number; where one differs from a row of a reference, the rule holds."""

from tests.conformance.rule import Section

SECTIONS = (
    Section(
        "rule ",
        None,
        {
            "1": (
                "Each target waits by a durable timer of its own; no restart and no other target moves "
                "its deadline."
            ),
            "2": (
                "An act first reads the live target, check and template, and does nothing, with a reason,"
                " unless all is as it was judged."
            ),
            "2/preconditions": ("A delete names the uid and resourceVersion that it was decided on."),
            "3": ("Whatever is stale or unreadable holds, with a visible reason."),
            "4": (
                "The threshold is decided at the moment of acting, on numbers at most 5 s old, by the one"
                " function that status shows too."
            ),
            "5": ("A maxUnhealthy above the number of targets allows remediation."),
            "6": (
                "A blocked incident does not poll, and one Event and one change of a condition on the "
                "check report the block, for any number of targets."
            ),
            "6/writes": ("Status is written only when something published changes, at most twice a second."),
            "6/heartbeat": ("A heartbeat causes no write and no message to a workflow."),
            "7": (
                "Pause requests, an upgrade, a storm, a broken threshold or template stop new requests "
                "and next steps only."
            ),
            "7/clean-up": ("Recovered targets are cleaned up while the check is held."),
            "7/lease": ("Leases are renewed while the check is held."),
            "7/timed out": ("Requests are marked as timed out while the check is held."),
            "7/paused check": (
                "The pause annotation of a MachineHealthCheck stops clean-up too; it happens when the "
                "pause ends."
            ),
            "8": (
                "A check or template that cannot be read affects its check alone, and is reported with "
                "field and value."
            ),
            "8/node": ("A Node that cannot be read affects itself alone."),
            "8/incident": (
                "An incident that cannot be judged is held with the reason Failed; the others go on."
            ),
            "8/wire": (
                "Whatever stands in a field of an object is read, or refused by the field: no time, "
                "number or text ends a process or stops a workflow."
            ),
            "8/workflow": (
                "A Remediation that a person started by hand, without memo or with strange search "
                "attributes, stops no detector and no command."
            ),
            "8/Machine": ("A Machine that cannot be read affects itself alone."),
            "9": (
                "Name, uid and start in status are those of the request that exists, also after it was "
                "made anew."
            ),
            "10": (
                "A target that leaves the selector, or whose check is deleted, is released: request and "
                "Lease go."
            ),
            "10/at start": ("A detector that starts notices targets that were released while none ran."),
            "10/edit": (
                "An edited duration moves running deadlines, counted from the same condition time; an "
                "edited healthyDelay or step timeout counts from its own start."
            ),
            "10/steps": (
                "After an edit of the list a running step keeps its request, and the next one is of the "
                "new list."
            ),
            "11": (
                "A target that is deleted in whatever phase leaves status, Lease, metrics and workflow clean."
            ),
            "11/recreated": (
                "A target of the same name is a new one, with a new clock and a new incident; a request "
                "of the earlier one that still exists holds it."
            ),
            "12": ("A target that is unhealthy when the detector starts, or when it is created, is noticed."),
            "13": (
                "The first check that holds a target keeps it; another waits, names the holder and "
                "creates nothing."
            ),
            "13/blocked": ("A check that is itself blocked holds no target."),
            "13/overdue": (
                "A check that waits goes on when an overdue classic remediation of the other has given "
                "its Lease back, not before."
            ),
            "13/Machine": ("Machines have a Lease too, by which one check at a time holds one."),
            "14": (
                "A remediation that follows an earlier one of the same target waits none, 1, 2, 4, … "
                "minutes; targets that fail side by side do not wait."
            ),
            "14/deleted request": (
                "A request that another actor deleted while its target is unhealthy counts as an attempt."
            ),
            "14/event": ("An Event says once, for each remediation in a row, when it is due."),
            "14/limit": ("The wait has a limit, 30 minutes by default, and 0 turns back-off off."),
            "14/reset": ("A healthy period as long as the limit resets the count."),
            "14/controller": (
                "A Machine that was made after a deletion under its controller goes on with that row of "
                "waits: none, 1, 2, 4, … minutes; those that were there before do not wait."
            ),
            "15": ("An Event is emitted once per transition, over restarts too."),
            "16": "A metric series ends with its object.",
            "17": ("observedNodes and healthyNodes are true while Disabled, Paused and during an upgrade."),
            "18": (
                "Steps of one kind are tried one after the other, each with its own timeout; the order of"
                " the list changes nothing and causes no status writes."
            ),
            "18/annotation": (
                "A check with steps of one kind whose templates lack the annotation is flagged and never "
                "acts."
            ),
            "19": ("healthyDelay counts from the latest recovery; unhealthy again restarts it."),
            "20": ("A storm ends after its cooldown also when all nodes recover."),
            "20/removed": ("Without stormCooldownDuration any more, the storm conditions go."),
            "21": ("One control-plane node at a time is remediated, over all checks and kinds."),
            "22": (
                "In a classic remediation Succeeded=False is shown in status and told as a Warning, and "
                "the request stays."
            ),
            "23": ("A request older than 48 h raises the metric and carries the flag."),
            "24": ("kubectl prints Phase, Observed, Healthy, Unhealthy and Age, and Reason with -o wide."),
            "25": (
                "nodeStartupTimeout counts from status.lastUpdated, or from creation where that is unset."
            ),
            "26": ("A live read confirms that a Node is missing before its Machine is deleted."),
            "27": (
                "ExternalRemediationTemplateAvailable and ExternalRemediationRequestAvailable are really "
                "there, True when nothing is wrong, False with the reason also where only an act found "
                "it."
            ),
            "28": ("The annotation for external remediation is set, and left to its consumer to remove."),
            "29": (
                "Each unhealthy Machine is marked or gets its request, however many have one already, and"
                " without a pause between two passes."
            ),
            "30": ("HealthCheckSucceeded is True on every healthy target, with a template and without."),
            "31": ("The numbers printed in RemediationAllowed=False are those that decided."),
            "32": (
                "v1beta2 where it is served, else v1beta1; conditions in the form of that version, and "
                "its twins."
            ),
            "33": (
                "Nodes are read in the workload cluster, by the Secret <cluster>-kubeconfig; what is "
                "written is written to the management cluster."
            ),
            "33/unreachable": (
                "A workload cluster that cannot be reached holds its own checks "
                "(WorkloadClusterUnreachable), with the cause, and no others."
            ),
            "33/clocks": (
                "When it is back, the clocks of its Nodes restart; those of other clusters do not."
            ),
            "33/skew": (
                "One whose clock is over 30 s off the management cluster's holds its own checks where "
                "time decides, with the number, and no others."
            ),
            "33/restart": ("A restart of a process meanwhile changes no deadline."),
            "33/first": "A first connection restarts nothing.",
            "33/rotated": ("A Secret that is replaced is used without a restart."),
            "33/service": (
                "A server without a dot is a Service of the namespace of the Secret; its certificate has "
                "the name as written."
            ),
            "33/refused": (
                "A kubeconfig that would run a program, read a file, or trust anybody is refused, with "
                "Secret and field."
            ),
            "33/credentials": ("No credential comes into a history, a log, a message or onto a disk."),
            "33/gone": ("A Cluster that is deleted, or that no check names, is watched no longer."),
            "34": (
                "Each check is handled once in an upgrade, over restarts too; once any actor has unpaused"
                " it, it stays unpaused in that upgrade, with or without its mark."
            ),
            "35": ("The next upgrade is known by the lastTransitionTime of Progressing."),
            "36": (
                "An upgrade state that is unknown or unreadable holds new requests; without "
                "ClusterVersion there is no upgrade."
            ),
            "36/annotations": (
                "Where the state of the upgrade or the checks cannot be read no annotation is changed."
            ),
            "37": ("After an upgrade the clocks of unhealthy nodes restart from its end."),
            "37/cluster": (
                "After an upgrade of a managed cluster the clocks of its own unhealthy Machines restart, "
                "those of their Nodes among them, and no others."
            ),
            "38": ("Which conditions of which objects signal an upgrade is a setting."),
            "38/default": (
                "ClusterVersion by default, and RollingOut of KubeadmControlPlanes where "
                "MachineHealthChecks of Cluster API are handled."
            ),
            "38/cluster": (
                "A signalling object with the label cluster.x-k8s.io/cluster-name holds the checks of "
                "Cluster API that are of that Cluster in its namespace, and no others; any other holds "
                "every check."
            ),
            "38/unreadable": (
                "KubeadmControlPlanes that cannot be read hold the checks of Cluster API alone."
            ),
            "39": (
                "A request that this check owns, and a Lease in its name, are ours whichever controller "
                "made them, with start, mark and template."
            ),
            "39/escalation": (
                "An escalation that the NodeHealthCheck operator began keeps its request and takes the "
                "next step on time."
            ),
            "39/back": ("The NodeHealthCheck operator continues from the objects that Paramedic leaves."),
            "40": (
                "abort cleans up and leaves the target alone until recovery, for a time, or until resume."
            ),
            "40/exhausted": (
                "An exhausted escalation is an open incident that waits for recovery or resume, from the "
                "first step or a named one."
            ),
            "41": ("An act compares facts (uid, condition, transition), never ages."),
            "41/late": (
                "A request that appears when the time of its act is over goes within seconds where its "
                "incident is left alone or has ended."
            ),
            "42": ("The stop annotation on the Lease namespace stops every act, and the detector shows it."),
            "42/without Temporal": "The stop works while Temporal is down.",
            "43": ("No guard, limit or shadow mode is on by default: what a check allows is done."),
            "44": ("A threshold of digits without % is that number."),
            "44/duration": ("A duration that no clock can hold flags its check, with field and value."),
            "45": (
                "A missing template, or a request that cannot be created, stands on the Machine and on "
                "the check."
            ),
            "45/gates": ("A change of ControlPlaneInitialized or InfrastructureReady is noticed at once."),
            "45/counting": ("Missing infrastructure never stops the counting."),
            "46": (
                "A MachineHealthCheck of OpenShift is held by its annotation, not by the upgrade itself: "
                "one that is unpaused in mid-upgrade works at once. Until the pause has come to it (the "
                "upgrade or the detector has just begun) it is held."
            ),
            "47": ("A failed write is not remembered as written, and is tried again, visibly."),
            "47/403": ("A 403 is tried again like a fault for half a minute, then told as a missing right."),
            "48": (
                "Conditions that we write carry the observedGeneration of their object; the list has the "
                "order that Cluster API's controllers give it."
            ),
            "49": (
                "Where a limit applies, an admission carries a reservation, and is valid only for the "
                "question that asked for it; no step is taken without one."
            ),
            "49/act": ("An act refuses a step whose slot was reserved under other limits than bear now."),
            "49/versions": ("An older worker beside a newer detector holds, and so does the reverse."),
            "50": (
                "Where the uid of a workload cluster changed under the same Cluster, its checks are held,"
                " and no act is taken, until a person confirms it or the first one is back."
            ),
            "50/vanished": (
                "Where the Nodes of Machines vanish together, nothing is done to Machines of that cluster"
                " until these are back, or expected no more, or a person confirms it."
            ),
            "50/silent": (
                "For the outage guard a Node that a Machine expects, and that is gone, is silent; to "
                "delete silent Nodes ends no suspected outage."
            ),
            "50/back": (
                "No Node counts as gone before a minute has passed since the connection to its cluster "
                "changed or came back."
            ),
            "51": (
                "Where a policy is required, a missing one holds every check as PolicyUnknown: deleted, "
                "without its key, blank, and at the first start; when it is back, all goes on without a "
                "restart."
            ),
            "52": (
                "An activity changes an object that carries the name of its incident, or that the check "
                "owns, as it is read at that moment; targets are changed by `act` alone."
            ),
            "52/healthy": (
                "Whatever a foreign workflow orders, a target that its check calls healthy is not remediated."
            ),
            "53": (
                "A new check emits the Events of targets that were unhealthy before it existed; a restart"
                " repeats none."
            ),
            "55": (
                "While anything holds a check as a whole its status says so, with the reason: "
                "RemediationAllowed is False, and of a NodeHealthCheck the reason of its phase tells it."
            ),
            "56": (
                "A failure begins at its lastTransitionTime, but not before the last look that showed "
                "another status, and not after the first look that showed this one; without a time, at "
                "that look."
            ),
            "57": ("A new lastTransitionTime on the same status restarts no timer; another status does."),
            "58": (
                "Time in which no detector led, or in which the connection to a workload cluster was "
                "lost, restarts the timers of shorter durations; a shorter time changes no deadline."
            ),
            "59": (
                "While an owner works on a target, by a sign on it or on its Node, no step is taken: at "
                "most for the time that the policy sets, and not if the sign says that the work failed. "
                "The end restarts timers. A Node that is being deleted counts in no threshold."
            ),
            "60": (
                "A rollout holds neither Machines that its control plane owns nor Machines that never "
                "joined: it waits for their remediation."
            ),
            "61": (
                "Nodes and Machines with a label of members of a quorum, of a known distribution or of "
                "the policy, are remediated one at a time in each cluster, until the first is well or "
                "replaced."
            ),
            "61/owner": ("A mark takes no turn if a control plane of Cluster API owns the Machine."),
            "62": (
                "A region, a zone as the pair of region and zone, and each value of a label that the "
                "policy names, are domains: an outage of one holds its targets, and its end restarts "
                "their timers."
            ),
            "63": (
                "A Node whose Machine's provider says that the instance is gone did not vanish; a "
                "suspected loss needs three Nodes; believed losses are remembered by name."
            ),
            "64": (
                "Where a check has paramedic.dev/relapse, a failure within that time after a remediation "
                "goes on with the next step; by default it begins with the first."
            ),
            "65": ("Boot ID, machine ID and system UUID together identify a boot."),
        },
    ),
)
