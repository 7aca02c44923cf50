// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command servers runs the servers of a Kubernetes cluster: its first argument is the name of the server, the others are that server's own.
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "etcd" {
		etcdmain.Main(os.Args[1:])
		return
	}
	servers := map[string]func() *cobra.Command{
		"kube-apiserver":          apiserver.NewAPIServerCommand,
		"kube-controller-manager": controllermanager.NewControllerManagerCommand,
		"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
		"kubelet":                 func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
	}
	if len(os.Args) < 2 || servers[os.Args[1]] == nil {
		fmt.Fprintf(os.Stderr, "servers: want etcd or one of %s\n", strings.Join(slices.Sorted(maps.Keys(servers)), ", "))
		os.Exit(2)
	}
	command := servers[os.Args[1]]()
	command.SetArgs(os.Args[2:])
	os.Exit(cli.Run(command))
}
