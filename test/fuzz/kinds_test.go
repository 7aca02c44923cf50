// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fuzz

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/randfill"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
	"github.com/bowline-dev/bowline/providers/fcp"
	"github.com/bowline-dev/bowline/providers/sql"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m, loose()...)) }

// group returns the group in which the kinds of a group accept any settings. They are kinds of their own, since all tests share one
// server.
func group(of string) string { return "fuzz." + of }

// loose returns the definitions of all kinds, with schemas that accept anything.
func loose() (all []*apiextensionsv1.CustomResourceDefinition) {
	for _, p := range []provider.Provider{fcp.Provider(), sql.Provider()} {
		definitions, err := p.Definitions()
		if err != nil {
			panic(err) // the provider's own tests load them, too
		}
		all = append(all, definitions...)
	}
	like := *all[0].DeepCopy()
	like.Spec.Group, like.Spec.Scope, like.Spec.Versions = sampleKind.Group, apiextensionsv1.ClusterScoped, like.Spec.Versions[:1]
	like.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Kind: "Sample", ListKind: "SampleList", Plural: "samples"}
	like.Spec.Versions[0].Name = sampleKind.Version
	like.Spec.Versions[0].Subresources = &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}
	all = append(all, &like)
	for _, d := range all {
		d.Spec.Group = group(d.Spec.Group)
		d.Name = d.Spec.Names.Plural + "." + d.Spec.Group
		for i := range d.Spec.Versions {
			v := &d.Spec.Versions[i]
			v.Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
			v.AdditionalPrinterColumns, v.SelectableFields = nil, nil
		}
	}
	status := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true),
		Properties: map[string]apiextensionsv1.JSONSchemaProps{"uint64": {Type: "integer", Format: "int64"}}}
	at := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true),
		Properties: map[string]apiextensionsv1.JSONSchemaProps{"atProvider": status}}
	like.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties = map[string]apiextensionsv1.JSONSchemaProps{"status": at}
	random := like.DeepCopy()
	random.Spec.Group, random.Name = group(randomKind.Group), "randoms."+group(randomKind.Group)
	random.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Kind: "Random", ListKind: "RandomList", Plural: "randoms"}
	random.Spec.Versions[0].Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
	return append(all, random)
}

// FuzzKinds fills an object of a kind, and what its external system reports of it, at random, and reconciles it. Whatever a Go type
// can hold must be stored as it was reported, settings must stay as the user has them, and further passes must write nothing.
func FuzzKinds(f *testing.F) {
	all := newKinds(f)
	env := controlplanetest.NewWithScheme(f, all.scheme)
	all.reconcile(f, env.Config)
	for i := range all.kinds {
		f.Add(uint8(i), []byte("abcdefghijklmnopqrstuvwxyz"))
	}
	for _, unfit := range []string{"unsigned", "NaN", "infinite", "large", "very large"} {
		f.Add(uint8(0), []byte(unfit))
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		k := all.kinds[int(which)%(len(all.kinds)-1)] // without the random one
		mg := k.empty.DeepCopyObject().(resource.Managed)
		fill := filler(data)
		mg.SetName(strings.ToLower(env.Prefix + rand.Text()))
		if k.namespaced {
			mg.SetNamespace(env.Namespace)
		}
		fill.Fill(part(mg, "Parameters").Interface())
		v := &vendor{parameters: clone(part(mg, "Parameters")), observation: clone(part(mg, "Observation"))}
		fill.Fill(v.parameters.Interface())
		fill.Fill(v.observation.Interface())
		fill.Fill(&v.observed.Drift)
		v.observed.ResourceExists, v.observed.ResourceLateInitialized, v.observed.ResourceUpToDate = true, true, len(data)%2 == 0
		if s, ok := v.observation.Interface().(*settings); ok && len(data) > 0 {
			v.unfit = s.spoil(data[0])
		}
		meta.SetExternalName(mg, "any")
		if err := env.Client.Create(t.Context(), mg); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = testkit.Remove(context.Background(), env.Client, mg) }()
		k.check(t, all, mg, v, env.Client)
	})
}

// spoil sets, for some letters, a value that cannot be stored.
func (s *settings) spoil(how byte) bool {
	switch how {
	case 'u':
		s.Uint64 = math.MaxUint64 // which the API server does not take as an integer
	case 'N':
		s.Float64 = math.NaN()
	case 'i':
		s.Float64 = math.Inf(1)
	case 'l': // larger than etcd takes
		s.Text = strings.Repeat("x", 2<<20)
	case 'v': // larger than the API server takes
		s.Text = strings.Repeat("x", 4<<20)
	default:
		return false
	}
	return true
}

