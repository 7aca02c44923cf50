// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m, thing.CRD(), thing.LocalCRD())) }

// A stage is one Thing on the shared API server, an external system, and a reconciler that the test calls by hand, so
// that nothing races. Thing and reconciler are created when they are first needed.
type stage struct {
	t      *testing.T // of the current moment
	whole  *testing.T // ends when the stage is removed
	env    *controlplanetest.Env
	config *rest.Config // of the reconciler
	kind   schema.GroupVersionKind
	prefix string // of the names of objects
	key    types.NamespacedName
	secret types.NamespacedName
	clock  time.Time
	system *thing.System
	events *testkit.Events

	draft      *thing.Thing // until it is created
	options    []managed.ReconcilerOption
	wrap       func(client.Client) client.Client // that the reconciler gets
	reconciler *managed.Reconciler
	metrics    *prometheus.Registry                        // if it is measured
	spans      *tracetest.SpanRecorder                     // if it is traced
	log        *logLines                                   // if it is logged
	requeue    time.Duration                               // that the last pass asked for
	writes     []string                                    // of the reconciler to the API server, as METHOD path
	fault      func(request string) (refuse, lose error)   // of its writes
	intercept  func(*http.Request) (*http.Response, error) // what the API server answers it instead; both nil to send the request
}

// newStage prepares a Thing of size 1 that wants a connection Secret.
func newStage(t *testing.T, o ...managed.ReconcilerOption) *stage {
	t.Helper()
	return stageIn(t, controlplanetest.NewWithScheme(t, scheme()), o...)
}

// stageIn is newStage in an environment that stages share.
func stageIn(t *testing.T, env *controlplanetest.Env, o ...managed.ReconcilerOption) *stage {
	t.Helper()
	own := strings.ToLower(rand.Text()[:8])
	s := &stage{
		t: t, whole: t, env: env, kind: thing.ThingGroupVersionKind, system: thing.NewSystem(), events: &testkit.Events{},
		config: rest.CopyConfig(env.Config), prefix: env.Prefix + own + "-",
		clock: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	s.key = types.NamespacedName{Name: s.prefix + "thing"}
	s.secret = types.NamespacedName{Namespace: env.Namespace, Name: own + "-connection"}
	s.options = append([]managed.ReconcilerOption{
		managed.WithRecorder(s.events), // first: see defaultEvents
		managed.WithTypedExternalConnecter[*thing.Thing](s.system),
		managed.WithClock(func() time.Time { return s.clock }),
		managed.WithRandom(func() float64 { return 0 }),
	}, o...)
	s.draft = s.newThing("thing")
	s.draft.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: s.secret.Namespace, Name: s.secret.Name}
	return s
}

// defaultEvents leaves the recorder of events to the reconciler.
func defaultEvents(s *stage) { s.options = s.options[1:] }

func (s *stage) newThing(name string) *thing.Thing {
	mg := &thing.Thing{ObjectMeta: metav1.ObjectMeta{Name: s.prefix + name, Annotations: map[string]string{}}}
	mg.Spec.ForProvider.Size = 1
	return mg
}

// create creates a Thing that is removed with the stage.
func (s *stage) create(mg *thing.Thing) {
	s.t.Helper()
	s.must(s.env.Client.Create(s.t.Context(), mg))
	s.whole.Cleanup(func() { strike(s.env, mg) })
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// strike removes an object from the shared server. The test's own context may have ended.
func strike(env *controlplanetest.Env, o client.Object) {
	_ = testkit.Remove(context.Background(), env.Client, o)
}

// begin creates what is not created yet.
func (s *stage) begin() {
	s.t.Helper()
	if s.draft != nil {
		s.create(s.draft)
		s.draft = nil
	}
	if s.reconciler == nil {
		mgr, o := s.manager(cache.Options{}), s.options
		if s.wrap != nil {
			o = append(slices.Clip(o), managed.WithClient(s.wrap(mgr.GetClient())))
		}
		s.reconciler = managed.NewReconciler(mgr, resource.ManagedKind(s.kind), o...)
	}
}

// manager returns a manager whose requests the stage sees.
func (s *stage) manager(watched cache.Options) manager.Manager {
	s.t.Helper()
	config := fault.InterceptWrites(s.config, func(request string) (refuse, lose error) {
		s.writes = append(s.writes, request)
		if s.fault != nil {
			return s.fault(request)
		}
		return nil, nil
	})
	config = fault.Intercept(config, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if s.intercept != nil {
			if answer, err := s.intercept(r); answer != nil || err != nil {
				return answer, err
			}
		}
		return next.RoundTrip(r)
	})
	return testkit.NewManager(s.t, config, manager.Options{
		Scheme: s.env.Scheme,
		Cache:  watched,
		MapperProvider: func(*rest.Config, *http.Client) (apimeta.RESTMapper, error) {
			scope := apimeta.RESTScopeRoot
			if s.key.Namespace != "" {
				scope = apimeta.RESTScopeNamespace
			}
			mapper := apimeta.NewDefaultRESTMapper(nil) // spares each restart the discovery of kinds
			mapper.Add(s.kind, scope)
			mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), apimeta.RESTScopeNamespace)
			mapper.Add(corev1.SchemeGroupVersion.WithKind("Event"), apimeta.RESTScopeNamespace)
			return mapper, nil
		},
	})
}

