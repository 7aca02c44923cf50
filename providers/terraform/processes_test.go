// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package terraform_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kube "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/mirror"
	"github.com/bowline-dev/bowline/pkg/terraform/processes"
	"github.com/bowline-dev/bowline/providers/terraform/apis/v1alpha1"
	"github.com/bowline-dev/bowline/providers/terraform/controller"
)

// A TerraformProvider shows its processes: one that is killed is started again, one that keeps ending is reported, and an idle one is not
// written about.
func TestProcesses(t *testing.T) {
	t.Parallel()
	s := newStage(t, mirror.Providers(t))
	s.run()
	of := s.provider(v1alpha1.TerraformProviderSpec{Source: "bowline-dev/reef", Version: "1.0.0", Types: []string{"reef_berth"}})
	s.ready(of)
	if len(of.Status.Processes) > 0 {
		t.Errorf("without configurations it has %+v", of.Status.Processes)
	}
	s.must(s.Client.Create(t.Context(), s.object("ProviderConfig", map[string]any{"configuration": map[string]any{"folder": s.folder}})))
	s.must(os.WriteFile(filepath.Join(s.folder, "faults.json"), []byte(`[{"verb": "create", "do": "fail", "times": 1}]`), 0o600))
	berth := s.object("Berth", map[string]any{"forProvider": map[string]any{"name": "north"}})
	s.must(s.Client.Create(t.Context(), berth))
	s.becomes(berth, xpv1.TypeReady)
	s.process(of, processes.Running, 0)
	if p := of.Status.Processes[0]; p.Kind != "ProviderConfig" || p.Name != "default" || p.StartedAt == nil || *of.Status.RunningProcesses != 1 {
		t.Errorf("status %+v", of.Status)
	}
	t.Run("passes over objects write nothing", func(t *testing.T) {
		calls := len(s.calls())
		s.Eventually(t, "ten polls", func(context.Context) error {
			if n := len(s.calls()); n < calls+10 {
				return fmt.Errorf("%d calls", n-calls)
			}
			return nil
		})
		before := of.ResourceVersion
		s.must(s.Client.Get(t.Context(), client.ObjectKeyFromObject(of), of))
		if of.ResourceVersion != before {
			t.Errorf("the TerraformProvider was written: %+v", of.Status)
		}
	})
	calls := s.calls()
	pid, err := strconv.Atoi(strings.Fields(calls[len(calls)-1])[1])
	s.must(err)
	s.must(syscall.Kill(pid, syscall.SIGKILL))
	s.process(of, processes.Running, 1)
	s.becomes(berth, xpv1.TypeSynced)

	s.crashes(of, berth)
	s.checkMetrics()
	s.must(s.Client.Delete(t.Context(), berth))
	s.gone(berth)
	s.must(s.Client.Delete(t.Context(), s.object("ProviderConfig", nil)))
	s.Eventually(t, "the process of a deleted configuration ends", func(ctx context.Context) error {
		s.must(s.Client.Get(ctx, client.ObjectKeyFromObject(of), of))
		if len(of.Status.Processes) > 0 || *of.Status.RunningProcesses != 0 {
			return fmt.Errorf("status %+v", of.Status)
		}
		return nil
	})
}

