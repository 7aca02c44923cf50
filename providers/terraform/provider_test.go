// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package terraform_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kube "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	coreapis "github.com/bowline-dev/bowline/apis"
	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/mirror"
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/claim"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
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
	folder, err := os.MkdirTemp("", "roots")
	if err == nil {
		err = mirror.TrustNetworks(folder)
	}
	if err != nil {
		panic(err)
	}
	code := controlplanetest.Main(m)
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// A stage is an API server with the controllers of TerraformProviders, which have no rights but their own.
type stage struct {
	*controlplanetest.Env
	t      *testing.T
	name   string // of the TerraformProvider
	folder string // of what exists outside
	run    func() (stop func())
	stop   func() // in tests that start the controllers more than once
	// dryRuns counts the objects of its kinds that controllers created in dry runs.
	dryRuns atomic.Int64
}

func newStage(t *testing.T, folders ...string) *stage {
	t.Helper()
	return newStageWith(t, "reef", controller.Options{Folders: folders})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// newStageWith returns a stage whose TerraformProvider has a name that begins with that of its binary. Its controllers are those of more providers,
// too.
func newStageWith(t *testing.T, name string, o controller.Options, more ...provider.Provider) *stage {
	t.Helper()
	s := &stage{Env: controlplanetest.New(t), t: t, folder: t.TempDir()}
	s.must(apis.AddToScheme(s.Scheme))
	s.must(coreapis.AddToScheme(s.Scheme))
	s.name = name + "-" + s.Namespace[max(0, len(s.Namespace)-12):]
	s.Uninstall(t, s.name)
	o.Journal, o.Namespace = filepath.Join(t.TempDir(), "notes"), s.Namespace
	p := terraform.Provider(&o)
	all := append(more, p)
	definitions, err := provider.Definitions(all...)
	s.must(err)
	s.must(controlplanetest.Install(t.Context(), s.Config, definitions...))
	s.must(crd.Protect(t.Context(), s.Config, crds.FS))
	s.must(client.IgnoreAlreadyExists(s.Client.Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: controller.RoleName}})))
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: s.name}, Rules: provider.CommonRules()}
	if len(more) > 0 { // to read the classes that tests of other packages have installed in the server: those for a claim are all listed
		role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}})
	}
	for _, of := range all {
		rules, err := of.Rules()
		s.must(err)
		role.Rules = append(role.Rules, rules...)
	}
	s.must(s.Client.Create(t.Context(), role))
	s.bind(s.name)
	s.bind(controller.RoleName)
	s.InForce(t, s.name, "", rbacv1.PolicyRule{APIGroups: []string{v1alpha1.Group}, Resources: []string{"terraformproviders"}, Verbs: []string{"list"}})
	config := rest.CopyConfig(s.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: s.name}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPost && r.URL.Query().Get("dryRun") != "" && strings.Contains(r.URL.Path, s.name+".tf.") {
				s.dryRuns.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	s.run = func() func() {
		scheme := runtime.NewScheme()
		s.must(clientgoscheme.AddToScheme(scheme))
		s.must(apis.AddToScheme(scheme))
		own := managed.CacheOptions() // and only what is of this test
		own.ByObject[&v1alpha1.TerraformProvider{}] = cache.ByObject{Label: labels.SelectorFromSet(labels.Set{"stage": s.name})}
		own.ByObject[&v1alpha1.TerraformClass{}] = cache.ByObject{Label: labels.SelectorFromSet(labels.Set{"stage": s.name})}
		own.DefaultNamespaces = map[string]cache.Config{s.Namespace: {}}
		return controlplanetest.RunManager(t, config, ctrl.Options{Scheme: scheme, Cache: own, NewCache: claim.NewCache}, func(mgr ctrl.Manager) error {
			fast := []managed.ReconcilerOption{managed.WithPollInterval(100 * time.Millisecond), managed.WithBackoff(50*time.Millisecond, time.Second)}
			var failed []error
			for _, of := range all {
				failed = append(failed, of.SetupWithManager(mgr, fast...))
			}
			return errors.Join(failed...)
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
	return s.providerNamed(s.name, spec)
}

func (s *stage) providerNamed(name string, spec v1alpha1.TerraformProviderSpec) *v1alpha1.TerraformProvider {
	s.t.Helper()
	of := &v1alpha1.TerraformProvider{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"stage": s.name}}, Spec: spec}
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
	with := func(importID, ownership string) v1alpha1.TerraformProviderSpec {
		return v1alpha1.TerraformProviderSpec{Source: "bowline-dev/reef", Version: "1.0.0", Types: types,
			TypeSettings: []v1alpha1.TypeSettings{{Type: "reef_berth", ImportID: importID, Ownership: ownership}}}
	}
	lists := func(of, ownership, config string) v1alpha1.TerraformProviderSpec {
		return v1alpha1.TerraformProviderSpec{Source: "bowline-dev/reef", Version: "1.0.0", Types: []string{of},
			TypeSettings: []v1alpha1.TypeSettings{{Type: of, Ownership: ownership, ListConfig: &runtime.RawExtension{Raw: []byte(config)}}}}
	}
	unused := func(of string, keys ...string) v1alpha1.TerraformProviderSpec {
		return v1alpha1.TerraformProviderSpec{Source: "bowline-dev/reef", Version: "1.0.0", Types: types,
			TypeSettings: []v1alpha1.TypeSettings{{Type: of, ConnectionKeys: keys}}}
	}
	for wrong, settings := range map[string]v1alpha1.TypeSettings{
		"no field":           {ImportID: "north"},
		"an open brace":      {ImportID: "{name"},
		"an empty field":     {ImportID: "{}"},
		"braces in braces":   {ImportID: "{a{b}}"},
		"no field of labels": {Ownership: "no field"},
		"no time":            {AbsentAfter: &metav1.Duration{}},
	} {
		refused := with("{name}", "tags")
		settings.Type, refused.TypeSettings = "reef_berth", []v1alpha1.TypeSettings{settings}
		err := s.Client.Create(t.Context(), &v1alpha1.TerraformProvider{ObjectMeta: metav1.ObjectMeta{Name: s.name + "-x"}, Spec: refused})
		if !apierrors.IsInvalid(err) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
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
		{"an import id without such a field", "resource type reef_berth: importID {title} of spec.typeSettings: there is no field title", with("{title}", "")},
		{"an import id with a secret", "field passwordSecretRef is a secret", with("{passwordSecretRef}", "")},
		{"settings of a type that is not served", "spec.typeSettings has reef_anchor, and spec.types serves only reef_berth", unused("reef_anchor")},
		{"a connection key that the type lacks", "resource type reef_berth: connectionKeys of spec.typeSettings: there is no hostname, but ",
			unused("reef_berth", "endpoint", "hostname")},
		{"lists with a field that there is not", "listConfig.title is no field", lists("reef_berth", "tags", `{"title":"{name}"}`)},
		{"lists with an input that there is not", "there is no field title", lists("reef_berth", "tags", `{"name":"{title}"}`)},
		{"lists of what is not listed", "the provider does not list reef_pier", lists("reef_pier", "tags", `{"name":"{name}"}`)},
		{"lists without labels", "listConfig of spec.typeSettings has no effect without ownership", lists("reef_berth", "", `{"name":"{name}"}`)},
		{"labels by which nothing can be listed", "listConfig.name", lists("reef_mooring", "tags", "{}")},
		{"a time after which nothing happens", "absentAfter of spec.typeSettings has no effect", v1alpha1.TerraformProviderSpec{Source: "bowline-dev/reef",
			Version: "1.0.0", Types: types, TypeSettings: []v1alpha1.TypeSettings{{Type: "reef_berth", AbsentAfter: &metav1.Duration{Duration: time.Minute}}}}},
		{"ownership in a text", "ownership of spec.typeSettings: field name is no map of texts", with("{name}", "name")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := of.DeepCopy()
			of.Spec = tc.spec
			s.must(s.Client.Patch(t.Context(), of, client.MergeFrom(before)))
			s.unready(of, tc.want)
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
	s.run()
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
	t.Run("claims need no more (N98)", func(t *testing.T) {
		of := s.provider(v1alpha1.TerraformProviderSpec{Source: "bowline-dev/reef", Version: "1.0.0", Types: []string{"reef_berth"}})
		s.ready(of)
		s.must(controllers.Get(t.Context(), client.ObjectKey{Name: controller.RoleName}, role))
		granted := map[string]bool{}
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, verb := range rule.Verbs {
					for _, resource := range rule.Resources {
						if strings.HasPrefix(group, s.name+".") && verb != "get" && verb != "list" && verb != "watch" {
							granted[verb+" "+resource+strings.TrimPrefix(group, s.name)] = true
						}
					}
				}
			}
		}
		want := map[string]bool{"patch *.tf.bowline.dev": true, "patch *.tf.m.bowline.dev": true,
			"create berths.tf.bowline.dev": true, "delete berths.tf.bowline.dev": true}
		if diff := cmp.Diff(want, granted); diff != "" {
			t.Errorf("rights -want +got:\n%s", diff)
		}
		before := role.DeepCopy()
		role.Rules[0].Verbs = append(role.Rules[0].Verbs, "escalate")
		if err := controllers.Patch(t.Context(), role, client.MergeFrom(before)); err == nil {
			t.Error("the role has another verb")
		}
	})
	other := &kube.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": "example.org", "scope": "Cluster", "names": map[string]any{"kind": "Thing", "plural": "things"},
		"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}},
	}}}
	other.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	other.SetName("things.example.org")
	if err := controllers.Create(t.Context(), other); err == nil {
		t.Error("they defined a kind of another group")
	}
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "deprecations.kinds.tf.bowline.dev"}}
	if err := controllers.Patch(t.Context(), policy, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"failurePolicy":"Fail"}}`))); !apierrors.IsForbidden(err) {
		t.Errorf("they changed the policy that warns of deprecations: %v", err)
	}
	policy.Name = s.name
	policy.Spec.Validations = []admissionv1.Validation{{Expression: "false"}}
	if err := controllers.Create(t.Context(), policy); !apierrors.IsForbidden(err) {
		t.Errorf("they created an admission policy: %v", err)
	}
}