// check reconciles an object a few times.
func (k *kind) check(t *testing.T, all *kinds, mg resource.Managed, v *vendor, c client.Client) {
	set := tree(t, part(mg, "Parameters"))
	all.vendors.Store(mg.GetName(), v)
	for pass := range 4 {
		all.writes.Store(0)
		key := client.ObjectKeyFromObject(mg)
		k.reconciler.Wake(reconcile.Request{NamespacedName: key})
		if _, err := k.reconciler.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
			t.Fatalf("pass %d of %T: %v", pass, mg, err)
		}
		if n := all.writes.Load(); pass == 3 && n > 0 && !v.unfit {
			t.Errorf("pass %d over %T writes %d times: %s", pass, mg, n, text(mg))
		}
		if err := c.Get(t.Context(), key, mg); err != nil {
			t.Fatalf("pass %d: %v", pass, err)
		}
	}
	if v.unfit {
		if synced := mg.GetCondition(xpv1.TypeSynced); synced.Status != "False" || xpv1.FailureOf(mg).Reason == "" {
			t.Errorf("a status that does not fit shows %+v", synced)
		}
		return
	}
	if synced := mg.GetCondition(xpv1.TypeSynced); synced.Status != "True" {
		t.Errorf("%T: %s: %s", mg, synced.Reason, synced.Message)
	}
	if diff := cmp.Diff(tree(t, v.observation), tree(t, part(mg, "Observation")), noNulls); diff != "" {
		t.Errorf("status.atProvider of %T -want +got:\n%s", mg, diff)
	}
	got := tree(t, part(mg, "Parameters"))
	if diff := cmp.Diff(parameters.Overlay(set, got), got, notEmpty); diff != "" {
		t.Errorf("spec.forProvider of %T, of what the user set -want +got:\n%s", mg, diff)
	}
}

// noNulls leaves out what the API server drops.
// and notEmpty what late initialization fills.
var (
	noNulls  = cmpopts.IgnoreMapEntries(func(_ string, value any) bool { return value == nil })
	notEmpty = cmpopts.IgnoreMapEntries(func(_ string, value any) bool {
		return value == nil || fmt.Sprint(value) == "" || fmt.Sprint(value) == "[]" || fmt.Sprint(value) == "map[]"
	})
)

// A vendor reports what the test sets, as an external system whose settings and state are out of control.
type vendor struct {
	parameters, observation reflect.Value // pointers
	observed                managed.ExternalObservation
	unfit                   bool // the API server refuses the observation
}

func (v *vendor) Observe(_ context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	part(mg, "Parameters").Elem().Set(clone(v.parameters).Elem())
	part(mg, "Observation").Elem().Set(clone(v.observation).Elem())
	mg.SetConditions(xpv1.Available())
	return v.observed, nil
}

func (v *vendor) Create(context.Context, resource.Managed) (managed.ExternalCreation, error) {
	return managed.ExternalCreation{}, errors.New("it exists")
}

func (v *vendor) Update(context.Context, resource.Managed) (managed.ExternalUpdate, error) {
	return managed.ExternalUpdate{}, nil
}

func (v *vendor) Delete(context.Context, resource.Managed) error { return nil }

// part calls a method of a kind that returns a part of the object.
func part(mg resource.Managed, method string) reflect.Value {
	got := reflect.ValueOf(mg).MethodByName(method)
	if !got.IsValid() {
		return reflect.Zero(reflect.TypeFor[any]())
	}
	return got.Call(nil)[0]
}

// clone copies what a pointer points to.
func clone(pointer reflect.Value) reflect.Value { return pointer.MethodByName("DeepCopy").Call(nil)[0] }

