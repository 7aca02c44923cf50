// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/reference"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A lodger is a Thing whose neighbour is a house: an object of another kind, in a group of each test's own.
type lodger struct {
	thing.Thing `json:",inline"`
}

type lodgerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []lodger `json:"items"`
}

func (l *lodger) ResolveReferences(ctx context.Context, c client.Reader) error {
	p := &l.Spec.ForProvider
	rsp, err := reference.NewAPIResolver(c, l).Resolve(ctx, reference.ResolutionRequest{
		CurrentValue: reference.FromPtrValue(p.Neighbour),
		Reference:    p.NeighbourRef,
		To:           reference.To{Managed: &thing.Thing{}, List: &thing.List{}},
		FieldPath:    "spec.forProvider.neighbour",
	})
	if err != nil {
		return err
	}
	p.Neighbour = reference.ToPtrValue(rsp.ResolvedValue)
	return nil
}

func (l *lodger) DeepCopyObject() runtime.Object { return &lodger{*l.Thing.DeepCopy()} }

func (l *lodgerList) DeepCopyObject() runtime.Object {
	out := &lodgerList{TypeMeta: l.TypeMeta, ListMeta: l.ListMeta}
	for _, item := range l.Items {
		out.Items = append(out.Items, lodger{*item.Thing.DeepCopy()})
	}
	return out
}

// A street is one test's lodgers and houses.
type street struct {
	env    *controlplanetest.Env
	scheme *runtime.Scheme
	houses schema.GroupVersionKind // not installed
	label  map[string]string
}

func newStreet(t *testing.T) *street {
	t.Helper()
	group := strings.ToLower(rand.Text()) + ".test.bowline.dev"
	s := &street{scheme: runtime.NewScheme(), houses: schema.GroupVersionKind{Group: group, Version: "v1", Kind: "House"}}
	addKind(t, s.scheme, thing.GroupVersionKind, &lodger{}, &lodgerList{})
	addKind(t, s.scheme, s.houses, &thing.Thing{}, &thing.List{})
	if err := apiextensionsv1.AddToScheme(s.scheme); err != nil {
		t.Fatal(err)
	}
	s.env = controlplanetest.NewWithScheme(t, s.scheme)
	s.label = map[string]string{"test": strings.Trim(s.env.Prefix, "-")}
	return s
}

func addKind(t *testing.T, scheme *runtime.Scheme, kind schema.GroupVersionKind, object, list runtime.Object) {
	t.Helper()
	scheme.AddKnownTypeWithName(kind, object)
	scheme.AddKnownTypeWithName(kind.GroupVersion().WithKind(kind.Kind+"List"), list)
	metav1.AddToGroupVersion(scheme, kind.GroupVersion())
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
}

// installHouses makes the API server serve the houses' kind.
func (s *street) installHouses(t *testing.T) {
	t.Helper()
	crd := thing.CRD()
	crd.Name = "houses." + s.houses.Group
	crd.Spec.Group = s.houses.Group
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Kind: "House", ListKind: "HouseList", Plural: "houses", Singular: "house"}
	if err := controlplanetest.Install(t.Context(), s.env.Config, crd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.env.Client.Delete(context.Background(), crd) }) // the test's own context has ended
}

// control runs the controller of one kind on a manager of its own, and so as if in a process of its own.
func control(
	t *testing.T, config *rest.Config, scheme *runtime.Scheme, kind schema.GroupVersionKind, of client.Object, only cache.ByObject,
	o ...managed.ReconcilerOption,
) {
	t.Helper()
	options := managed.CacheOptions()
	options.ByObject[of] = only
	o = append(o, managed.WithExternalConnecter(&shelf{made: map[types.UID]bool{}}), managed.WithPollInterval(time.Hour))
	controlplanetest.RunManager(t, config, manager.Options{Scheme: scheme, Cache: options}, func(mgr manager.Manager) error {
		r := managed.NewReconciler(mgr, resource.ManagedKind(kind), o...)
		return ctrl.NewControllerManagedBy(mgr).For(of).WatchesRawSource(r.Wakeups()).Complete(r)
	})
}

