from devcluster.simulation import node_api
from devcluster.simulation.machine_room import SimulatedMachine
from devcluster.simulation.node_api import GUEST
from tests.support.values.builders import NOW

NODE = node_api.node(SimulatedMachine("paramedic-demo-0a1b-1", 1, "boot"), NOW, GUEST)


def test_guest_takes_no_pods_and_no_traffic() -> None:
    assert [taint["effect"] for taint in NODE["spec"]["taints"]] == ["NoSchedule", "NoExecute"]
    assert NODE["status"]["allocatable"]["pods"] == "0"
    assert NODE["metadata"]["labels"]["kubernetes.io/os"] not in ("linux", "windows")
    assert "node.kubernetes.io/exclude-from-external-load-balancers" in NODE["metadata"]["labels"]


def test_guest_has_no_address_to_which_a_network_plug_in_could_make_a_route() -> None:
    assert [address["type"] for address in NODE["status"]["addresses"]] == ["Hostname"]


def test_guest_is_no_worker_that_checks_of_others_select() -> None:
    assert "node-role.kubernetes.io/worker" not in NODE["metadata"]["labels"]
