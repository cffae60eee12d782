"""The resources that tools/devcluster/crds and deploy/ declare: demo remediator, machine API, checks."""

from kube.resource import Resource

NODE_HEALTH_CHECKS = Resource(
    "remediation.medik8s.io/v1alpha1", "NodeHealthCheck", "nodehealthchecks", namespaced=False
)

API_VERSION = "demo.paramedic.dev/v1"
TEMPLATES = Resource(
    API_VERSION, "PowerCycleRemediationTemplate", "powercycleremediationtemplates", namespaced=True
)
REQUESTS = Resource(API_VERSION, "PowerCycleRemediation", "powercycleremediations", namespaced=True)

MACHINE_API_VERSION = "machine.openshift.io/v1beta1"
MACHINES = Resource(MACHINE_API_VERSION, "Machine", "machines", namespaced=True)
MACHINE_SETS = Resource(MACHINE_API_VERSION, "MachineSet", "machinesets", namespaced=True)
DEFINITIONS = Resource(
    "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
