// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/providers/fcp"
	terraformcontroller "github.com/bowline-dev/bowline/providers/terraform/controller"
)

// kubectl ignores -n for cluster-scoped kinds: a category with kinds of both scopes would delete them, too.
func TestCategoriesHaveOneScope(t *testing.T) {
	t.Parallel()
	all, err := provider.Definitions(providers(&terraformcontroller.Options{})...)
	check(t, err)
	scopes := map[string]apiextensionsv1.ResourceScope{}
	for _, d := range all {
		for _, category := range d.Spec.Names.Categories {
			if known, ok := scopes[category]; ok && known != d.Spec.Scope {
				t.Errorf("category %s has kinds of both scopes, such as %s (N39)", category, d.Name)
			}
			scopes[category] = d.Spec.Scope
		}
	}
	for category, want := range map[string]apiextensionsv1.ResourceScope{
		"managed": apiextensionsv1.NamespaceScoped, "clustermanaged": apiextensionsv1.ClusterScoped,
	} {
		t.Run(category+" (N39)", func(t *testing.T) {
			if scopes[category] != want {
				t.Errorf("its kinds are %q", scopes[category])
			}
		})
	}
}

// A resumeStage has ProviderConfigs that paused deletions.
type resumeStage struct {
	*controlplanetest.Env
	t          *testing.T
	kubeconfig string
	pausedAt   string
}

func newResumeStage(t *testing.T) *resumeStage {
	t.Helper()
	all, err := provider.Definitions(fcp.Provider())
	check(t, err)
	check(t, controlplanetest.Install(t.Context(), controlplanetest.Config(t), all...))
	env := controlplanetest.New(t)
	return &resumeStage{env, t, writeKubeconfig(t, env), time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)}
}

// run runs the command as a person does.
func (s *resumeStage) run(t *testing.T, args string) result {
	return runHere(t, append(strings.Fields("resume-deletions "+args), "--kubeconfig", s.kubeconfig)...)
}

// create creates an object with a condition that is True.
func (s *resumeStage) create(manifest, condition string) *unstructured.Unstructured {
	s.t.Helper()
	o := &unstructured.Unstructured{}
	check(s.t, yaml.Unmarshal([]byte(manifest), &o.Object))
	if strings.Contains(o.GetAPIVersion(), ".m.") {
		o.SetNamespace(s.Namespace)
	}
	check(s.t, s.Client.Create(s.t.Context(), o))
	s.t.Cleanup(func() { check(s.t, testkit.Remove(context.Background(), s.Client, o)) })
	s.patch(o, fmt.Sprintf(`{"conditions":[{"status":"True","lastTransitionTime":%q,%s}]}`, s.pausedAt, condition))
	return o
}

func (s *resumeStage) patch(o *unstructured.Unstructured, status string) {
	s.t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":`+status+`}`))
	check(s.t, s.Client.Status().Patch(s.t.Context(), o, patch))
}

// resumed is true for a ProviderConfig for which deletions of the namespace were resumed.
func (s *resumeStage) resumed(o *unstructured.Unstructured, namespace string) bool {
	s.t.Helper()
	check(s.t, s.Client.Get(s.t.Context(), client.ObjectKeyFromObject(o), o))
	return !meta.GetDeletionsResumed(o, namespace).IsZero()
}

const pausedConfig, waitingObject = `"type":"DeletionsPaused","reason":"MassDeletion"`, `"type":"Reconciling","reason":"DeletionsPaused"`

