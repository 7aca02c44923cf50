// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	databasev1alpha1 "github.com/bowline-dev/bowline/apis/database/v1alpha1"
	"github.com/bowline-dev/bowline/internal/testkit/kinds"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// rackParameters are the settings of racks.
type rackParameters struct {
	Size   int
	Engine *string
}

// A Rack is a managed resource with settings only, and RackClass a class for it.
type (
	Rack struct {
		resource.BindableManaged
		parameters rackParameters
	}
	RackClass struct {
		resource.Class
		resource.Conditioned
		parameters rackParameters
	}
)

func (r *Rack) Parameters() *rackParameters         { return &r.parameters }
func (c *RackClass) Parameters() *rackParameters    { return &c.parameters }
func (c *RackClass) DeepCopyObject() runtime.Object { copied := *c; return &copied }
func (r *Rack) GetName() string                     { return "legacy" }
func (r *Rack) DeepCopyObject() runtime.Object      { copied := *r; return &copied }

// Others are of the same roles, and of other kinds.
type (
	otherClaim   struct{ resource.Claim }
	otherClass   struct{ resource.Class }
	otherManaged struct{ resource.BindableManaged }
)

func (c *otherClass) DeepCopyObject() runtime.Object   { return c }
func (o *otherManaged) DeepCopyObject() runtime.Object { return o }

func racks(carry func(*databasev1alpha1.PostgreSQLInstance, *rackParameters) error) provider.Class {
	return provider.ClassOf(&databasev1alpha1.PostgreSQLInstance{}, &RackClass{}, &Rack{}, carry)
}

func agreeing(c *databasev1alpha1.PostgreSQLInstance, p *rackParameters) error {
	return provider.Agree("engineVersion", c.Spec.EngineVersion, &p.Engine)
}

// A claim and its class configure a managed resource.
func TestClassOf(t *testing.T) {
	t.Parallel()
	asking := func(version *string) *databasev1alpha1.PostgreSQLInstance {
		c := &databasev1alpha1.PostgreSQLInstance{}
		c.Spec.EngineVersion = version
		return c
	}
	of := func(engine *string) *RackClass {
		return &RackClass{parameters: rackParameters{Size: 3, Engine: engine}}
	}
	for name, tc := range map[string]struct {
		carry func(*databasev1alpha1.PostgreSQLInstance, *rackParameters) error
		claim resource.Claim
		class resource.Class
		mg    resource.Managed
		want  string // engine, or the start of the error
	}{
		"settings of the class (R259)": {agreeing, asking(nil), of(ptr.To("14")), &Rack{}, "14"},
		"the claim's own (D27)":        {agreeing, asking(ptr.To("15")), of(nil), &Rack{}, "15"},
		"both agree (D27)":             {agreeing, asking(ptr.To("15")), of(ptr.To("15")), &Rack{}, "15"},
		"a claim against its class (D27)": {
			agreeing, asking(ptr.To("15")), of(ptr.To("14")), &Rack{}, "spec.engineVersion is 15, but the class has 14",
		},
		"claim without settings (R259)":     {nil, asking(ptr.To("15")), of(ptr.To("14")), &Rack{}, "14"},
		"a claim of another kind (R260)":    {agreeing, &otherClaim{}, of(nil), &Rack{}, "resource claim is not a PostgreSQLInstance"},
		"a class of another kind (R260)":    {agreeing, asking(nil), &otherClass{}, &Rack{}, "resource class is not a RackClass"},
		"a resource of another kind (R260)": {agreeing, asking(nil), of(nil), &otherManaged{}, "managed resource is not a Rack"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			class := racks(tc.carry)
			if len(class.Configurators) != 1 {
				t.Fatalf("%d configurators", len(class.Configurators))
			}
			before := tc.class.DeepCopyObject()
			err := class.Configurators[0].Configure(t.Context(), tc.claim, tc.class, tc.mg)
			if !reflect.DeepEqual(before, tc.class) {
				t.Errorf("the class changed (R277): %+v", tc.class)
			}
			if err != nil {
				if !strings.HasPrefix(err.Error(), tc.want) || (failure.Of(err).Message == "") != strings.Contains(name, "R260") {
					t.Errorf("got error %v, want %q", err, tc.want)
				}
				return
			}
			if rack, _ := tc.mg.(*Rack); rack == nil || ptr.Deref(rack.parameters.Engine, "") != tc.want || rack.parameters.Size != 3 {
				t.Errorf("got %+v, want engine %q", tc.mg, tc.want)
			}
		})
	}
}

