// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package checkup is the command check, which verifies with a temporary object that the controllers of a server reconcile.
package checkup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/heartbeat"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
)

const (
	name         = "bowline-check" // of the object: the next check removes what a killed one left
	interval     = 250 * time.Millisecond
	removalLimit = 10 * time.Second
)

// New returns the command.
func New(std command.Streams, folder *datadir.Flag) *cobra.Command {
	access := datadir.Access{InPod: true}
	var namespace string
	limit := time.Minute
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check that the controllers reconcile",
		Long: `Checks a whole installation, for example after an update: creates a KubernetesTarget that refers to nothing, waits until the
controllers have reported that in its condition Ready, and deletes it. Nothing outside the API server is touched.

The exit code is 1 if that does not happen in time. In a pod without a kubeconfig, its service account is used; it needs the rights to get,
create and delete kubernetestargets.workload.crossplane.io in the namespace.`,
		Example: `  bowline check
  bowline check --kubeconfig ~/.kube/config --namespace bowline-system --timeout 2m`,
		Args: command.NoArgs,
	}
	access.AddFlags(cmd.Flags())
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "", "namespace of the object (default: that of the kubeconfig)")
	cmd.Flags().DurationVar(&limit, "timeout", limit, "how long the controllers may take")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if limit <= 0 {
			return command.Usagef(cmd, "--timeout must be more than 0, such as 1m")
		}
		cfg, standard, err := folder.Connect(access)
		if err != nil {
			return err
		}
		ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		took, err := run(ctx, cfg, cmp.Or(namespace, standard), limit)
		if err == nil {
			_, err = fmt.Fprintf(std.Out, "The controllers reconciled a test object in %s\n", took.Round(time.Millisecond))
		}
		return err
	}
	return cmd
}

// run returns how long the controllers took to report about an object.
func run(ctx context.Context, cfg *rest.Config, namespace string, limit time.Duration) (took time.Duration, err error) {
	c, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return 0, fmt.Errorf("creating client: %w", err)
	}
	targets := c.Resource(workloadv1alpha1.GroupVersion.WithResource("kubernetestargets")).Namespace(namespace)
	if err := remove(ctx, targets); err != nil { // left by a check that was killed
		return 0, err
	}
	o := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"clusterRef": map[string]any{"apiVersion": "check.bowline.dev/v1", "kind": "Nothing", "name": name}},
	}}
	o.SetGroupVersionKind(workloadv1alpha1.KubernetesTargetGroupVersionKind)
	o.SetName(name)
	begin := time.Now()
	_, err = targets.Create(ctx, o, metav1.CreateOptions{})
	if apierrors.IsNotFound(err) {
		return 0, fmt.Errorf("creating a target: namespace %s, or the definition of targets, is missing (bowline crds prints the definitions): %w",
			namespace, err)
	}
	if err != nil {
		return 0, fmt.Errorf("creating a target in namespace %s: %w", namespace, err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removalLimit)
		defer cancel()
		err = errors.Join(err, remove(ctx, targets))
	}()
	var last error
	reported := func(ctx context.Context) (bool, error) {
		var o *unstructured.Unstructured
		if o, last = targets.Get(ctx, name, metav1.GetOptions{}); last != nil {
			return false, nil // an API server may be away for a moment
		}
		conditions := inspect.Conditions(o)
		return conditions.GetCondition(xpv1.TypeReady).Reason != "", nil
	}
	switch err := wait.PollUntilContextTimeout(ctx, interval, limit, true, reported); {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case err != nil && last != nil:
		return 0, fmt.Errorf("reading target %s/%s: %w", namespace, name, last)
	case err != nil:
		return 0, fmt.Errorf("target %s/%s was not reconciled within %s%s", namespace, name, limit, describeControllers(ctx, c))
	}
	return time.Since(begin), nil
}

// remove deletes the object if it exists, and waits until it is deleted.
func remove(ctx context.Context, targets dynamic.ResourceInterface) error {
	err := targets.Delete(ctx, name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("deleting target %s: %w", name, err)
	}
	err = wait.PollUntilContextTimeout(ctx, interval, removalLimit, true, func(ctx context.Context) (bool, error) {
		_, err := targets.Get(ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
	if err != nil {
		return fmt.Errorf("waiting until target %s is deleted: %w", name, err)
	}
	return nil
}

// describeControllers returns what the heartbeat tells of the controllers, as the end of an error.
func describeControllers(ctx context.Context, c dynamic.Interface) string {
	leases := coordinationv1.SchemeGroupVersion.WithResource("leases")
	lease, err := c.Resource(leases).Namespace(heartbeat.Namespace).Get(ctx, heartbeat.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return ": no controllers have run on this server"
	case err != nil:
		return ""
	}
	if stop, found := heartbeat.Find(lease, time.Now()); found {
		return fmt.Sprintf(": %s", stop)
	}
	return ", although controllers run: see their log"
}