func TestResumeDeletions(t *testing.T) {
	env := newResumeStage(t)
	config := func(name string) *unstructured.Unstructured {
		return env.create(`{apiVersion: fcp.m.crossplane.io/v1alpha3, kind: ProviderConfig, metadata: {name: `+name+`},
			spec: {endpoint: "http://127.0.0.1:1", projectID: p, credentials: {source: None}}}`, pausedConfig)
	}
	env.run(t, "none -n "+env.Namespace).want(t, exitError, "", "ProviderConfig none are not paused, or there is none; no ProviderConfig is paused\n")
	first, second := config("first"), config("second")
	for i := range 3 {
		n := env.create(fmt.Sprintf(`{apiVersion: network.fcp.m.crossplane.io/v1alpha3, kind: Network, metadata: {name: n%d, finalizers: [a.example.org/b]},
			spec: {forProvider: {cidrBlock: 10.0.0.0/8}, providerConfigRef: {kind: ProviderConfig, name: first}}}`, i), waitingObject)
		check(t, env.Client.Delete(t.Context(), n))
	}
	t.Run("status shows them first (N39)", func(t *testing.T) {
		s := &status{}
		check(t, s.readCluster(t.Context(), &datadir.Flag{}, datadir.Access{File: env.kubeconfig}))
		for i, o := range s.Unhealthy {
			if (o.Reason == "MassDeletion") != (i < 2) {
				t.Errorf("%d is %+v", i, o)
			}
		}
		if len(s.Unhealthy) < 5 {
			t.Errorf("got %+v", s.Unhealthy)
		}
	})
	t.Run("why shows them (N39)", func(t *testing.T) {
		runHere(t, "why", "providerconfig.fcp.m.crossplane.io/first", "--kubeconfig", env.kubeconfig).
			want(t, exitOK, "Condition DeletionsPaused is True (MassDeletion).", "")
	})
	for _, tc := range []struct {
		name, args string
		code       int
		out, err   string
		resumed    []*unstructured.Unstructured // afterwards
	}{
		{"several are listed, with how many wait (N39)", "-n " + env.Namespace, exitError, "", "first -n " + env.Namespace + "  (3 waiting)", nil},
		{"none is resumed then (N39)", "-n " + env.Namespace, exitError, "", "use --all", nil},
		{"those of other namespaces are listed (N39)", "-n elsewhere", exitError, "", "first -n " + env.Namespace + "  (3 waiting)", nil},
		{"one by name (N39)", "first -n " + env.Namespace, exitOK, "3 waited", "", []*unstructured.Unstructured{first}},
		{"and no other (N39)", "first -n " + env.Namespace, exitError, "", "are not paused", []*unstructured.Unstructured{first}},
		{"the only one left, by kind and name (N39)", "providerconfig/second -n " + env.Namespace, exitOK, "0 waited", "", []*unstructured.Unstructured{first, second}},
		{"nothing is left (N39)", "-n " + env.Namespace, exitOK, "No deletions are paused.", "", []*unstructured.Unstructured{first, second}},
		{"two names (N39)", "a b", exitUsage, "", "name one ProviderConfig", []*unstructured.Unstructured{first, second}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			env.run(t, tc.args).want(t, tc.code, tc.out, tc.err)
			for _, o := range []*unstructured.Unstructured{first, second} {
				if want := slices.Contains(tc.resumed, o); env.resumed(o, "") != want {
					t.Errorf("%s: resumed is %t, want %t", o.GetName(), !want, want)
				}
			}
		})
	}
}

// The deletions of one of several namespaces that share a ProviderConfig can be resumed alone.
func TestResumeDeletionsOfNamespace(t *testing.T) {
	env := newResumeStage(t)
	shared := env.create(`{apiVersion: fcp.crossplane.io/v1alpha3, kind: ProviderConfig, metadata: {name: `+env.Prefix+`shared},
		spec: {endpoint: "http://127.0.0.1:1", projectID: p, credentials: {source: None}}}`, pausedConfig)
	env.patch(shared, fmt.Sprintf(`{"pausedDeletions":[{"namespace":%q,"since":%q},{"namespace":"other","since":%[2]q}]}`, env.Namespace, env.pausedAt))
	for _, namespace := range []string{env.Namespace, "other"} {
		n := env.create(fmt.Sprintf(`{apiVersion: network.fcp.crossplane.io/v1alpha3, kind: Network, metadata: {name: %s%s, finalizers: [a.example.org/b]},
			spec: {forProvider: {cidrBlock: 10.0.0.0/8}, providerConfigRef: {name: %[1]sshared}, claimRef: {namespace: %[2]s, name: claim}}}`, env.Prefix, namespace), waitingObject)
		check(t, env.Client.Delete(t.Context(), n))
	}
	t.Run("one namespace of several (N39)", func(t *testing.T) {
		env.run(t, "--namespace "+env.Namespace).want(t, exitOK, "shared in namespace "+env.Namespace+": 1 waited.", "")
		if !env.resumed(shared, env.Namespace) || env.resumed(shared, "other") {
			t.Errorf("got %v", shared.GetAnnotations())
		}
	})
	t.Run("then the others (N39)", func(t *testing.T) {
		env.run(t, shared.GetName()).want(t, exitOK, "shared: 2 waited.", "")
		if !env.resumed(shared, "other") {
			t.Errorf("got %v", shared.GetAnnotations())
		}
	})
}
