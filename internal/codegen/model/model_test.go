// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"fmt"
	"os"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/codegen/model"
)

const imports = `
import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	first "example.org/things/apis/v1"
)
`

// kind returns the source of a kind with a specification and a status of its own, unless they are empty.
func kind(marker, spec, status string) string {
	source := "package v1\n" + imports + marker + `
type Thing struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec   ThingSpec
	Status ThingStatus
}
`
	if spec != "" {
		source += "type ThingSpec struct {\n" + spec + "\n}\n"
	}
	if status != "" {
		source += "type ThingStatus struct {\n" + status + "\n}\n"
	}
	return source
}

func load(t *testing.T, files map[string]string) *model.API {
	t.Helper()
	base, written := t.TempDir(), fstest.MapFS{"go.mod": {Data: []byte("module example.org/things\n")}}
	for name, text := range files {
		written[name] = &fstest.MapFile{Data: []byte(text)}
	}
	if err := os.CopyFS(base, written); err != nil {
		t.Fatal(err)
	}
	api, err := model.Load(base, "apis")
	if err != nil {
		t.Fatal(err)
	}
	return api
}

func TestRoles(t *testing.T) {
	t.Parallel()
	type summary struct {
		Role       model.Role
		Scope      model.Scope
		Parameters model.Ref
		Init       string
	}
	own := model.Ref{Import: "example.org/things/apis/v1", Name: "ThingParameters"}
	for name, tc := range map[string]struct {
		source string
		want   *summary // nil: it is no kind of ours
	}{
		"ResourceSpec and ResourceStatus (T12)": {
			kind("", "xpv1.ResourceSpec\nForProvider ThingParameters", "xpv1.ResourceStatus\nAtProvider ThingObservation"),
			&summary{model.Managed, model.Cluster, own, ""},
		},
		"NamespacedResourceSpec (T12)": {
			kind("", "xpv1.NamespacedResourceSpec\nForProvider ThingParameters\nInitProvider ThingInit", "xpv1.ResourceStatus"),
			&summary{model.Managed, model.Namespaced, own, "ThingInit"},
		},
		"settings of another package (T12)": {
			kind("", "xpv1.NamespacedResourceSpec\nForProvider first.Settings", "xpv1.ResourceStatus"),
			&summary{model.Managed, model.Namespaced, model.Ref{Import: "example.org/things/apis/v1", Name: "Settings"}, ""},
		},
		"nothing but scopes (T12)": {
			kind("// +bowline:scopes=Namespaced", "", ""), &summary{model.Managed, model.Namespaced, own, "ThingInitParameters"},
		},
		"markers above the comment, as scaffolds have them (T12)": {
			kind("//+kubebuilder:object:root=true\n//+bowline:scopes=Namespaced\n\n// Thing is the Schema for the things API", "", ""),
			&summary{model.Managed, model.Namespaced, own, "ThingInitParameters"},
		},
		"ProviderSpec (T12)": {
			kind("", "xpv1.ProviderSpec", "xpv1.ProviderConfigStatus"), &summary{Role: model.ProviderConfig, Scope: model.Cluster},
		},
		"a marker (T12)": {
			kind("// +bowline:providerconfig", "Host string", "xpv1.ProviderConfigStatus"),
			&summary{Role: model.ProviderConfig, Scope: model.Cluster},
		},
		"ResourceClaimSpec and ResourceClaimStatus (T12)": {
			kind("", "xpv1.ResourceClaimSpec", "xpv1.ResourceClaimStatus"), &summary{Role: model.Claim, Scope: model.Namespaced},
		},
		"none of these (T12)": {kind("", "Host string", "Ready bool"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got *summary
			if k := load(t, map[string]string{"apis/v1/thing.go": tc.source}).Package("example.org/things/apis/v1").Kind("Thing"); k != nil {
				got = &summary{k.Role, k.Scope, k.Parameters, k.Init.Name}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestSecondScope(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ markers, want string }{
		".m before the last two labels (N35)": {"// +groupName=postgresql.sql.bowline.dev", "postgresql.sql.m.bowline.dev"},
		"of the example cloud (N35, N16)":     {"// +groupName=network.fcp.crossplane.io", "network.fcp.m.crossplane.io"},
		"a short one (N35)":                   {"// +groupName=things.dev", "m.things.dev"},
		"what the author chooses (N35)":       {"// +groupName=things.dev\n// +bowline:namespacedGroup=other.dev", "other.dev"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := load(t, map[string]string{
				"apis/v1/doc.go":   "// Package v1 holds things.\n//\n" + tc.markers + "\npackage v1\n",
				"apis/v1/thing.go": kind("// +bowline:scopes=Cluster,Namespaced", "", ""),
			})
			second := api.Package("example.org/things/apis/namespaced/v1")
			if second == nil || second.Group() != tc.want || second.Version() != "v1" || second.Kind("Thing").Scope != model.Namespaced {
				t.Errorf("got %+v", second)
			}
		})
	}
	t.Run("a kind that the author wrote there is left alone (T13)", func(t *testing.T) {
		t.Parallel()
		byHand := kind("", "xpv1.NamespacedResourceSpec\nForProvider first.ThingParameters", "xpv1.ResourceStatus")
		api := load(t, map[string]string{
			"apis/v1/thing.go": kind("// +bowline:scopes=Cluster,Namespaced", "", ""), "apis/namespaced/v1/thing.go": byHand,
		})
		kinds := api.Package("example.org/things/apis/namespaced/v1").Kinds
		if len(kinds) != 1 || kinds[0].Source != nil {
			t.Errorf("got %+v", kinds)
		}
	})
}

func TestNoun(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Network": "network", "NodeGroup": "node group", "DBInstance": "DB instance", "FavouriteDBInstance": "favourite DB instance",
		"VPC": "VPC",
	} {
		if got := (&model.Kind{Name: name}).Noun(); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func Example() {
	api, err := model.Load("../testdata/cloud", "apis")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, pkg := range api.Packages {
		for _, k := range pkg.Kinds {
			fmt.Println(pkg.Dir, k.Name, k.Scope, k.Role)
		}
	}
	// Output:
	// apis/claims/v1alpha1 MachineClaim Namespaced claim
	// apis/compute/v1alpha1 Machine Cluster managed resource
	// apis/compute/v1alpha1 MachineClass Cluster class
	// apis/namespaced/compute/v1alpha1 Machine Namespaced managed resource
	// apis/namespaced/network/v1alpha1 Gateway Namespaced managed resource
	// apis/namespaced/network/v1alpha1 Group Namespaced managed resource
	// apis/namespaced/network/v1alpha1 Network Namespaced managed resource
	// apis/namespaced/v1alpha1 ClusterProviderConfig Cluster provider configuration
	// apis/namespaced/v1alpha1 ProviderConfig Namespaced provider configuration
	// apis/network/v1alpha1 Gateway Cluster managed resource
	// apis/network/v1alpha1 GatewayClass Cluster class
	// apis/network/v1alpha1 Group Cluster managed resource
	// apis/network/v1alpha1 Network Cluster managed resource
	// apis/v1alpha1 ProviderConfig Cluster provider configuration
}

// class returns the source of a class of Thing, with or without a template of its own.
func class(marker, template string) string {
	source := "package v1\n" + imports + marker + `
type ThingClass struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	SpecTemplate ThingClassSpecTemplate
}
`
	if template != "" {
		source += "type ThingClassSpecTemplate struct {\n" + template + "\n}\n"
	}
	return source
}

func TestClasses(t *testing.T) {
	t.Parallel()
	const scoped = "// +bowline:scopes=Cluster\n"
	whole := "xpv1.ClassSpecTemplate\nForProvider ThingParameters"
	byHand := func(class string) map[string]string {
		return map[string]string{"apis/v1/thing.go": kind(scoped, "", ""), "apis/v1/class.go": class}
	}
	one := func(marker string) map[string]string {
		return map[string]string{"apis/v1/thing.go": kind(marker, "", "")}
	}
	for name, tc := range map[string]struct {
		files  map[string]string
		claims []string // nil: there is no class
		source bool     // it follows from the managed kind
	}{
		"ClassSpecTemplate (T12)":                    {byHand(class("// +bowline:claims=A.example.org", whole)), []string{"A.example.org"}, false},
		"specTemplate, which is to be written (T12)": {byHand(class("// +bowline:claims=A.example.org", "")), []string{"A.example.org"}, false},
		"a marker of the managed kind (K29)": {
			one(scoped + "// +bowline:class=A.example.org, B.example.org"), []string{"A.example.org", "B.example.org"}, true},
		"of both scopes (N28)": {
			one("// +bowline:scopes=Cluster,Namespaced\n// +bowline:class=A.example.org"), []string{"A.example.org"}, true},
		"not of a namespaced kind (N28)": {one("// +bowline:scopes=Namespaced\n// +bowline:class=A.example.org"), nil, false},
		"a class by hand, for the claims that the managed kind names (T13)": {
			map[string]string{"apis/v1/thing.go": kind(scoped+"// +bowline:class=A.example.org", "", ""), "apis/v1/class.go": class("", whole)},
			[]string{"A.example.org"}, false},
		"no class": {one(scoped), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := load(t, tc.files)
			pkg := api.Package("example.org/things/apis/v1")
			k := pkg.Kind("ThingClass")
			if k == nil || tc.claims == nil {
				if (k == nil) != (tc.claims == nil) {
					t.Errorf("got %+v", k)
				}
				return
			}
			if diff := cmp.Diff(tc.claims, k.ClaimKinds()); diff != "" {
				t.Errorf("claim kinds -want +got:\n%s", diff)
			}
			own := model.Ref{Import: pkg.Path, Name: "ThingParameters"}
			if k.Role != model.Class || k.Scope != model.Cluster || k.Parameters != own || k.Spec.Name != "ThingClassSpecTemplate" {
				t.Errorf("got %+v", k)
			}
			if k.ManagedKind() != pkg.Kind("Thing") || (k.Source != nil) != tc.source {
				t.Errorf("managed kind %v, source %v", k.ManagedKind(), k.Source)
			}
			if second := api.Package("example.org/things/apis/namespaced/v1"); second != nil && second.Kind("ThingClass") != nil {
				t.Error("the namespaced kind has a class")
			}
		})
	}
}
