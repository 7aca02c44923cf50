// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// withServices are the tests that run once more, in a process of its own, with clients that package kind makes of four
// functions: those of what these clients do themselves, such as late initialization, drift and recovery.
const withServices = "^Test(Conformance|Life|LateInitialization|InitProvider|DriftWithoutUpdate|SecretInputRotation|FindsCreated|CutOffCreation|Plan|Panic)$"

func TestMain(m *testing.M) {
	code := controlplanetest.Main(m, thing.CRD())
	if pattern := flag.Lookup("test.run").Value.String(); code == 0 && os.Getenv(thing.ServiceVariable) == "" && pattern == "" {
		again := exec.Command(os.Args[0], append(os.Args[1:], "-test.run="+withServices)...)
		again.Env = append(os.Environ(), thing.ServiceVariable+"=yes")
		again.Stdout, again.Stderr = os.Stdout, os.Stderr
		if err := again.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "with services:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// A stage is one Thing on the shared API server, an external system, and a reconciler that the test calls by hand, so
// that nothing races.
type stage struct {
	t      *testing.T
	env    *controlplanetest.Env
	system *thing.System
	key    types.NamespacedName
	secret types.NamespacedName
	clock  time.Time
	events *testkit.Events

	reconciler *managed.Reconciler
	options    []managed.ReconcilerOption
}

// newStage puts a Thing of size 1 that wants a connection secret on stage; change may alter it first.
func newStage(t *testing.T, change func(*thing.Thing), o ...managed.ReconcilerOption) *stage {
	t.Helper()
	env := controlplanetest.NewWithScheme(t, newScheme(t))
	s := &stage{
		t:      t,
		env:    env,
		system: thing.NewSystem(),
		key:    types.NamespacedName{Name: env.Prefix + "thing"},
		secret: types.NamespacedName{Namespace: env.Namespace, Name: "connection"},
		clock:  time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		events: &testkit.Events{},
	}
	s.options = append([]managed.ReconcilerOption{
		managed.WithTypedExternalConnecter[*thing.Thing](s.system),
		managed.WithRecorder(s.events),
		managed.WithClock(func() time.Time { return s.clock }),
		managed.WithRandom(func() float64 { return 0 }),
	}, o...)
	mg := &thing.Thing{ObjectMeta: metav1.ObjectMeta{Name: s.key.Name}}
	mg.Spec.ForProvider.Size = 1
	mg.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: s.secret.Namespace, Name: s.secret.Name}
	if change != nil {
		change(mg)
	}
	if err := env.Client.Create(t.Context(), mg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { strike(env, s.key.Name) })
	s.restart(env.Config)
	return s
}

// strike removes a Thing from the shared server.
func strike(env *controlplanetest.Env, name string) {
	mg := &thing.Thing{ObjectMeta: metav1.ObjectMeta{Name: name}}
	unhold := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	_ = client.IgnoreNotFound(env.Client.Patch(context.Background(), mg, unhold))
	_ = client.IgnoreNotFound(env.Client.Delete(context.Background(), mg))
}

// restart replaces the reconciler by a fresh one that remembers nothing, as after a crash.
func (s *stage) restart(config *rest.Config) {
	s.t.Helper()
	s.reconciler = newReconciler(s.t, config, s.options...)
}

func newReconciler(t *testing.T, config *rest.Config, o ...managed.ReconcilerOption) *managed.Reconciler {
	t.Helper()
	return managed.NewReconciler(byHand(t, config, cache.Options{}), resource.ManagedKind(thing.GroupVersionKind), o...)
}

func byHand(t *testing.T, config *rest.Config, watched cache.Options) manager.Manager {
	t.Helper()
	return testkit.NewManager(t, config, manager.Options{
		Scheme: newScheme(t),
		Cache:  watched,
		MapperProvider: func(*rest.Config, *http.Client) (apimeta.RESTMapper, error) {
			mapper := apimeta.NewDefaultRESTMapper(nil) // spares each restart the discovery of kinds
			mapper.Add(thing.GroupVersionKind, apimeta.RESTScopeRoot)
			mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), apimeta.RESTScopeNamespace)
			mapper.Add(corev1.SchemeGroupVersion.WithKind("Event"), apimeta.RESTScopeNamespace)
			return mapper, nil
		},
	})
}

// pass reconciles once and returns when the reconciler wants to come back.
func (s *stage) pass() time.Duration {
	s.t.Helper()
	result, err := s.tryPass()
	if err != nil {
		s.t.Fatalf("reconciling: %v", err)
	}
	return result.RequeueAfter
}

func (s *stage) tryPass() (reconcile.Result, error) {
	req := reconcile.Request{NamespacedName: s.key}
	s.reconciler.Wake(req)
	return s.reconciler.Reconcile(s.t.Context(), req)
}

// thing returns the Thing as stored, nil if it is gone.
func (s *stage) thing() *thing.Thing {
	s.t.Helper()
	mg := &thing.Thing{}
	if err := s.env.Client.Get(s.t.Context(), s.key, mg); err != nil {
		if client.IgnoreNotFound(err) != nil {
			s.t.Fatal(err)
		}
		return nil
	}
	return mg
}

// edit changes the stored Thing as a user would.
func (s *stage) edit(change func(*thing.Thing)) {
	s.t.Helper()
	mg := s.thing()
	change(mg)
	if err := s.env.Client.Update(s.t.Context(), mg); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) annotate(key, value string) {
	s.t.Helper()
	s.edit(func(mg *thing.Thing) {
		if mg.Annotations == nil {
			mg.Annotations = map[string]string{}
		}
		mg.Annotations[key] = value
		if value == "" {
			delete(mg.Annotations, key)
		}
	})
}

func (s *stage) delete() {
	s.t.Helper()
	if err := s.env.Client.Delete(s.t.Context(), s.thing()); err != nil {
		s.t.Fatal(err)
	}
}

// connection returns the data of the connection secret as text, nil if there is none.
func (s *stage) connection() map[string]string {
	s.t.Helper()
	secret := &corev1.Secret{}
	if err := s.env.Client.Get(s.t.Context(), s.secret, secret); err != nil {
		if client.IgnoreNotFound(err) != nil {
			s.t.Fatal(err)
		}
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
	return s.thing().GetCondition(xpv1.TypeSynced).Message
}

func (s *stage) wantMessage(parts ...string) {
	s.t.Helper()
	for _, part := range parts {
		if got := s.message(); !strings.Contains(got, part) {
			s.t.Errorf("the message of condition Synced should say %q, it says %q", part, got)
		}
	}
}

// failOnce makes the next call of a verb fail.
func (s *stage) failOnce(verb string, refuse, lose error) {
	s.system.Do(func(sys *thing.System) {
		sys.Fault = func(called string) (error, error) {
			if called != verb {
				return nil, nil
			}
			sys.Fault = nil
			return refuse, lose
		}
	})
}

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := thing.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return scheme
}
