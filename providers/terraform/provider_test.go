// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package terraform_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kube "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/mirror"
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/terraform/external"
	"github.com/bowline-dev/bowline/pkg/terraform/journal"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/providers/terraform"
	"github.com/bowline-dev/bowline/providers/terraform/apis"
	"github.com/bowline-dev/bowline/providers/terraform/apis/crds"
	"github.com/bowline-dev/bowline/providers/terraform/apis/v1alpha1"
	"github.com/bowline-dev/bowline/providers/terraform/controller"
)

func TestMain(m *testing.M) {
	journal.Main()
	ctrl.SetLogger(logr.Discard())
	os.Exit(controlplanetest.Main(m))
}

// A stage is an API server with the controllers of TerraformProviders, which have no rights but their own.
type stage struct {
	*controlplanetest.Env
	t      *testing.T
	name   string // of the TerraformProvider
	folder string // of what exists outside
	run    func() (stop func())
}

func newStage(t *testing.T, folders ...string) *stage {
	t.Helper()
	s := &stage{Env: controlplanetest.New(t), t: t, folder: t.TempDir()}
	s.must(apis.AddToScheme(s.Scheme))
	s.name = "reef-" + s.Namespace[max(0, len(s.Namespace)-12):]
	p := terraform.Provider(&controller.Options{Folders: folders, Journal: filepath.Join(t.TempDir(), "notes"), Namespace: s.Namespace})
	definitions, err := p.Definitions()
	s.must(err)
	s.must(controlplanetest.Install(t.Context(), s.Config, definitions...))
	s.must(crd.Protect(t.Context(), s.Config, crds.FS))
	s.must(client.IgnoreAlreadyExists(s.Client.Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: controller.RoleName}})))
	rules, err := p.Rules()
	s.must(err)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: s.name}, Rules: append(rules, provider.CommonRules()...)}
	s.must(s.Client.Create(t.Context(), role))
	s.bind(s.name)
	s.bind(controller.RoleName)
	s.must(s.Client.Create(t.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.name}, Rules: controller.StateRules()}))
	s.must(s.Client.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: s.name}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: s.name},
	}))
	s.InForce(t, s.name, "", rbacv1.PolicyRule{APIGroups: []string{v1alpha1.Group}, Resources: []string{"terraformproviders"}, Verbs: []string{"list"}})
	config := rest.CopyConfig(s.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: s.name}
	s.run = func() func() {
		scheme := runtime.NewScheme()
		s.must(clientgoscheme.AddToScheme(scheme))
		own := managed.CacheOptions() // and only the TerraformProvider of this test
		own.ByObject[&v1alpha1.TerraformProvider{}] = cache.ByObject{Field: fields.OneTermEqualSelector("metadata.name", s.name)}
		s.must(apis.AddToScheme(scheme))
		return controlplanetest.RunManager(t, config, ctrl.Options{Scheme: scheme, Cache: own}, func(mgr ctrl.Manager) error {
			return p.SetupWithManager(mgr, managed.WithPollInterval(100*time.Millisecond), managed.WithBackoff(50*time.Millisecond, time.Second))
		})
	}
	return s
}

func (s *stage) bind(role string) {
	s.t.Helper()
	s.must(s.Client.Create(s.t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.name + "-" + role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: s.name}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
	}))
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) provider(spec v1alpha1.TerraformProviderSpec) *v1alpha1.TerraformProvider {
	s.t.Helper()
	of := &v1alpha1.TerraformProvider{ObjectMeta: metav1.ObjectMeta{Name: s.name}, Spec: spec}
	s.must(s.Client.Create(s.t.Context(), of))
	s.t.Cleanup(func() { _ = s.Client.Delete(context.Background(), of) })
	return of
}

func (s *stage) ready(of *v1alpha1.TerraformProvider) {
	s.t.Helper()
	s.Eventually(s.t, "the TerraformProvider is ready", func(ctx context.Context) error {
		s.must(s.Client.Get(ctx, client.ObjectKeyFromObject(of), of))
		if c := of.GetCondition(xpv1.TypeReady); c.Status != corev1.ConditionTrue || c.ObservedGeneration != of.Generation {
			return fmt.Errorf("%s: %s", c.Reason, c.Message)
		}
		return nil
	})
}