func (s *street) controlLodgers(t *testing.T, o ...managed.ReconcilerOption) {
	t.Helper()
	control(t, s.env.Config, s.scheme, thing.GroupVersionKind, &lodger{}, cache.ByObject{Label: labels.SelectorFromSet(s.label)}, o...)
}

// controlHouses runs a controller that knows nothing of lodgers.
func (s *street) controlHouses(t *testing.T) {
	t.Helper()
	scheme := runtime.NewScheme()
	addKind(t, scheme, s.houses, &thing.Thing{}, &thing.List{})
	control(t, s.env.Config, scheme, s.houses, &thing.Thing{}, cache.ByObject{})
}

// add creates a lodger or a house; change may alter it first.
func (s *street) add(t *testing.T, o client.Object, in *thing.Thing, change func(*thing.Thing)) {
	t.Helper()
	in.ObjectMeta = metav1.ObjectMeta{Name: s.env.Prefix + "object", Labels: s.label}
	in.Spec.ForProvider.Size = 1
	change(in)
	if err := s.env.Client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		unhold := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		_ = s.env.Client.Patch(context.Background(), o, unhold)
		_ = s.env.Client.Delete(context.Background(), o)
	})
}

// addLodger creates a lodger of the house that addHouse creates.
func (s *street) addLodger(t *testing.T) *lodger {
	t.Helper()
	l := &lodger{}
	s.add(t, l, &l.Thing, refersTo(s.env.Prefix+"object"))
	return l
}

func (s *street) addHouse(t *testing.T, change func(*thing.Thing)) *thing.Thing {
	t.Helper()
	h := &thing.Thing{}
	s.add(t, h, h, change)
	return h
}

// A shelf is an external system that keeps whatever it is asked to.
type shelf struct {
	mu   sync.Mutex
	made map[types.UID]bool
}

func (s *shelf) Connect(context.Context, resource.Managed) (managed.ExternalClient, error) {
	return s, nil
}

func (s *shelf) Observe(_ context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mg.SetConditions(xpv1.Available())
	return managed.ExternalObservation{ResourceExists: s.made[mg.GetUID()], ResourceUpToDate: true}, nil
}

func (s *shelf) Create(_ context.Context, mg resource.Managed) (managed.ExternalCreation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made[mg.GetUID()] = true
	return managed.ExternalCreation{}, nil
}

func (s *shelf) Update(context.Context, resource.Managed) (managed.ExternalUpdate, error) {
	return managed.ExternalUpdate{}, nil
}

func (s *shelf) Delete(_ context.Context, mg resource.Managed) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.made, mg.GetUID())
	return nil
}

// sees waits until the message of condition Synced, or the reason of condition Ready, contains a text.
func (s *street) sees(t *testing.T, mg resource.Managed, text string) {
	t.Helper()
	s.env.Eventually(t, fmt.Sprintf("%T says %q", mg, text), func(ctx context.Context) error {
		if err := s.env.Client.Get(ctx, client.ObjectKeyFromObject(mg), mg); err != nil {
			return err
		}
		says := fmt.Sprint(mg.GetCondition(xpv1.TypeReady).Reason, ": ", mg.GetCondition(xpv1.TypeSynced).Message)
		if !strings.Contains(says, text) {
			return errors.New(says)
		}
		return nil
	})
}

// goes waits until an object that is deleted is gone.
func (s *street) goes(t *testing.T, o client.Object) {
	t.Helper()
	if err := s.env.Client.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	s.env.Eventually(t, "it is gone", func(ctx context.Context) error {
		err := s.env.Client.Get(ctx, client.ObjectKeyFromObject(o), o)
		if err == nil {
			return errors.New("it is still there")
		}
		return client.IgnoreNotFound(err)
	})
}