// A claim refers to an existing managed resource.
func TestCheckManaged(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		carry func(*databasev1alpha1.PostgreSQLInstance, *rackParameters) error
		claim resource.Claim
		mg    resource.Managed
		want  string // start of the error
	}{
		"what the claim asks for (D27)": {agreeing, &databasev1alpha1.PostgreSQLInstance{
			Spec: databasev1alpha1.PostgreSQLInstanceSpec{EngineVersion: ptr.To("15")}}, rack("15"), ""},
		"claim without settings (D27)": {nil, &databasev1alpha1.PostgreSQLInstance{}, rack("15"), ""},
		"something else (D27)": {agreeing, &databasev1alpha1.PostgreSQLInstance{
			Spec: databasev1alpha1.PostgreSQLInstanceSpec{EngineVersion: ptr.To("9")}}, rack("15"),
			`spec.engineVersion is 9, but managed resource "legacy" has 15`},
		"a claim of another kind (R260)":    {agreeing, &otherClaim{}, rack("15"), "resource claim is not a PostgreSQLInstance"},
		"a resource of another kind (R260)": {agreeing, &databasev1alpha1.PostgreSQLInstance{}, &otherManaged{}, "managed resource is not a Rack"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := tc.mg.DeepCopyObject()
			err := racks(tc.carry).Configurators[0].(claimbinding.ManagedChecker).CheckManaged(t.Context(), tc.claim, tc.mg)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tc.want)) ||
				(failure.Of(err).Message == "") != (err == nil || strings.Contains(name, "R260")) {
				t.Errorf("got error %v, want %q", err, tc.want)
			}
			if !reflect.DeepEqual(before, tc.mg) {
				t.Errorf("it became %+v", tc.mg)
			}
		})
	}
}

func rack(engine string) *Rack { return &Rack{parameters: rackParameters{Engine: &engine}} }

// Settings of a class that every claim must have for itself.
func TestAlone(t *testing.T) {
	t.Parallel()
	class := provider.ClassOf(&databasev1alpha1.PostgreSQLInstance{}, &RackClass{}, &Rack{}, agreeing,
		func(p *rackParameters) error { return provider.Alone("size", p.Size != 0) })
	mg := &Rack{}
	err := class.Configurators[0].Configure(t.Context(), &databasev1alpha1.PostgreSQLInstance{},
		&RackClass{parameters: rackParameters{Size: 3}}, mg)
	if err == nil || !strings.Contains(failure.Of(err).Message, "forProvider.size, which no two claims can share") || mg.parameters.Size != 0 {
		t.Errorf("not refused, or configured (R274): error %v and %+v", err, mg.parameters)
	}
}

// withRacks adds a class of racks to a provider, whose definitions change sees first.
func withRacks(class provider.Class, change func(class, managed *apiextensionsv1.CustomResourceDefinition)) func(*provider.Provider) {
	return func(p *provider.Provider) {
		gv := depotKinds().Cluster
		add := p.AddToScheme
		p.AddToScheme = func(s *runtime.Scheme) error {
			s.AddKnownTypeWithName(gv.WithKind("Rack"), &Rack{})
			s.AddKnownTypeWithName(gv.WithKind("RackClass"), &RackClass{})
			s.AddKnownTypeWithName(gv.WithKind("RackClassList"), &metav1.PartialObjectMetadataList{})
			return add(s)
		}
		of := kinds.Definition(gv, "RackClass", apiextensionsv1.ClusterScoped)
		managed := kinds.Definition(gv, "Rack", apiextensionsv1.ClusterScoped)
		of.Labels = map[string]string{"bowline.dev/claim-kind": "other.example.org"}
		of.Annotations = map[string]string{"bowline.dev/claim-kinds": "other.example.org,postgresqlinstance.database.crossplane.io"}
		change(of, managed)
		files, _ := p.CRDs.(fstest.MapFS)
		for _, d := range []*apiextensionsv1.CustomResourceDefinition{of, managed} {
			if content, err := yaml.Marshal(d); err == nil {
				files[d.Name+".yaml"] = &fstest.MapFile{Data: content}
			}
		}
		p.CRDs, p.Classes = fs.FS(files), []provider.Class{class}
	}
}