// crashes has the process end at each read, for a while.
func (s *stage) crashes(of *v1alpha1.TerraformProvider, berth *kube.Unstructured) {
	s.t.Helper()
	s.must(os.WriteFile(filepath.Join(s.folder, "faults.json"), []byte(`[{"verb": "read", "do": "exit"}]`), 0o600))
	s.condition(of, controller.TypeProcessesSteady, corev1.ConditionFalse)
	if c := of.GetCondition(controller.TypeProcessesSteady); c.Reason != controller.ReasonKeepsEnding || !strings.Contains(c.Message, `ProviderConfig "default"`) {
		s.t.Errorf("condition %+v", c)
	}
	s.Eventually(s.t, "an event says so", func(ctx context.Context) error {
		events := &corev1.EventList{}
		s.must(s.Client.List(ctx, events, client.InNamespace(metav1.NamespaceDefault), client.MatchingFields{"involvedObject.name": s.name}))
		if len(events.Items) != 1 || events.Items[0].Reason != string(controller.ReasonKeepsEnding) || events.Items[0].Count != 1 {
			return fmt.Errorf("there are %+v", events.Items)
		}
		return nil
	})
	s.must(os.Remove(filepath.Join(s.folder, "faults.json")))
	s.becomes(berth, xpv1.TypeSynced)
	s.Eventually(s.t, "the process runs", func(ctx context.Context) error {
		s.must(s.Client.Get(ctx, client.ObjectKeyFromObject(of), of))
		if *of.Status.RunningProcesses != 1 || *of.Status.Restarts < 3 || of.Status.Processes[0].State != string(processes.Running) {
			return fmt.Errorf("status %+v", of.Status)
		}
		return nil
	})
}

// checkMetrics checks what was measured of a provider whose process ended, and whose first creation failed.
func (s *stage) checkMetrics() {
	s.t.Helper()
	for name, least := range map[string]float64{"bowline_terraform_processes": 1, "bowline_terraform_process_memory_bytes": 1 << 20,
		"bowline_terraform_process_restarts_total": 3} {
		if got := s.metric(name, nil); got < least {
			s.t.Errorf("%s is %v", name, got)
		}
	}
	for _, of := range []map[string]string{{"call": "ConfigureProvider", "outcome": "ok"}, {"call": "ApplyResourceChange", "outcome": "error"},
		{"call": "ApplyResourceChange", "outcome": "ok"}, {"call": "ReadResource", "outcome": "unanswered"}} {
		if s.metric("bowline_terraform_call_duration_seconds", of) == 0 {
			s.t.Errorf("no call was counted with %v", of)
		}
	}
}