func (s *stage) object(kind string, spec map[string]any) *kube.Unstructured {
	o := &kube.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: s.name + ".tf.bowline.dev", Version: kinds.Version, Kind: kind})
	o.SetName("default")
	return o
}

func (s *stage) becomes(o *kube.Unstructured, what xpv1.ConditionType) {
	s.t.Helper()
	s.has(o, what, corev1.ConditionTrue, "")
}

// has waits until an object has a condition, with a message that contains a text.
func (s *stage) has(o *kube.Unstructured, what xpv1.ConditionType, status corev1.ConditionStatus, text string) {
	s.t.Helper()
	s.Eventually(s.t, fmt.Sprintf("%s has %s=%s", o.GetKind(), what, status), func(ctx context.Context) error {
		s.must(s.Client.Get(ctx, client.ObjectKeyFromObject(o), o))
		conditions, _, _ := kube.NestedSlice(o.Object, "status", "conditions")
		for _, c := range conditions {
			if c := c.(map[string]any); c["type"] == string(what) && c["status"] == string(status) {
				if message, _ := c["message"].(string); strings.Contains(message, text) {
					return nil
				}
			}
		}
		tp := &v1alpha1.TerraformProvider{}
		_ = s.Client.Get(ctx, client.ObjectKey{Name: s.name}, tp)
		return fmt.Errorf("it has %v, and the TerraformProvider has %v", conditions, tp.Status.Conditions)
	})
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

// Kinds exist on demand: those of further types are added while others are in use, and configurations in use are kept.
func TestTypesOnDemand(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	binary := filepath.Join(folder, "provider")
	copyFile(t, mirror.Program(t, "reef"), binary)
	s := newStage(t, folder)
	s.run()
	of := s.provider(v1alpha1.TerraformProviderSpec{Path: "provider", Types: []string{"reef_berth"}})
	s.ready(of)
	if len(of.Status.Kinds) != 1 || of.Status.Kinds[0].Kind != "Berth" || of.Status.Protocol != 6 || of.Status.Available < 5 {
		t.Errorf("status %+v", of.Status)
	}
	s.must(s.Client.Create(t.Context(), s.object("ProviderConfig", map[string]any{"configuration": map[string]any{"folder": s.folder}})))
	berth := s.object("Berth", map[string]any{"forProvider": map[string]any{"name": "north"}})
	s.must(s.Client.Create(t.Context(), berth))
	s.becomes(berth, xpv1.TypeReady)

	before := of.DeepCopy()
	of.Spec.Types = []string{"reef_berth", "reef_anch*"}
	s.must(s.Client.Patch(t.Context(), of, client.MergeFrom(before)))
	s.ready(of)
	id := berth.GetAnnotations()["crossplane.io/external-name"]
	anchor := s.object("Anchor", map[string]any{"forProvider": map[string]any{"berthId": id}})
	s.must(s.Client.Create(t.Context(), anchor))
	s.becomes(anchor, xpv1.TypeReady)

	config := s.object("ProviderConfig", nil)
	s.must(s.Client.Delete(t.Context(), config))
	s.Eventually(t, "a configuration in use is kept", func(ctx context.Context) error {
		s.must(s.Client.Get(ctx, client.ObjectKeyFromObject(config), config))
		if users, _, _ := kube.NestedInt64(config.Object, "status", "users"); users != 2 {
			return fmt.Errorf("it has %d users", users)
		}
		return nil
	})
	s.must(s.Client.Delete(t.Context(), of))
	s.Eventually(t, "the TerraformProvider waits for its objects", func(ctx context.Context) error {
		s.must(s.Client.Get(ctx, client.ObjectKeyFromObject(of), of))
		if c := of.GetCondition(xpv1.TypeReady); !strings.Contains(c.Message, "deletion waits") {
			return fmt.Errorf("%s: %s", c.Status, c.Message)
		}
		return nil
	})
	s.annotate(berth, "bowline.dev/protect", "true")
	if err := s.Client.Delete(t.Context(), berth); err == nil {
		t.Error("a protected object was deleted (N39)")
	}
	s.annotate(berth, "bowline.dev/protect", "false")
	s.must(s.Client.Delete(t.Context(), anchor))
	s.must(s.Client.Delete(t.Context(), berth))
	s.gone(of)
	s.gone(config)
}

func (s *stage) annotate(o *kube.Unstructured, key, value string) {
	s.t.Helper()
	before := o.DeepCopy()
	annotations := o.GetAnnotations()
	annotations[key] = value
	o.SetAnnotations(annotations)
	s.must(s.Client.Patch(s.t.Context(), o, client.MergeFrom(before)))
}

func (s *stage) gone(o client.Object) {
	s.t.Helper()
	s.Eventually(s.t, o.GetName()+" is gone", testkit.Gone(s.Client, o))
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, content, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
}

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
	s.process(of, external.ProcessRunning, 0)
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
	s.process(of, external.ProcessRunning, 1)
	s.becomes(berth, xpv1.TypeSynced)

	s.must(os.WriteFile(filepath.Join(s.folder, "faults.json"), []byte(`[{"verb": "read", "do": "exit"}]`), 0o600))
	s.condition(of, controller.TypeProcessesSteady, corev1.ConditionFalse)
	if c := of.GetCondition(controller.TypeProcessesSteady); c.Reason != controller.ReasonKeepsEnding || !strings.Contains(c.Message, `ProviderConfig "default"`) {
		t.Errorf("condition %+v", c)
	}
	s.Eventually(t, "an event says so", func(ctx context.Context) error {
		events := &corev1.EventList{}
		s.must(s.Client.List(ctx, events, client.InNamespace(metav1.NamespaceDefault), client.MatchingFields{"involvedObject.name": s.name}))
		if len(events.Items) != 1 || events.Items[0].Reason != string(controller.ReasonKeepsEnding) || events.Items[0].Count != 1 {
			return fmt.Errorf("there are %+v", events.Items)
		}
		return nil
	})
	s.must(os.Remove(filepath.Join(s.folder, "faults.json")))
	s.becomes(berth, xpv1.TypeSynced)
	s.Eventually(t, "the process runs", func(ctx context.Context) error {
		s.must(s.Client.Get(ctx, client.ObjectKeyFromObject(of), of))
		if *of.Status.RunningProcesses != 1 || *of.Status.Restarts < 3 || of.Status.Processes[0].State != string(external.ProcessRunning) {
			return fmt.Errorf("status %+v", of.Status)
		}
		return nil
	})
	for name, least := range map[string]float64{"bowline_terraform_processes": 1, "bowline_terraform_process_memory_bytes": 1 << 20,
		"bowline_terraform_process_restarts_total": 3} {
		if got := s.metric(name, nil); got < least {
			t.Errorf("%s is %v", name, got)
		}
	}
	for _, of := range []map[string]string{{"call": "ConfigureProvider", "outcome": "ok"}, {"call": "ApplyResourceChange", "outcome": "error"},
		{"call": "ApplyResourceChange", "outcome": "ok"}, {"call": "ReadResource", "outcome": "unanswered"}} {
		if s.metric("bowline_terraform_call_duration_seconds", of) == 0 {
			t.Errorf("no call was counted with %v", of)
		}
	}

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
func (s *stage) process(of *v1alpha1.TerraformProvider, want external.ProcessState, restarts int) {
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

// What a TerraformProvider declares wrongly is said with what to do, and nothing outside of the folders is run.
func TestWrongProviders(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "outside")
	copyFile(t, mirror.Program(t, "reef"), outside)
	inside := t.TempDir()
	s := newStage(t, inside, mirror.Providers(t))
	s.run()
	s.must(os.Symlink(outside, filepath.Join(inside, "link")))
	s.must(os.WriteFile(filepath.Join(inside, "text"), []byte("#!/bin/sh\necho no\n"), 0o700))
	types := []string{"reef_berth"}
	of := s.provider(v1alpha1.TerraformProviderSpec{Source: "bowline-dev/reef", Version: "~> 2.0", Types: types})
	for _, tc := range []struct {
		name, want string
		spec       v1alpha1.TerraformProviderSpec
	}{
		{"no such version", "there is [1.0.0]", v1alpha1.TerraformProviderSpec{Source: "bowline-dev/reef", Version: "~> 2.0", Types: types}},
		{"no such provider", "there is none", v1alpha1.TerraformProviderSpec{Source: "nobody/nothing", Version: "1.0.0", Types: types}},
		{"no constraint", "no constraint", v1alpha1.TerraformProviderSpec{Source: "bowline-dev/reef", Version: "newest", Types: types}},
		{"an absolute path outside (N98)", "no file", v1alpha1.TerraformProviderSpec{Path: outside, Types: types}},
		{"a relative path outside", "no file", v1alpha1.TerraformProviderSpec{Path: "../../../../../../.." + outside, Types: types}},
		{"a link to outside", "no file", v1alpha1.TerraformProviderSpec{Path: "link", Types: types}},
		{"no provider", "does not answer as a Terraform provider", v1alpha1.TerraformProviderSpec{Path: "text", Types: types}},
		{"another checksum", "spec.checksums has other ones", v1alpha1.TerraformProviderSpec{Source: "bowline-dev/reef", Version: "1.0.0", Types: types,
			Checksums: []string{"sha256:" + strings.Repeat("0", 64)}}},
		{"no such type", "no resource type reef_boat", v1alpha1.TerraformProviderSpec{Source: "bowline-dev/reef", Version: "1.0.0", Types: []string{"reef_boat"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := of.DeepCopy()
			of.Spec = tc.spec
			s.must(s.Client.Patch(t.Context(), of, client.MergeFrom(before)))
			s.Eventually(t, "it says what is wrong", func(ctx context.Context) error {
				s.must(s.Client.Get(ctx, client.ObjectKeyFromObject(of), of))
				if c := of.GetCondition(xpv1.TypeReady); c.Status != corev1.ConditionFalse || c.ObservedGeneration != of.Generation || !strings.Contains(c.Message, tc.want) {
					return fmt.Errorf("%s: %s", c.Status, c.Message)
				}
				return nil
			})
		})
	}
	before := of.DeepCopy()
	of.Spec = v1alpha1.TerraformProviderSpec{Source: "bowline-dev/reef", Version: ">= 0.9, < 2", Types: types}
	s.must(s.Client.Patch(t.Context(), of, client.MergeFrom(before)))
	s.ready(of)
}

// The controllers cannot give themselves rights on anything but kinds of Terraform providers, and define no others.
func TestRights(t *testing.T) {
	t.Parallel()
	s := newStage(t, mirror.Providers(t))
	config := rest.CopyConfig(s.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: s.name}
	controllers, err := client.New(config, client.Options{Scheme: s.Scheme})
	s.must(err)
	role := &rbacv1.ClusterRole{}
	s.must(controllers.Get(t.Context(), client.ObjectKey{Name: controller.RoleName}, role))
	before := role.DeepCopy()
	role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get"}})
	t.Run("no other rights (N98)", func(t *testing.T) {
		if err := controllers.Patch(t.Context(), role, client.MergeFrom(before)); err == nil {
			t.Error("the role has rights on nodes")
		}
	})
	elsewhere := controlplanetest.New(t).Namespace
	for namespace, want := range map[string]bool{s.Namespace: true, elsewhere: false} {
		t.Run(fmt.Sprintf("delete states, and no other Secrets: %v", want), func(t *testing.T) {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "secret"}}
			s.must(s.Client.Create(t.Context(), secret))
			if err := controllers.Delete(t.Context(), secret); want && err != nil || !want && !apierrors.IsForbidden(err) {
				t.Errorf("error %v", err)
			}
		})
	}
	other := &kube.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": "example.org", "scope": "Cluster", "names": map[string]any{"kind": "Thing", "plural": "things"},
		"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}},
	}}}
	other.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	other.SetName("things.example.org")
	if err := controllers.Create(t.Context(), other); err == nil {
		t.Error("they defined a kind of another group")
	}
}
