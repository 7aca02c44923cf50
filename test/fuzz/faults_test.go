// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fuzz

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	mathrand "math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kunstructured "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

var randomKind = schema.GroupVersionKind{Group: "random.bowline.dev", Version: "v1", Kind: "Random"}

// FuzzFaults lets the external system of an object do what it should not, and checks after each pass that nothing panics, is created
// again silently, or is reported as good. The object is of a kind of both providers, of the sample, or of a kind without a Go type. The
// settings and the status of the latter have the shape of Go types that are generated at random, of structs, slices, maps and pointers
// three deep, and are stored as JSON trees: of those types it covers what the reconciler does with trees, not the conversion of a managed
// resource that has them, which FuzzKinds covers for the types of the sample. The kinds hold data.
func FuzzFaults(f *testing.F) {
	all := newKinds(f)
	env := controlplanetest.NewWithScheme(f, all.scheme)
	all.reconcile(f, env.Config, managed.WithRecreatePolicy(xpv1.RecreateOnRequest), managed.WithCreationGracePeriod(0),
		managed.WithConsistencyWindow(0))
	for i := range len(all.kinds) + 8 { // the last kind is another each time
		f.Add(uint8(min(i, len(all.kinds)-1)), fmt.Appendf(nil, "%d\x06\x08\x04\x05\x07\x01\x03\x02\x09\x0b\x0c", i))
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		k := all.kinds[int(which)%len(all.kinds)]
		mg := k.empty.DeepCopyObject().(resource.Managed)
		mg.SetName(strings.ToLower(env.Prefix + rand.Text()))
		if k.namespaced {
			mg.SetNamespace(env.Namespace)
		}
		s := &faulty{t: t, k: k, name: client.ObjectKeyFromObject(mg), c: env.Client, status: observation(mg, data), upToDate: true}
		all.vendors.Store(mg.GetName(), s)
		if err := env.Client.Create(t.Context(), bare(mg)); err != nil {
			t.Fatal(err)
		}
		s.uid = mg.GetUID()
		defer func() { _ = testkit.Remove(context.Background(), env.Client, bare(mg)) }()
		s.pass()
		names := slices.Sorted(maps.Keys(faults))
		for _, b := range data[:min(len(data), 24)] {
			name := names[int(b)%len(names)]
			s.story = append(s.story, name)
			faults[name](s, int(b)/len(names))
			if s.pass(); s.gone || t.Failed() {
				break
			}
		}
		if t.Failed() {
			t.Logf("%T: %s", mg, strings.Join(s.story, "; "))
		}
	})
}

// refusals are the ways in which a call fails.
var refusals = []error{
	failure.Terminal(failure.ForTeam(failure.InvalidSettings, "invalid", errors.New("invalid"))),
	failure.With(failure.ExternalSystemRefused, errors.New("denied")), failure.ForTeam(failure.QuotaExceeded, "full", errors.New("full")),
	failure.Throttled(errors.New("busy"), time.Hour), failure.Unreachable(io.ErrUnexpectedEOF), errors.New("unclassified"),
	failure.OutcomeUnknown(errors.New("unknown")), context.DeadlineExceeded,
}

// faults are what the external system and its users do. Of each there are variants.
var faults = map[string]func(s *faulty, variant int){
	"owned by another":              func(s *faulty, _ int) { s.owner = new(types.UID("another")) },
	"given back":                    func(s *faulty, _ int) { s.owner = new(s.uid) },
	"labels removed":                func(s *faulty, _ int) { s.owner = new(types.UID("")) },
	"gone":                          func(s *faulty, _ int) { s.exists = false },
	"replaced":                      func(s *faulty, _ int) { s.exists, s.owner = true, new(types.UID("another")) },
	"replaced by an unlabelled one": func(s *faulty, _ int) { s.exists, s.owner, s.id = true, new(types.UID("")), s.id+1 },
	"restored":                      func(s *faulty, _ int) { s.exists, s.owner = true, new(s.uid) },
	"changed":                       func(s *faulty, _ int) { s.upToDate = false },
	"failed":                        func(s *faulty, _ int) { s.failed = errors.New("out of order") },
	"healthy":                       func(s *faulty, _ int) { s.failed, s.refuse, s.err = nil, "", nil },
	"deleted":                       func(s *faulty, _ int) { _ = s.c.Delete(s.t.Context(), bare(s.read())) },
	"refusing":                      func(s *faulty, n int) { s.refuse, s.err = verbs[n%len(verbs)], refusals[n/len(verbs)%len(refusals)] },
	"refusing all":                  func(s *faulty, n int) { s.refuse, s.err = "*", refusals[n%len(refusals)] },
}