// metric is the value of a metric of this TerraformProvider, or how often it was observed.
func (s *stage) metric(name string, labels map[string]string) (total float64) {
	s.t.Helper()
	families, err := metrics.Registry.Gather()
	s.must(err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			has := map[string]string{}
			for _, label := range m.GetLabel() {
				has[label.GetName()] = label.GetValue()
			}
			if family.GetName() == name && has["provider"] == s.name && has["call"] == labels["call"] && has["outcome"] == labels["outcome"] {
				total += m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return total
}

// process waits until the process of the only configuration has a state, and was restarted so many times.
func (s *stage) process(of *v1alpha1.TerraformProvider, want processes.State, restarts int) {
	s.t.Helper()
	s.Eventually(s.t, "its process is "+string(want), func(ctx context.Context) error {
		s.must(s.Client.Get(ctx, client.ObjectKeyFromObject(of), of))
		all := of.Status.Processes
		if len(all) != 1 || all[0].State != string(want) || all[0].Restarts != restarts || *of.Status.Restarts != restarts || all[0].MemoryBytes < 1<<20 {
			return fmt.Errorf("status %+v", of.Status)
		}
		return nil
	})
}

func (s *stage) condition(of *v1alpha1.TerraformProvider, what xpv1.ConditionType, want corev1.ConditionStatus) {
	s.t.Helper()
	s.Eventually(s.t, fmt.Sprintf("%s is %s", what, want), func(ctx context.Context) error {
		s.must(s.Client.Get(ctx, client.ObjectKeyFromObject(of), of))
		if c := of.GetCondition(what); c.Status != want {
			return fmt.Errorf("status %+v", of.Status)
		}
		return nil
	})
}

// calls are the lines of the log of what exists outside.
func (s *stage) calls() []string {
	s.t.Helper()
	content, err := os.ReadFile(filepath.Join(s.folder, "calls.log"))
	s.must(err)
	return strings.Split(strings.TrimSpace(string(content)), "\n")
}

// withdraw takes the rights of the controllers on the kinds of the provider away.
func (s *stage) withdraw() {
	s.t.Helper()
	s.must(retry.RetryOnConflict(retry.DefaultRetry, func() error { // with the tests of others
		role := &rbacv1.ClusterRole{}
		if err := s.Client.Get(s.t.Context(), client.ObjectKey{Name: controller.RoleName}, role); err != nil {
			return err
		}
		role.Rules = slices.DeleteFunc(role.Rules, func(rule rbacv1.PolicyRule) bool {
			return slices.ContainsFunc(rule.APIGroups, func(group string) bool { return strings.HasPrefix(group, s.name+".") })
		})
		return s.Client.Update(s.t.Context(), role)
	}))
}

// Objects say that nothing keeps them as they are declared while their provider cannot be used, and recover with it. The provider is not asked.
func TestUnusableProviders(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	binary, moved := filepath.Join(folder, "provider"), filepath.Join(folder, "moved")
	copyFile(t, mirror.Program(t, "reef"), binary)
	content, err := os.ReadFile(binary)
	s := newStage(t, folder)
	s.must(err)
	spec := v1alpha1.TerraformProviderSpec{Path: "provider", Types: []string{"reef_berth"}, Checksums: []string{fmt.Sprintf("sha256:%x", sha256.Sum256(content))}}
	stop := s.run()
	of := s.provider(spec)
	s.ready(of)
	s.must(s.Client.Create(t.Context(), s.object("ProviderConfig", map[string]any{"configuration": map[string]any{"folder": s.folder}})))
	berth := s.object("Berth", map[string]any{"forProvider": map[string]any{"name": "north"}})
	s.must(s.Client.Create(t.Context(), berth))
	usable := func(t *testing.T) {
		t.Helper()
		s.becomes(berth, xpv1.TypeSynced)
		s.becomes(berth, xpv1.TypeReady)
	}
	unusable := func(t *testing.T) {
		t.Helper()
		s.has(berth, xpv1.TypeSynced, corev1.ConditionFalse, "nothing is kept as it is declared")
		s.has(berth, xpv1.TypeReady, corev1.ConditionUnknown, "")
	}
	usable(t)
	t.Run("it is deleted, whatever that leaves", func(t *testing.T) {
		before := of.DeepCopy()
		of.Finalizers = nil
		s.must(s.Client.Patch(t.Context(), of, client.MergeFrom(before)))
		s.must(client.IgnoreNotFound(s.Client.Delete(t.Context(), of)))
		for s.Client.Get(t.Context(), client.ObjectKeyFromObject(of), of) == nil { // the finalizer may have been added again
			before := of.DeepCopy()
			of.Finalizers = nil
			s.must(client.IgnoreNotFound(s.Client.Patch(t.Context(), of, client.MergeFrom(before))))
		}
		unusable(t)
		of = s.provider(spec)
		s.ready(of)
		usable(t)
	})
	t.Run("there is no binary when the controllers start", func(t *testing.T) {
		stop()
		s.withdraw() // as one that restores a backup, or applies the manifests of an earlier version, does
		s.must(os.Rename(binary, moved))
		stop = s.run()
		unusable(t)
		s.must(os.Rename(moved, binary))
		before := of.DeepCopy()
		of.Spec.Types = append(of.Spec.Types, "reef_anchor") // which is looked at before the folder is
		s.must(s.Client.Patch(t.Context(), of, client.MergeFrom(before)))
		s.ready(of)
		usable(t)
	})
	t.Run("the binary is replaced by one that is not allowed", func(t *testing.T) {
		s.must(os.Remove(binary)) // the former one runs
		s.must(os.WriteFile(binary, append(content, 0), 0o700))
		before := of.DeepCopy()
		of.Spec.Types = []string{"reef_berth"}
		s.must(s.Client.Patch(t.Context(), of, client.MergeFrom(before)))
		unusable(t)
	})
	s.must(s.Client.Delete(t.Context(), berth))
	s.must(os.Remove(binary))
	copyFile(t, mirror.Program(t, "reef"), binary)
	before := of.DeepCopy()
	of.Spec.Types = []string{"reef_berth", "reef_chart"}
	s.must(s.Client.Patch(t.Context(), of, client.MergeFrom(before)))
	s.gone(berth)
}