// tree returns a part of an object as the API server stores it.
func tree(t *testing.T, of reflect.Value) map[string]any {
	t.Helper()
	got, err := parameters.Tree(of.Interface())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func text(mg resource.Managed) string {
	mg.SetManagedFields(nil)
	data, _ := json.Marshal(mg)
	return string(data)
}

// A kind is one whose objects are filled at random.
type kind struct {
	schema.GroupVersionKind
	empty      resource.Managed
	namespaced bool
	reconciler *managed.Reconciler
}

type kinds struct {
	kinds   []*kind
	scheme  *runtime.Scheme
	vendors sync.Map // by the name of the object
	writes  atomic.Int32
}

// newKinds returns the kinds of both providers, the sample, and last one without a Go type.
func newKinds(t testing.TB) *kinds {
	all, own := &kinds{scheme: runtime.NewScheme()}, runtime.NewScheme()
	objects := []resource.Managed{&sample{}}
	own.AddKnownTypeWithName(sampleKind, &sample{})
	for _, p := range []provider.Provider{fcp.Provider(), sql.Provider()} {
		if err := p.AddToScheme(own); err != nil {
			t.Fatal(err)
		}
		for _, k := range p.Kinds {
			objects = append(objects, k.Object)
		}
	}
	if err := corev1.AddToScheme(all.scheme); err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		gvk, err := apiutil.GVKForObject(o, own)
		if err != nil {
			t.Fatal(err)
		}
		namespaced := strings.Contains(gvk.Group, ".m.")
		gvk.Group = group(gvk.Group)
		all.scheme.AddKnownTypeWithName(gvk, o)
		metav1.AddToGroupVersion(all.scheme, gvk.GroupVersion())
		all.kinds = append(all.kinds, &kind{GroupVersionKind: gvk, empty: o, namespaced: namespaced})
	}
	random := randomKind
	random.Group = group(random.Group)
	all.kinds = append(all.kinds, &kind{GroupVersionKind: random, empty: unstructured.New(random)})
	return all
}

// reconcile gives each kind a reconciler whose writes are counted.
func (all *kinds) reconcile(t testing.TB, config *rest.Config, o ...managed.ReconcilerOption) {
	mapper := apimeta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), apimeta.RESTScopeNamespace)
	for _, k := range all.kinds {
		mapper.Add(k.GroupVersionKind, map[bool]apimeta.RESTScope{true: apimeta.RESTScopeNamespace, false: apimeta.RESTScopeRoot}[k.namespaced])
	}
	config = fault.InterceptWrites(config, func(string) (error, error) {
		all.writes.Add(1)
		return nil, nil
	})
	mgr := testkit.NewManager(t, config, manager.Options{Scheme: all.scheme,
		MapperProvider: func(*rest.Config, *http.Client) (apimeta.RESTMapper, error) { return mapper, nil }})
	for _, k := range all.kinds {
		options := append([]managed.ReconcilerOption{managed.WithExternalConnecter(all), managed.WithRecorder(&testkit.Events{}),
			managed.WithLogger(logr.Discard())}, o...)
		if _, untyped := k.empty.(*unstructured.Managed); untyped {
			options = append(options, managed.WithClient(unstructured.NewClient(mgr.GetClient())),
				managed.WithNewManaged(func() resource.Managed { return unstructured.New(k.GroupVersionKind) }))
		}
		k.reconciler = managed.NewReconciler(mgr, resource.ManagedKind(k.GroupVersionKind), options...)
	}
}

// Connect satisfies managed.ExternalConnecter.
func (all *kinds) Connect(_ context.Context, mg resource.Managed) (managed.ExternalClient, error) {
	v, _ := all.vendors.Load(mg.GetName())
	return v.(managed.ExternalClient), nil
}

// filler fills with the values that are hard to convert.
func filler(data []byte) *randfill.Filler {
	f := randfill.NewFromGoFuzz(data).NilChance(.4).NumElements(0, 2).MaxDepth(12)
	return f.Funcs(
		oneOf("", "a", "x y", `{"b": 1}`, "ü\"'<&>\u2028"),
		oneOf(0, 1, -1, math.MaxInt, math.MinInt),
		oneOf[int64](0, 1, 1<<53+1, math.MaxInt64, math.MinInt64),
		oneOf[uint64](0, 1, 1<<53+1, math.MaxInt64),
		oneOf(0, math.Copysign(0, -1), 1, 1.5, 1e21, 1e300, -1e-300, 1<<53+1, math.MaxFloat64),
		oneOf[float32](0, 1, 0.1, math.MaxFloat32),
		oneOf(metav1.Time{}, metav1.Unix(1, 0), metav1.Unix(1e9, 5)),
		oneOf(metav1.MicroTime{}, metav1.NewMicroTime(time.Unix(1, 5000))),
		oneOf(quantity.MustParse("1Gi"), quantity.MustParse("0.5"), quantity.MustParse("1e3")),
		oneOf(intstr.FromInt32(7), intstr.FromString("http")),
		oneOf(apiextensionsv1.JSON{Raw: []byte(`{"a": [1, 2.50, null, 9223372036854775808]}`)}, apiextensionsv1.JSON{Raw: []byte("null")},
			apiextensionsv1.JSON{Raw: []byte("12.5")}),
		// References are resolved before anything is observed.
		oneOf[*xpv1.Reference](nil), oneOf[*xpv1.Selector](nil), oneOf[[]xpv1.Reference](nil),
	)
}

func oneOf[T any](values ...T) func(*T, randfill.Continue) {
	return func(v *T, c randfill.Continue) { *v = values[c.Intn(len(values))] }
}
