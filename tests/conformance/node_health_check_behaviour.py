"""NHC 2: how a NodeHealthCheck detects, remediates and cleans up."""

from tests.conformance.rule import Section

SECTIONS = (
    Section(
        "NHC 2.0/",
        "reacts at once to checks, Nodes, requests and templates, and to no heartbeat",
        {
            "check": ("A check that is created, deleted or edited."),
            "node conditions": ("A Node condition whose status changes, appears or goes."),
            "node exclude label": ("An exclude label that is added, removed or changed."),
            "node selector label": ("A label that brings a Node into a selector or out of it."),
            "node confirmed healthy": ("A manually-confirmed-healthy annotation that is added or removed."),
            "node heartbeat": ("A heartbeat, or another reason or message of a condition, is no change."),
            "node deleted": "A Node that is deleted.",
            "request": (
                "A request that changes or is deleted, of kinds too that became known after the start."
            ),
            "template": ("A template that changes, goes or comes back."),
            "MachineHealthChecks": ("A conflict with MachineHealthChecks that begins or ends."),
            "deadline": (
                "Each wait ends by itself at its own deadline, and a failed attempt is repeated with "
                "back-off."
            ),
        },
    ),
    Section(
        "NHC 2.1/",
        "judges a check in the operator's order: templates, upgrade, pause, threshold, nodes",
        {
            "1": ("A check that is gone is not judged any more, and its open incidents end."),
            "2": ("The namespace of the Leases is created if it is missing."),
            "3": ("Status is published after every judgement, whatever its result."),
            "4": (
                "A MachineHealthCheck other than a single one for the condition Terminating disables all "
                "checks, and with that single one Nodes that are terminating count as healthy."
            ),
            "5": (
                "A template that is missing, has no contents, or is a Metal3 one elsewhere disables the "
                "check; of an escalation the first bad one counts, and one that is back is noticed within"
                " seconds."
            ),
            "6": ("A check whose trouble is over is enabled again."),
            "7": ("Requests of every kind that a template makes are watched."),
            "8": ("The nodes of a check are those that its selector matches now."),
            "9": (
                "A condition that the node has expires strictly after its duration; one expired condition"
                " makes a node unhealthy, else the earliest deadline runs."
            ),
            "10": (
                "On OpenShift an upgrade, by a ClusterVersion that progresses or by a MachineConfig of an"
                " unhealthy node that changes, holds new requests; elsewhere there is none."
            ),
            "11": "Pause requests hold new requests.",
            "12": ("A request whose node is not selected any more is deleted and its Lease released."),
            "12/PermanentNodeDeletionExpected": (
                "A request that expects the deletion of its node is kept until it reports Succeeded=True."
            ),
            "13": (
                "The requests of a healthy node are deleted, and it counts as healthy when all are really"
                " gone."
            ),
            "13/timer runs": ("A node on which only a timer runs keeps its requests."),
            "14": ("Numbers count all selected nodes, whatever their state."),
            "15": ("Fewer healthy nodes than required hold new requests."),
            "16": ("Storm recovery is judged after the threshold, and also while no node is unhealthy."),
            "17": (
                "Each unhealthy node is listed, and is remediated unless the check holds or its label "
                "excludes it."
            ),
            "17/48 h": ("A request older than 48 h is flagged and counted once."),
        },
    ),
    Section(
        "NHC 2.2/",
        "allows new requests while enough selected nodes are healthy",
        {
            "minHealthy": (
                "minHealthy requires that number of healthy nodes, or that share of the total, rounded up."
            ),
            "maxUnhealthy": (
                "maxUnhealthy requires the total less that number, or less that share of the total, "
                "rounded up."
            ),
            "boundary": ("Exactly as many healthy nodes as required are enough."),
            "unusable": (
                "A stored check with both thresholds, none, or a negative one is Disabled and never acts."
            ),
            "timer runs": ("A node on which a timer runs does not count as healthy."),
            "request left": ("A recovered node whose request still exists does not count as healthy."),
            "concurrency": ("The threshold is no limit on how many nodes are remediated at once."),
            "existing requests": ("Requests that exist are not deleted when the threshold breaks."),
        },
    ),
    Section(
        "NHC 2.3/",
        "begins a storm when the threshold breaks, and ends it after a cooldown",
        {
            "1": ("No storm, threshold holds: new requests are allowed."),
            "2": (
                "No storm, threshold breaks: the storm begins, with a cleared cooldown, and nothing new "
                "is allowed."
            ),
            "3": (
                "Storm, threshold broken: it goes on; a cooldown that ran is cleared and starts again later."
            ),
            "4": ("Storm, threshold holds again: the cooldown begins, and nothing new is allowed."),
            "5": ("Cooldown not over: nothing new is allowed until it is."),
            "6": ("Cooldown over: the storm ends, and requests are allowed at once."),
            "conditions": (
                "Both conditions appear with the first storm, not before, and never without "
                "stormCooldownDuration."
            ),
            "clean-up": ("Requests of recovered nodes are deleted during a storm, and others stay."),
        },
    ),
    Section(
        "NHC 2.4/",
        "takes each step once, in order, and adopts an existing request",
        {
            "1": (
                "A control-plane node waits while there is a request for another one; its own request "
                "does not stop it."
            ),
            "1/etcd": (
                "On OpenShift a control-plane node waits unless the one etcd budget allows a disruption, "
                "or its own guard Pod is not ready or not there; elsewhere no budget is asked."
            ),
            "2": ("An escalation takes its templates in ascending order, each once."),
            "2/none left": (
                "With no template left nothing more is tried, and the requests stay until the node is "
                "healthy."
            ),
            "3": (
                "The request has the template's apiVersion, namespace and contents, and its kind without "
                "the ending Template."
            ),
            "3/name": (
                "The request has the name of its node, or one that begins with it where a template allows"
                " several."
            ),
            "3/owners": (
                "The check owns the request, not as its controller; the Node's Machine does too, in the "
                "same namespace."
            ),
            "4": (
                "A request for the node that exists, even one being deleted, is adopted if this check "
                "owns it."
            ),
            "4/foreign": ("A request of another owner is left to it, and no second one is made."),
            "5": ("A created request is in status, in the gauge and in an Event."),
            "6": ("A request that exists is in status also when an earlier status write was lost."),
            "6/timeout": (
                "A step that took longer than its timeout, the last one too, is marked as timed out, and "
                "the next one begins."
            ),
            "6/failed": (
                "A step that reports Succeeded=False is marked as timed out at once, and the next one begins."
            ),
            "6/succeeded": ("A step that timed out after Succeeded=True moves on without the annotation."),
            "6/kept": ("The request of an earlier step stays until the node is healthy."),
        },
    ),
    Section(
        "NHC 2.5/",
        "acquires, renews, respects and releases the Lease of the node",
        {
            "durations": (
                "A Lease is taken for 10 minutes in a classic remediation, else for the timeout of the step."
            ),
            "obtain/missing": "A Lease that is missing is created.",
            "obtain/ours": (
                "A Lease that is ours is renewed if it would end too early, and keeps its time of "
                "acquisition."
            ),
            "obtain/foreign": (
                "A Lease that another holds is respected to its last moment, and no request is created "
                "meanwhile."
            ),
            "obtain/expired": (
                "A Lease that has ended is taken over: acquired now, with one transition more."
            ),
            "manage/renew": ("While the request exists, the Lease is renewed before it would end."),
            "manage/not ours": ("A Lease that is gone or foreign is neither renewed nor made anew."),
            "overdue": (
                "After three durations and the timeouts of the steps before, the Lease is given back and "
                "the request marked as timed out, unless it reports Succeeded=True; in a classic "
                "remediation nothing follows."
            ),
            "release": ("The Lease is given back when the last request is gone."),
        },
    ),
    Section(
        "NHC 2.6/",
        "keeps a request for the delay after a recovery, or until a person confirms",
        {
            "none": (
                "Without a delay, or with one of zero, requests are deleted at once after the recovery."
            ),
            "negative": ("With a negative delay requests are never deleted by themselves."),
            "positive": (
                "With a positive delay each request is stamped, and deleted when the delay is over."
            ),
            "edited": ("An edit of the delay takes effect on one that runs."),
            "unreadable": ("A stamp that cannot be read does not keep a request."),
            "confirmed": (
                "manually-confirmed-healthy ends any delay; it is removed when the requests are gone, and"
                " only then the Lease and the entry in status."
            ),
        },
    ),
    Section(
        "NHC 2.7/",
        "cleans up after a deleted node or check, and obeys edits at once",
        {
            "node deleted": (
                "The request of a deleted node is deleted, its Lease released, its entry dropped."
            ),
            "entry without request": ("The entry of a deleted node without a request is dropped."),
            "node recreated": ("A node that comes back under its name is judged as a new one."),
            "check deleted": (
                "The webhook, where it is installed, refuses to delete a check with a request."
            ),
            "check deleted by force": (
                "A check that is gone all the same leaves neither request nor Lease behind."
            ),
            "check edited": ("An edit of an allowed field takes effect at once."),
            "template deleted": (
                "A template that is deleted during a remediation disables the check until it is back."
            ),
            "template edited": ("Edited contents of a template are used for new requests only."),
            "finalizer": (
                "A request that a finalizer keeps counts until it is gone; the next control-plane node waits."
            ),
            "Succeeded": (
                "A node that stays unhealthy after Succeeded=True is treated as before; its step still "
                "times out."
            ),
            "restart": "A restart of any process loses nothing.",
        },
    ),
    Section(
        "NHC 2.8/",
        "lets one check at a time remediate a node",
        {
            "same template": ("The second check creates nothing, and lists the node without a request."),
            "other kind": ("The Lease holds the second check, which reports the hold."),
            "deletion": ("Each check deletes the requests that it owns, and no other."),
            "overdue": ("When the Lease of the first is overdue, the second goes on with its own template."),
            "thresholds": ("Each check has its own numbers and its own threshold."),
        },
    ),
)