var verbs = []string{"Observe", "Create", "Update", "Delete"}

// A faulty external system has at most one resource, and records what was done to it in a pass.
type faulty struct {
	t      *testing.T
	k      *kind
	c      client.Client
	name   client.ObjectKey
	uid    types.UID
	status func(resource.Managed)
	story  []string
	gone   bool // the object

	exists, upToDate bool
	owner            *types.UID
	id               int
	failed, err      error
	refuse           string
	called           []string
	seen             bool // by the last Observe
	had              bool // a resource that is the object's own, as Create, a label that Observe returned, or condition Ready said
}

func (s *faulty) call(verb string) error {
	s.called = append(s.called, verb)
	if s.refuse == verb || s.refuse == "*" {
		return s.err
	}
	return nil
}

func (s *faulty) Observe(_ context.Context, mg resource.Managed) (o managed.ExternalObservation, err error) {
	if err := s.call("Observe"); err != nil || !s.exists {
		s.seen = false
		return o, err
	}
	s.seen = true
	s.status(mg)
	mg.SetConditions(xpv1.Available())
	return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: s.upToDate, Owner: s.owner, Failed: s.failed, ID: fmt.Sprint(s.id)}, nil
}

func (s *faulty) Create(context.Context, resource.Managed) (c managed.ExternalCreation, err error) {
	if err = s.call("Create"); err == nil || failure.IsOutcomeUnknown(err) {
		s.exists, s.upToDate, s.owner, s.id = true, true, new(s.uid), s.id+1
		s.had = s.had || err == nil
	}
	return c, err
}

func (s *faulty) Update(context.Context, resource.Managed) (u managed.ExternalUpdate, err error) {
	if err = s.call("Update"); err == nil {
		s.upToDate = true
	}
	return u, err
}

func (s *faulty) Delete(context.Context, resource.Managed) (err error) {
	if err = s.call("Delete"); err == nil {
		s.exists = false
	}
	return err
}

// foreign is true for a resource of another owner, and for one without an owner that replaced the one in the status of the object.
func (s *faulty) foreign(mg resource.Managed) bool {
	all, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(bare(mg))
	had, _, _ := kunstructured.NestedString(all, "status", "externalIdentity", "id")
	replaced := s.owner != nil && *s.owner == "" && had != "" && had != fmt.Sprint(s.id)
	return s.exists && (replaced || s.owner != nil && *s.owner == "another")
}

// read returns the object, nil if it is gone.
func (s *faulty) read() resource.Managed {
	mg := s.k.empty.DeepCopyObject().(resource.Managed)
	if err := s.c.Get(s.t.Context(), s.name, bare(mg)); err != nil {
		if client.IgnoreNotFound(err) != nil {
			s.t.Fatal(err)
		}
		return nil
	}
	return mg
}

