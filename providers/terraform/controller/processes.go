// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/terraform/processes"
	"github.com/bowline-dev/bowline/providers/terraform/apis/v1alpha1"
)

const (
	// TypeProcessesSteady is the condition of a TerraformProvider of which a process kept ending by itself: true once all are well.
	TypeProcessesSteady xpv1.ConditionType = "ProcessesSteady"

	reasonSteady xpv1.ConditionReason = "ProcessesSteady"
	// ReasonKeepsEnding is the reason of that condition, and of an event, while a process keeps ending.
	ReasonKeepsEnding xpv1.ConditionReason = "ProcessKeepsEnding"
)

const (
	// mostProcesses are in status.
	mostProcesses = 64
	// mostNamed are in a message.
	mostNamed = 3
)

// changes is a source of requests about TerraformProviders whose processes have changed.
type changes struct {
	started chan struct{}
	queue   workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// source returns the source. It is started once.
func (c *changes) source() source.Source {
	return source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		c.queue = q
		close(c.started)
		return nil
	})
}

// enqueue requests a reconcile. It does not block.
func (c *changes) enqueue(name string) {
	<-c.started // for long: only a reconcile starts processes
	c.queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
}

// reportProcesses writes what is known of the processes into a status. Memory is written if it differs by more than a half from what the
// status had before: processes grow, and are replaced, with the polls of unchanged objects.
func reportProcesses(status *v1alpha1.TerraformProviderStatus, before []v1alpha1.Process, all []processes.Status, restarts int) {
	type key struct{ kind, namespace, name string }
	former := map[key]int64{}
	for _, p := range before {
		former[key{p.Kind, p.Namespace, p.Name}] = p.MemoryBytes
	}
	running := 0
	status.Processes = nil
	for _, p := range all {
		one := v1alpha1.Process{
			Kind: p.Config.Kind, Namespace: p.Config.Namespace, Name: p.Config.Name,
			State: string(p.State), Reason: string(p.Reason), Restarts: p.Restarts, MemoryBytes: p.Memory,
		}
		if !p.Started.IsZero() {
			one.StartedAt = new(metav1.NewTime(p.Started).Rfc3339Copy())
		}
		if was := former[key{one.Kind, one.Namespace, one.Name}]; was > 0 && p.Memory > 0 && max(was-p.Memory, p.Memory-was) <= was/2 {
			one.MemoryBytes = was
		}
		if p.State == processes.Running {
			running++
		}
		status.Processes = append(status.Processes, one)
	}
	slices.SortStableFunc(status.Processes, func(a, b v1alpha1.Process) int { return cmp.Compare(rank(a), rank(b)) })
	status.RunningProcesses, status.Restarts = new(running), new(restarts)
	status.MoreProcesses = max(len(status.Processes)-mostProcesses, 0)
	status.Processes = status.Processes[:len(status.Processes)-status.MoreProcesses]
}

// rank is where a process stands among others in status.
func rank(p v1alpha1.Process) int {
	if p.State == string(processes.Running) {
		return 1
	}
	return 0
}

// steadiness returns the condition of processes, and false for one without news of a provider that never had trouble.
func steadiness(all []processes.Status, before xpv1.Condition) (xpv1.Condition, bool) {
	c := xpv1.Condition{Type: TypeProcessesSteady, Status: corev1.ConditionTrue, Reason: reasonSteady, LastTransitionTime: metav1.Now()}
	var names []string
	for _, p := range all {
		if p.Unsteady {
			names = append(names, p.Config.String())
		}
	}
	if len(names) > 0 {
		c.Status, c.Reason = corev1.ConditionFalse, ReasonKeepsEnding
		if more := len(names) - mostNamed; more > 0 {
			names = append(names[:mostNamed], fmt.Sprintf("%d more", more))
		}
		c.Message = fmt.Sprintf("The process of %s keeps ending by itself, and is started again after a pause of up to a minute: see the log of "+
			"the controllers, and the memory of their machine.", strings.Join(names, ", "))
	}
	return c, c.Status == corev1.ConditionFalse || before.Reason != ""
}

// withProcesses adds what is known of the processes to the status of a TerraformProvider, and returns the event about that, if any.
func (r *Reconciler) withProcesses(of *v1alpha1.TerraformProvider, before v1alpha1.TerraformProviderStatus) (e event.Event, news bool) {
	var all []processes.Status
	var restarts int
	if now := r.serving[of.Name]; now != nil {
		all, restarts = now.source.Processes()
	}
	reportProcesses(&of.Status, before.Processes, all, restarts)
	was := before.GetCondition(TypeProcessesSteady)
	now, has := steadiness(all, was)
	if !has {
		return e, false
	}
	of.SetConditions(now.WithObservedGeneration(of.Generation))
	return event.Warning(event.Reason(now.Reason), errors.New(now.Message)), now.Status == corev1.ConditionFalse && was.Status != corev1.ConditionFalse
}

// emit emits an event, and logs it for people who read the log only.
func (r *Reconciler) emit(ctx context.Context, about *v1alpha1.TerraformProvider, e event.Event) {
	log := r.setup.Manager().GetLogger().WithValues("terraformprovider", about.Name, "reason", e.Reason)
	log.Info(e.Message)
	if err := r.events.Event(ctx, about, e); err != nil {
		log.Info("Cannot record event", "error", err.Error())
	}
}
