"""MHC C.2: how MachineHealthChecks of OpenShift are paused while the cluster is upgraded."""

from tests.conformance.rule import Section

PAUSE = Section(
    "MHC C.2/",
    "MHC C.2: pause and unpause for an upgrade",
    {
        "begin": (
            "Once ClusterVersion says Progressing=True, each check that is not paused gets "
            "cluster.x-k8s.io/paused and machine.openshift.io/paused-for-upgrade in one patch, if it is "
            "still as it was seen."
        ),
        "found paused": "A check that another actor paused is not touched, in the upgrade and after it.",
        "created": "A check created during the upgrade is paused too.",
        "unpaused": "A check that another actor unpauses during the upgrade is not paused again in it.",
        "end": "Once it says False, both annotations go, in one patch, from exactly those that are marked.",
        "left mark": "A mark alone is removed after the upgrade: the next one pauses the check again.",
        "unknown": "While it is unknown whether there is an upgrade, no annotation changes.",
        "restart": (
            "Both annotations suffice without any memory: a marked pause is ours, and a mark alone is on a "
            "check that another actor unpaused."
        ),
        "end over which nothing ran": "An end that was not seen is made up for at the next look.",
        "end and begin over which nothing ran": (
            "A check that was unpaused in an upgrade whose end was not observed is paused in the next one."
        ),
        "paused by several": (
            "A pause by another actor on a check that we paused, or marked before, looks like ours: it is "
            "unpaused."
        ),
        "termination handler": "Each check of that API is paused, independent of its owner and purpose.",
        "stuck": "Checks stay paused in an upgrade that does not end; after six hours one Event reports it.",
        "re-targeted": "An upgrade that is given another version is the same one.",
        "quickly": "An upgrade that ends and begins again unpauses checks, and pauses them again.",
        "in flight": (
            "Requests of a paused check stay as they are; they are cleaned up or go on when the pause ends."
        ),
        "begun before us": "An upgrade that was under way when Paramedic began is paused from then on.",
        "paused pools": (
            "A MachineConfigPool that reboots its nodes after the upgrade holds each node whose "
            "configuration is being changed."
        ),
        "clocks": "Targets that are unhealthy at the end of the upgrade have their full time from there.",
        "deleting": "A check that is being deleted is not patched.",
        "gone": "A check that vanishes before its patch is no failure.",
    },
)

RULES = Section(
    "rule ",
    "Rules 34 to 36, 46: the memory of an upgrade pause",
    {
        "34": (
            "Each check is handled once in an upgrade, over restarts too; once any actor has unpaused it, it "
            "stays unpaused in that upgrade, with or without its mark."
        ),
        "35": "The next upgrade is known by the lastTransitionTime of Progressing.",
        "36/annotations": (
            "Where the state of the upgrade or the checks cannot be read no annotation is changed."
        ),
        "46": (
            "A MachineHealthCheck of OpenShift is held by its annotation, not by the upgrade itself: one "
            "that is unpaused in mid-upgrade works at once. Until the pause has come to it (the upgrade or "
            "the detector has just begun) it is held."
        ),
    },
)

SECTIONS = (PAUSE, RULES)
