// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/kinds"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(controlplanetest.Main(m, depotKinds().Definitions()...))
}

// A stage is a depot, a share of the API server, and the provider's controllers between the two, which see the objects of
// this test only.
type stage struct {
	*controlplanetest.Env
	*kinds.Own
	t       *testing.T
	depot   *depot
	journal *clientJournal
	events  *recorder
}

// newStage has a depot that knows the key "first", and a Secret "key" with it.
func newStage(t *testing.T) *stage {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := depotKinds().AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	s := &stage{Env: controlplanetest.NewWithScheme(t, scheme), t: t, journal: &clientJournal{}, events: &recorder{}}
	var stop func()
	s.depot, stop = newDepot("first")
	t.Cleanup(stop)
	s.Own = depotKinds().NewOwn(t, s.Client, s.Namespace)
	s.Create(&corev1.Secret{ObjectMeta: s.Meta(s.Namespace, "key"), Data: map[string][]byte{"key": []byte("first")}})
	return s
}

// start runs the controllers of a provider until the test ends or stop is called. Objects are polled every 100 ms.
func (s *stage) start(p provider.Provider, o ...managed.ReconcilerOption) (stop func()) {
	s.t.Helper()
	return s.startAs(s.Config, p, o...)
}

// startStage returns a stage on which the provider runs.
func startStage(t *testing.T, o ...managed.ReconcilerOption) *stage {
	t.Helper()
	s := newStage(t)
	s.start(newProvider(s.journal.factory(0)), o...)
	return s
}

func (s *stage) startAs(rc *rest.Config, p provider.Provider, o ...managed.ReconcilerOption) (stop func()) {
	s.t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		s.t.Fatal(err)
	}
	options := managed.CacheOptions()
	options.DefaultLabelSelector = labels.SelectorFromSet(s.Labels)
	for object, by := range options.ByObject { // connection secrets carry no label
		by.Namespaces = map[string]cache.Config{s.Namespace: {LabelSelector: labels.Everything()}}
		options.ByObject[object] = by
	}
	fast := []managed.ReconcilerOption{
		managed.WithPollInterval(100 * time.Millisecond), managed.WithBackoff(50*time.Millisecond, time.Second),
	}
	if s.events != nil {
		fast = append(fast, managed.WithRecorder(s.events))
	}
	prioritized := config.Controller{UsePriorityQueue: new(true)} // as in programs: the controllers mend it for themselves
	run := ctrl.Options{Scheme: scheme, Cache: options, Controller: prioritized}
	return controlplanetest.RunManager(s.t, rc, run, func(mgr ctrl.Manager) error {
		return p.SetupWithManager(mgr, append(fast, o...)...)
	})
}

// rotate sets the key in the Secret "key", which the depot then accepts.
func (s *stage) rotate(to string) {
	s.t.Helper()
	s.depot.allow(to)
	secret := &corev1.Secret{ObjectMeta: s.Meta(s.Namespace, "key")}
	s.Change(secret, func() { secret.Data = map[string][]byte{"key": []byte(to)} })
}

// spec reaches the depot with the key in a Secret of the test's namespace.
func (s *stage) spec(secret string) kinds.ConfigSpec {
	spec := kinds.ConfigSpec{Endpoint: s.depot.URL}
	spec.Credentials = xpv1.ProviderCredentials{
		Source:    xpv1.CredentialsSourceSecret,
		SecretRef: &xpv1.SecretKeySelector{Namespace: s.Namespace, Name: secret, Key: "key"},
	}
	return spec
}

// teamConfig is a configuration of the test's namespace with the Secret "key".
func (s *stage) teamConfig(name string) *kinds.TeamProviderConfig {
	return &kinds.TeamProviderConfig{ObjectMeta: s.Meta(s.Namespace, name), Spec: s.spec("key")}
}

// teamItem uses a configuration of the test's namespace.
func (s *stage) teamItem(name, config string) *kinds.TeamItem {
	i := &kinds.TeamItem{ObjectMeta: s.Meta(s.Namespace, name)}
	i.Spec.ProviderConfigReference = &xpv1.ProviderConfigReference{Kind: xpv1.ProviderConfigKind, Name: config}
	return i
}

// teamItems are many of them.
func (s *stage) teamItems(n int, config string) (items []*kinds.TeamItem) {
	s.t.Helper()
	for i := range n {
		items = append(items, s.teamItem(fmt.Sprintf("item-%d", i), config))
		s.Create(items[i])
	}
	return items
}

// settled waits until the objects were reconciled in their present form and are Ready.
func (s *stage) settled(objects ...resource.Managed) {
	s.t.Helper()
	for _, mg := range objects {
		s.Eventually(s.t, mg.GetName()+" is Ready", testkit.Settled(s.Client, mg))
	}
}

func allSettled[T resource.Managed](s *stage, items []T) {
	s.t.Helper()
	for _, i := range items {
		s.settled(i)
	}
}

// until waits until a number has a value.
func (s *stage) until(what string, number func() int, want int) {
	s.t.Helper()
	s.wait(fmt.Sprintf("%s %d", what, want), number, func(n int) bool { return n == want })
}

// atLeast waits until a number has a value or a greater one.
func (s *stage) atLeast(what string, number func() int, want int) {
	s.t.Helper()
	s.wait(fmt.Sprintf("%s %d or more", what, want), number, func(n int) bool { return n >= want })
}

func (s *stage) wait(what string, number func() int, ok func(int) bool) {
	s.t.Helper()
	s.Eventually(s.t, what, func(context.Context) error {
		if got := number(); !ok(got) {
			return fmt.Errorf("%d", got)
		}
		return nil
	})
}

// warned waits for a warning event with some words.
func (s *stage) warned(words string) {
	s.t.Helper()
	s.Eventually(s.t, "a warning: "+words, func(context.Context) error {
		all := s.events.warnings()
		if !slices.ContainsFunc(all, func(w string) bool { return strings.Contains(w, words) }) {
			return fmt.Errorf("warnings %q", all)
		}
		return nil
	})
}

// failIf is a subtest that fails with the message if something is wrong.
func failIf(t *testing.T, name string, wrong bool, format string, args ...any) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Helper()
		if wrong {
			t.Errorf(format, args...)
		}
	})
}

func (s *stage) created() int { return len(s.journal.connections()) }

// recorder keeps warnings in memory.
type recorder struct {
	mu  sync.Mutex
	all []string
}

func (r *recorder) Event(_ context.Context, o client.Object, e event.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Type == corev1.EventTypeWarning {
		r.all = append(r.all, fmt.Sprintf("%s %s: %s", o.GetName(), e.Reason, e.Message))
	}
	return nil
}

// warnings so far.
func (r *recorder) warnings() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}