// pass reconciles the object and checks what must hold after each pass.
func (s *faulty) pass() {
	before := s.read()
	if s.gone = before == nil; s.gone {
		return
	}
	foreign, had := s.foreign(before), s.had
	s.called = nil
	s.k.reconciler.Wake(reconcile.Request{NamespacedName: s.name})
	if _, err := s.k.reconciler.Reconcile(s.t.Context(), reconcile.Request{NamespacedName: s.name}); err != nil {
		s.t.Errorf("%v", err)
	}
	mg := s.read()
	if s.gone = mg == nil; s.gone {
		if s.exists && !foreign && slices.Contains(s.called, "Delete") {
			s.t.Error("the object is gone, its resource is not")
		}
		return
	}
	is := func(t xpv1.ConditionType) bool { return mg.GetCondition(t).Status == "True" }
	observed, throttled := slices.Contains(s.called, "Observe"), false
	if s.err != nil {
		_, throttled = failure.RetryAfter(s.err)
	}
	for what, wrong := range map[string]bool{
		"the runtime panics":                           xpv1.FailureOf(mg).Reason == failure.ProviderPanicked,
		"data is replaced by an empty resource":        slices.Contains(s.called, "Create") && had,
		"another's resource is changed":                foreign && (slices.Contains(s.called, "Update") || slices.Contains(s.called, "Delete")),
		"it is InSync beside a failure":                is(xpv1.TypeInSync) && !is(xpv1.TypeSynced),
		"it is Ready beside a failure of its resource": is(xpv1.TypeReady) && observed && s.seen && s.failed != nil,
		"it is Ready beside a failure to observe it":   is(xpv1.TypeReady) && !is(xpv1.TypeSynced) && observed && !s.seen && !throttled,
		"it is Ready while it is deleted":              is(xpv1.TypeReady) && meta.WasDeleted(mg),
		"it is Ready, and its resource is gone":        is(xpv1.TypeReady) && observed && s.refuse == "" && !s.exists,
		"it is Ready, and its resource is another's":   is(xpv1.TypeReady) && observed && s.seen && foreign,
	} {
		if wrong {
			s.t.Errorf("%s: %s", what, text(mg))
		}
	}
	s.had = s.had || is(xpv1.TypeReady) || s.seen && s.exists && s.owner != nil && *s.owner == s.uid
}

// bare returns the object that a client without the runtime's wrapper can read.
func bare(mg resource.Managed) client.Object {
	if u, ok := mg.(*unstructured.Managed); ok {
		return u.GetUnstructured()
	}
	return mg
}

// observation fills an object's settings at random, and returns what sets its status. Those of the last kind have random types.
func observation(mg resource.Managed, data []byte) func(resource.Managed) {
	fill := filler(data)
	if u, ok := mg.(*unstructured.Managed); ok {
		r := mathrand.New(mathrand.NewChaCha8(sha256.Sum256(data)))
		tree := func() map[string]any {
			v := reflect.New(randomStruct(r, 0))
			fill.Fill(v.Interface())
			all, _ := parameters.Tree(v.Interface())
			return all
		}
		status := tree()
		u.Object["spec"] = map[string]any{"forProvider": tree()}
		return func(mg resource.Managed) {
			u := mg.(*unstructured.Managed)
			now, _ := u.Object["status"].(map[string]any)
			if now == nil {
				now = map[string]any{}
				u.Object["status"] = now
			}
			now["atProvider"] = status
		}
	}
	fill.Fill(part(mg, "Parameters").Interface())
	status := clone(part(mg, "Observation"))
	fill.Fill(status.Interface())
	if s, ok := status.Interface().(*settings); ok {
		s.Uint64 = min(s.Uint64, 1<<62)
	}
	return func(mg resource.Managed) { part(mg, "Observation").Elem().Set(clone(status).Elem()) }
}

// randomStruct returns a struct of a few fields of types that the generator accepts.
func randomStruct(r *mathrand.Rand, depth int) reflect.Type {
	fields := make([]reflect.StructField, 1+r.IntN(5))
	for i := range fields {
		tag := fmt.Sprintf(`json:"field%d"`, i)
		if r.IntN(2) == 0 {
			tag = fmt.Sprintf(`json:"field%d,omitempty"`, i)
		}
		fields[i] = reflect.StructField{Name: fmt.Sprintf("Field%d", i), Type: randomType(r, depth+1), Tag: reflect.StructTag(tag)}
	}
	return reflect.StructOf(fields)
}

func randomType(r *mathrand.Rand, depth int) reflect.Type {
	plain := []reflect.Type{reflect.TypeFor[string](), reflect.TypeFor[bool](), reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[int64](),
		reflect.TypeFor[uint8](), reflect.TypeFor[uint32](), reflect.TypeFor[float32](), reflect.TypeFor[float64](), reflect.TypeFor[[]byte](),
		reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.Duration](), reflect.TypeFor[quantity.Quantity](), reflect.TypeFor[intstr.IntOrString]()}
	of := plain[r.IntN(len(plain))]
	if depth < 4 && r.IntN(2) == 0 {
		of = randomStruct(r, depth)
	}
	switch r.IntN(4) {
	case 0:
		return reflect.PointerTo(of)
	case 1:
		return reflect.SliceOf(of)
	case 2:
		return reflect.MapOf(reflect.TypeFor[string](), of)
	default:
		return of
	}
}