// Mistakes in classes are reported before anything runs.
func TestValidateClasses(t *testing.T) {
	t.Parallel()
	type definition = apiextensionsv1.CustomResourceDefinition
	asIs := func(_, _ *definition) {}
	for name, tc := range map[string]mistake{
		"fits (R6)": {withRacks(racks(nil), asIs), nil},
		"not complete (R6)": {
			withRacks(provider.Class{Claim: &databasev1alpha1.PostgreSQLInstance{}}, asIs),
			[]string{"class 0 of Provider.Classes is not complete"},
		},
		"a class that is not in the scheme (R6)": {
			withRacks(provider.Class{Claim: &databasev1alpha1.PostgreSQLInstance{}, Object: &otherClass{}, Managed: &Rack{}}, asIs),
			[]string{"class for *provider_test.otherClass", "let Provider.AddToScheme add it once"},
		},
		"a class without definition (R6)": {
			withRacks(racks(nil), func(of, _ *definition) { of.Spec.Names.Kind = "ShelfClass" }),
			[]string{"RackClass.depot.test.bowline.dev: it has no definition"},
		},
		"the label alone (N10)": {
			withRacks(racks(nil), func(of, _ *definition) {
				of.Labels["bowline.dev/claim-kind"], of.Annotations = "postgresqlinstance.database.crossplane.io", nil
			}), nil,
		},
		"a class for other claims (N10)": {
			withRacks(racks(nil), func(of, _ *definition) {
				of.Labels["bowline.dev/claim-kind"], of.Annotations["bowline.dev/claim-kinds"] = "other.example.org", "other.example.org"
			}),
			[]string{"is not for claims of kind PostgreSQLInstance.database.crossplane.io", "+bowline:class of Rack"},
		},
		"a class without label (N10)": {
			withRacks(racks(nil), func(of, _ *definition) { of.Labels = nil }),
			[]string{"its definition is not for claims of kind"},
		},
		"of what is namespaced (N28)": {
			withRacks(racks(nil), func(_, managed *definition) { managed.Spec.Scope = apiextensionsv1.NamespaceScoped }),
			[]string{"Rack.depot.test.bowline.dev is namespaced"},
		},
	} {
		t.Run(name, func(t *testing.T) { validate(t, tc) })
	}
}

// Controllers may write the status of a class only where its definition has the subresource.
func TestClassRules(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(class, managed *apiextensionsv1.CustomResourceDefinition)
		want   []string
	}{
		"with the status subresource (N58)": {func(_, _ *apiextensionsv1.CustomResourceDefinition) {}, []string{"get", "list", "patch", "status patch", "watch"}},
		"without, as made for upstream (N58)": {func(of, _ *apiextensionsv1.CustomResourceDefinition) { of.Spec.Versions[0].Subresources = nil },
			[]string{"get", "list", "patch", "watch"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(nil)
			withRacks(racks(nil), tc.change)(&p)
			rules, err := p.Rules()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, access := range accesses(rules) {
				verb, resource, _ := strings.Cut(access, " ")
				switch resource {
				case "rackclasss.depot.test.bowline.dev":
					got = append(got, verb)
				case "rackclasss.depot.test.bowline.dev/status":
					got = append(got, "status "+verb)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
