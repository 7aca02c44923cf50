// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package secret_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/reconciler/secret"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m, shop.CRDs()...)) }

// A stage is a share of the API server: a team's namespace, that of *controlplanetest.Env, and one that the team cannot see.
type stage struct {
	*controlplanetest.Env
	t     *testing.T
	vault string // the other namespace
	// write is told of each request that changes something.
	write func(*http.Request)
	// read is asked at each other request; an error is returned in place of an answer.
	read func(*http.Request) error

	mu       sync.Mutex
	requests []string  // as METHOD path, without watches
	last     time.Time // when one was made
	errors   []string  // that controllers logged
}

func newStage(t *testing.T) *stage {
	t.Helper()
	scheme := newScheme(t)
	vault := controlplanetest.NewWithScheme(t, scheme)
	return &stage{Env: controlplanetest.NewWithScheme(t, scheme), t: t, vault: vault.Namespace}
}

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, shop.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// config is access whose requests the stage sees.
func (s *stage) config() *rest.Config {
	return fault.Intercept(s.Config, s.answer)
}

// options are those of a provider's manager, which sees the objects of this test only.
func (s *stage) options() manager.Options {
	options := manager.Options{Scheme: newScheme(s.t), Cache: managed.CacheOptions(), Logger: funcr.New(s.log, funcr.Options{})}
	options.Cache.DefaultNamespaces = map[string]cache.Config{s.Namespace: {}, s.vault: {}}
	return options
}

// start runs the controller of all kinds until the test ends.
func (s *stage) start() {
	s.t.Helper()
	controlplanetest.RunManager(s.t, s.config(), s.options(), func(mgr manager.Manager) error {
		return secret.NewReconciler(mgr).SetupWithManager(mgr)
	})
}

// byHand returns a reconciler without a cache, for a test that calls it.
func (s *stage) byHand() *secret.Reconciler {
	s.t.Helper()
	return secret.NewReconciler(testkit.NewManager(s.t, s.config(), s.options()))
}

// source is the connection Secret of a managed resource.
func (s *stage) source(name string, data map[string]string, controller ...metav1.OwnerReference) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.vault, Name: name, OwnerReferences: controller},
		Type:       xpv1.SecretTypeConnection, Data: content(data),
	}
}

// copy is the connection Secret of a claim, before anybody wrote to it.
func (s *stage) copy(name string, controller ...metav1.OwnerReference) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name, OwnerReferences: controller},
		Type:       xpv1.SecretTypeConnection,
	}
}

// claim is one of the team, with templates if they are not empty.
func (s *stage) claim(name, templates string) *shop.ItemClaim {
	claim := &shop.ItemClaim{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}
	setTemplates(claim, templates)
	return claim
}

func setTemplates(claim client.Object, templates string) {
	claim.SetAnnotations(map[string]string{connection.AnnotationKeyConnectionKeys: templates})
	if templates == "" {
		claim.SetAnnotations(nil)
	}
}

func (s *stage) create(objects ...client.Object) {
	s.t.Helper()
	for _, o := range objects {
		if err := s.Client.Create(s.t.Context(), o); err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() { _ = s.Client.Delete(context.Background(), o) })
	}
}

// change changes an object as a person does.
func (s *stage) change(o client.Object, do func()) {
	s.t.Helper()
	before := o.DeepCopyObject().(client.Object)
	do()
	if err := s.Client.Patch(s.t.Context(), o, client.MergeFrom(before)); err != nil {
		s.t.Fatal(err)
	}
}

// agree has both Secrets agree, as the binder does.
func (s *stage) agree(from, to *corev1.Secret) {
	s.t.Helper()
	s.change(from, func() { meta.AllowPropagationTo(from, to) })
	s.change(to, func() { meta.AllowPropagationFrom(to, from) })
}

// bound makes a source and a copy that belong to a claim, and agree.
func (s *stage) bound(name string, data map[string]string, claim *shop.ItemClaim) (from, to *corev1.Secret) {
	s.t.Helper()
	s.create(claim)
	from, to = s.source(name, data), s.copy(name, meta.AsController(claim, shop.ItemClaimGroupVersionKind))
	s.create(from, to)
	s.agree(from, to)
	return from, to
}

// holds waits until a Secret has the data, and returns how long that took.
func (s *stage) holds(secret *corev1.Secret, data map[string]string) time.Duration {
	s.t.Helper()
	begun := time.Now()
	s.Eventually(s.t, "secret "+secret.Name+" is in step", func(ctx context.Context) error {
		if err := s.Client.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
			return err
		}
		return holds(secret, data)
	})
	return time.Since(begun)
}

func holds(secret *corev1.Secret, data map[string]string) error {
	if !maps.EqualFunc(secret.Data, content(data), bytes.Equal) {
		return fmt.Errorf("secret %s holds %q instead of %q", secret.Name, secret.Data, data)
	}
	return nil
}

func content(data map[string]string) map[string][]byte {
	c := map[string][]byte{}
	for key, value := range data {
		c[key] = []byte(value)
	}
	return c
}

// takeRequests returns the requests so far whose method is one of those, and forgets all.
func (s *stage) takeRequests(methods ...string) (some []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, request := range s.requests {
		for _, method := range methods {
			if strings.HasPrefix(request, method+" ") {
				some = append(some, request)
			}
		}
	}
	s.requests = nil
	return some
}

func (s *stage) lastRequest() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// log keeps what controllers call an error.
func (s *stage) log(_, line string) {
	if strings.Contains(line, "Reconciler error") {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.errors = append(s.errors, line)
	}
}

// takeErrors returns the errors so far about a Secret of the team and forgets all.
func (s *stage) takeErrors(about *corev1.Secret) (some []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.errors {
		if strings.Contains(line, client.ObjectKeyFromObject(about).String()) {
			some = append(some, line)
		}
	}
	s.errors = nil
	return some
}

func (s *stage) answer(req *http.Request, next http.RoundTripper) (*http.Response, error) {
	if !fault.IsWatch(req) {
		s.mu.Lock()
		s.requests, s.last = append(s.requests, req.Method+" "+req.URL.Path), time.Now()
		s.mu.Unlock()
	}
	switch {
	case req.Method != http.MethodGet && s.write != nil:
		s.write(req)
	case req.Method == http.MethodGet && s.read != nil:
		if err := s.read(req); err != nil {
			return nil, err
		}
	}
	return next.RoundTrip(req)
}

func ownedBy(o client.Object, kind schema.GroupVersionKind) metav1.OwnerReference {
	return meta.AsController(o, kind)
}

// somebody is an object of the team that controls a copy and is no claim.
func (s *stage) somebody() metav1.OwnerReference {
	s.t.Helper()
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, GenerateName: "somebody-"}}
	s.create(owner)
	return ownedBy(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
}