// An object that refers to a kind that nobody installed goes on as soon as that is there, however long it has waited.
func TestReferenceToKindThatIsInstalledLater(t *testing.T) {
	t.Parallel()
	t.Run("first who refers, then the kind, then the target (R161, R167)", func(t *testing.T) {
		t.Parallel()
		s := newStreet(t)
		s.controlLodgers(t, managed.WithBackoff(time.Hour, time.Hour)) // as after many failures
		l := s.addLodger(t)
		s.sees(t, l, "install the provider of this kind")
		s.installHouses(t)
		began := time.Now()
		s.sees(t, l, "does not exist yet")
		told := time.Since(began)
		s.addHouse(t, func(h *thing.Thing) { meta.SetExternalName(h, "house-1") })
		began = time.Now()
		s.sees(t, l, string(xpv1.ReasonAvailable))
		ready := time.Since(began)
		t.Logf("looked again %s after the kind was installed, Ready %s after the house was there", told, ready)
		if got := reference.FromPtrValue(l.Spec.ForProvider.Neighbour); got != "house-1" || told > 5*time.Second || ready > 5*time.Second {
			t.Errorf("got %q, %s after the kind was installed and %s after the house was there", got, told, ready)
		}
	})
}

// Controllers of two kinds know of each other only what the API server holds.
func TestSeparateManagers(t *testing.T) {
	t.Parallel()
	t.Run("a kind and the kind that refers to it, each on a manager of its own (R2)", func(t *testing.T) {
		t.Parallel()
		s := newStreet(t)
		s.installHouses(t)
		s.controlLodgers(t)
		l := s.addLodger(t)
		s.sees(t, l, "does not exist yet")
		h := s.addHouse(t, func(*thing.Thing) {})
		s.sees(t, l, "has no external name yet")
		s.controlHouses(t)
		s.sees(t, h, string(xpv1.ReasonAvailable))
		s.sees(t, l, string(xpv1.ReasonAvailable))
		if got := reference.FromPtrValue(l.Spec.ForProvider.Neighbour); got == "" || got != meta.GetExternalName(h) {
			t.Errorf("the lodger has %q, the house is %q", got, meta.GetExternalName(h))
		}
		s.goes(t, l)
		s.goes(t, h)
	})
}

// A bare server is an API server as if only core kinds and Things were installed, whatever other tests install. It
// remembers what else is asked for.
type bareServer struct {
	mu    sync.Mutex
	asked []string
}

func (s *bareServer) answer(req *http.Request, next http.RoundTripper) (*http.Response, error) {
	rest, isGroup := strings.CutPrefix(req.URL.Path, "/apis/")
	group, _, _ := strings.Cut(rest, "/")
	if !isGroup || group == thing.GroupVersionKind.Group {
		return next.RoundTrip(req)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, req.Method+" "+req.URL.Path)
	return &http.Response{StatusCode: http.StatusNotFound, Body: http.NoBody, Request: req}, nil
}

// A managed resource lives its whole life where no kind of claims and classes is installed, and nobody looks for one.
func TestWithoutClaimsAndClasses(t *testing.T) {
	t.Parallel()
	t.Run("only the managed kind is installed (R3)", func(t *testing.T) {
		t.Parallel()
		env := controlplanetest.NewWithScheme(t, newScheme(t))
		s := &street{env: env, label: map[string]string{"test": strings.Trim(env.Prefix, "-")}}
		bare := &bareServer{}
		config := fault.Intercept(env.Config, bare.answer)
		control(t, config, newScheme(t), thing.GroupVersionKind, &thing.Thing{}, cache.ByObject{Label: labels.SelectorFromSet(s.label)})
		mg := s.addHouse(t, func(*thing.Thing) {})
		s.sees(t, mg, string(xpv1.ReasonAvailable))
		mg.Spec.ForProvider.Size = 2
		if err := env.Client.Update(t.Context(), mg); err != nil {
			t.Fatal(err)
		}
		s.env.Eventually(t, "the change is seen", func(ctx context.Context) error {
			err := env.Client.Get(ctx, client.ObjectKeyFromObject(mg), mg)
			if seen := mg.GetCondition(xpv1.TypeSynced).ObservedGeneration; err == nil && seen != mg.Generation {
				err = fmt.Errorf("generation %d of %d", seen, mg.Generation)
			}
			return err
		})
		s.goes(t, mg)
		bare.mu.Lock()
		defer bare.mu.Unlock()
		if len(bare.asked) > 0 {
			t.Errorf("asked for what is not installed: %v", bare.asked)
		}
	})
}