// pass reconciles once and returns when the reconciler wants to come back.
func (s *stage) pass() time.Duration {
	s.t.Helper()
	s.must(s.tryPass())
	return s.requeue
}

func (s *stage) tryPass() error {
	s.begin()
	s.reconciler.Wake(reconcile.Request{NamespacedName: s.key})
	return s.request(s.key)
}

// request reconciles an object as its controller does.
func (s *stage) request(key types.NamespacedName) error {
	result, err := s.reconciler.Reconcile(s.t.Context(), reconcile.Request{NamespacedName: key})
	s.requeue = result.RequeueAfter
	return err
}

// passOver reconciles another Thing than the one on stage.
func (s *stage) passOver(key types.NamespacedName) {
	s.t.Helper()
	s.begin()
	s.reconciler.Wake(reconcile.Request{NamespacedName: key})
	s.must(s.request(key))
}

// thing returns the Thing as stored, nil if it is gone.
func (s *stage) thing() *thing.Thing {
	s.t.Helper()
	s.begin()
	mg := &thing.Thing{}
	err := s.env.Client.Get(s.t.Context(), s.key, mg)
	if err != nil {
		s.must(client.IgnoreNotFound(err))
		return nil
	}
	return mg
}

// edit changes the Thing as a user would.
func (s *stage) edit(change func(*thing.Thing)) {
	s.t.Helper()
	if s.draft != nil {
		change(s.draft)
		return
	}
	mg := s.thing()
	if mg.Annotations == nil {
		mg.Annotations = map[string]string{}
	}
	change(mg)
	s.must(s.env.Client.Update(s.t.Context(), mg))
}

func (s *stage) delete() {
	s.t.Helper()
	s.must(s.env.Client.Delete(s.t.Context(), s.thing()))
}

// neighbour puts another Thing beside the one on stage; change may alter it first.
func (s *stage) neighbour(name string, change func(*thing.Thing)) types.NamespacedName {
	s.t.Helper()
	mg := s.newThing(name)
	if change != nil {
		change(mg)
	}
	s.create(mg)
	return client.ObjectKeyFromObject(mg)
}

func (s *stage) patch(key types.NamespacedName, with string) {
	s.t.Helper()
	mg := &thing.Thing{ObjectMeta: metav1.ObjectMeta{Name: key.Name}}
	s.must(s.env.Client.Patch(s.t.Context(), mg, client.RawPatch(types.MergePatchType, []byte(with))))
}

func (s *stage) remove(key types.NamespacedName) {
	s.t.Helper()
	s.must(s.env.Client.Delete(s.t.Context(), &thing.Thing{ObjectMeta: metav1.ObjectMeta{Name: key.Name}}))
}

// editStatus changes the status of a Thing as another client than the reconciler.
func (s *stage) editStatus(key types.NamespacedName, change func(*thing.Thing)) {
	s.t.Helper()
	mg := &thing.Thing{}
	s.must(s.env.Client.Get(s.t.Context(), key, mg))
	change(mg)
	s.must(s.env.Client.Status().Update(s.t.Context(), mg))
}

// editSecret changes the connection Secret as a person does; nil deletes it.
func (s *stage) editSecret(change func(*corev1.Secret)) {
	s.t.Helper()
	secret := &corev1.Secret{}
	s.must(s.env.Client.Get(s.t.Context(), s.secret, secret))
	if change == nil {
		s.must(s.env.Client.Delete(s.t.Context(), secret))
		return
	}
	change(secret)
	s.must(s.env.Client.Update(s.t.Context(), secret))
}

// store creates a Secret that is not the object's.
func (s *stage) store(key types.NamespacedName, data map[string]string) {
	s.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, StringData: data}
	s.must(s.env.Client.Create(s.t.Context(), secret))
}

// connection returns the data of the connection Secret as text, nil if there is none.
func (s *stage) connection() map[string]string {
	s.t.Helper()
	secret := &corev1.Secret{}
	if err := s.env.Client.Get(s.t.Context(), s.secret, secret); err != nil {
		s.must(client.IgnoreNotFound(err))
		return nil
	}
	data := map[string]string{}
	for key, value := range secret.Data {
		data[key] = string(value)
	}
	return data
}

// state is what a user sees of the Thing's conditions.
func (s *stage) state() string {
	s.t.Helper()
	mg := s.thing()
	if mg == nil {
		return "gone"
	}
	return fmt.Sprintf("Ready=%s Synced=%s", mg.GetCondition(xpv1.TypeReady).Reason, mg.GetCondition(xpv1.TypeSynced).Reason)
}

// message is the message of condition Synced.
func (s *stage) message() string {
	s.t.Helper()
	if mg := s.thing(); mg != nil {
		return mg.GetCondition(xpv1.TypeSynced).Message
	}
	return ""
}

// has returns the resource of the object's external name.
func (s *stage) has() thing.Resource { return s.system.Snapshot()[s.key.Name] }

var scheme = sync.OnceValue(func() *runtime.Scheme {
	known := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(known), thing.AddToScheme(known)); err != nil {
		panic(err)
	}
	return known
})
