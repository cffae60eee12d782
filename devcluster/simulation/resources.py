"""The kinds of the demo remediator and of the machine API, as devcluster/crds declares them."""

from kube.resource import Resource

API_VERSION = "demo.paramedic.dev/v1"
TEMPLATES = Resource(
    API_VERSION, "PowerCycleRemediationTemplate", "powercycleremediationtemplates", namespaced=True
)
REQUESTS = Resource(API_VERSION, "PowerCycleRemediation", "powercycleremediations", namespaced=True)

MACHINE_API_VERSION = "machine.openshift.io/v1beta1"
MACHINES = Resource(MACHINE_API_VERSION, "Machine", "machines", namespaced=True)
MACHINE_SETS = Resource(MACHINE_API_VERSION, "MachineSet", "machinesets", namespaced=True)
