// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/process"
	"github.com/bowline-dev/bowline/test/kubernetes/cluster"
)

// A node runs the pods in the namespace of Bowline as processes of this machine, with their arguments, environment and accounts, and reports
// their states: what waits for pods, such as helm install --wait, helm test and kubectl rollout status, works as on a cluster. There is no
// isolation, no image and no scheduling.
type node struct {
	*world

	dir  string
	pods sync.WaitGroup
	stop map[types.UID]context.CancelFunc // of each pod
}

// runPods runs pods until the end of the test.
func (w *world) runPods(t *testing.T) {
	t.Helper()
	n := &node{world: w, dir: t.TempDir(), stop: map[types.UID]context.CancelFunc{}}
	events, err := w.client.Watch(t.Context(), &corev1.PodList{}, client.InNamespace(system))
	w.do(err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event := range events.ResultChan() {
			n.handle(t, event)
		}
		n.pods.Wait()
	}()
	t.Cleanup(func() { events.Stop(); <-ended }) // after the context of the test has ended, and with it all pods
}

func (n *node) handle(t *testing.T, event watch.Event) {
	pod, ok := event.Object.(*corev1.Pod)
	if !ok {
		return
	}
	switch stop := n.stop[pod.UID]; {
	case event.Type == watch.Deleted && stop != nil:
		stop()
	case event.Type == watch.Added:
		ctx, cancel := context.WithCancel(t.Context())
		n.stop[pod.UID] = cancel
		n.pods.Go(func() {
			if err := n.run(ctx, pod); err != nil && ctx.Err() == nil {
				t.Errorf("pod %s: %v", pod.Name, err)
			}
		})
	}
}

// run runs a pod until ctx ends, or its process if it is not restarted.
func (n *node) run(ctx context.Context, pod *corev1.Pod) error {
	dir := filepath.Join(n.dir, pod.Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := n.authenticate(ctx, pod.Spec.ServiceAccountName, kubeconfig); err != nil {
		return err
	}
	container := pod.Spec.Containers[0]
	environment := []string{"KUBECONFIG=" + kubeconfig}
	for _, variable := range container.Env {
		environment = append(environment, variable.Name+"="+variable.Value)
	}
	if pod.Spec.RestartPolicy == corev1.RestartPolicyNever {
		cmd := exec.CommandContext(ctx, n.bowline, container.Args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), environment...)
		out, err := cmd.CombinedOutput()
		phase := corev1.PodSucceeded
		if err != nil {
			phase = corev1.PodFailed
		}
		return errors.Join(n.report(ctx, pod, phase), wrap(err, string(out)))
	}
	address := testkit.FreeAddress(n.t) // the pods share the network of this machine
	r := &replica{config: process.Config{
		Args: slices.Concat([]string{n.bowline}, container.Args, []string{"--health-listen=" + address, "--metrics-listen="}), Env: environment,
		Dir: dir, Check: func(ctx context.Context) error {
			return cluster.Get(ctx, "http://"+address+container.ReadinessProbe.HTTPGet.Path)
		},
	}}
	first, err := process.Start(ctx, r.config)
	if err != nil {
		return err
	}
	r.current.Store(first)
	err = n.report(ctx, pod, corev1.PodRunning)
	return errors.Join(err, r.supervise(ctx), r.crashed())
}

// wrap adds what a program printed to its error, if it has one.
func wrap(err error, printed string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", err, strings.TrimSpace(printed))
}

// report stores the state of a pod.
func (n *node) report(ctx context.Context, pod *corev1.Pod, phase corev1.PodPhase) error {
	now, ready := pod.DeepCopy(), corev1.ConditionFalse
	if phase == corev1.PodRunning {
		ready = corev1.ConditionTrue
	}
	now.Status.Phase = phase
	for _, condition := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		now.Status.Conditions = append(now.Status.Conditions, corev1.PodCondition{Type: condition, Status: ready, LastTransitionTime: metav1.Now()})
	}
	container := corev1.ContainerStatus{Name: pod.Spec.Containers[0].Name, Image: pod.Spec.Containers[0].Image}
	if phase == corev1.PodRunning {
		container.Ready, container.Started, container.State.Running = true, new(true), &corev1.ContainerStateRunning{StartedAt: metav1.Now()}
	}
	now.Status.ContainerStatuses = []corev1.ContainerStatus{container}
	return client.IgnoreNotFound(n.client.Status().Patch(ctx, now, client.MergeFrom(pod)))
}
