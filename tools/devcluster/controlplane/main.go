// Package main links etcd, kube-apiserver and kube-controller-manager of Kubernetes into one binary.
//
// No package registry offers these servers as binaries, but all of them are Go modules. The
// sub-commands are named as the originals and take their flags, so that whoever starts them need not
// care whether this binary or the original is behind the name:
//
//	controlplane etcd --data-dir=DIR --listen-client-urls=URL ...
//	controlplane kube-apiserver --etcd-servers=URL ...
//	controlplane kube-controller-manager --kubeconfig=FILE ...
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func main() {
	name := ""
	if len(os.Args) > 1 {
		name = os.Args[1]
	}
	switch name {
	case "etcd":
		etcdmain.Main(os.Args[1:])
	case "kube-apiserver":
		run(apiserver.NewAPIServerCommand())
	case "kube-controller-manager":
		run(manager.NewControllerManagerCommand())
	default:
		fmt.Fprintln(os.Stderr, "usage: controlplane {etcd|kube-apiserver|kube-controller-manager} [flags]")
		os.Exit(2)
	}
}

// run ends the process with the exit code of the command.
func run(command *cobra.Command) {
	command.SetArgs(os.Args[2:])
	os.Exit(cli.Run(command))
}
