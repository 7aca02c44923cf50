// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package providerconfig_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/kinds"
	"github.com/bowline-dev/bowline/pkg/clients/credentials"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/reconciler/providerconfig"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m, definitions()...)) }

// groups of the kinds.
func groups() kinds.Groups { return kinds.In("pc") }

// definitions of the kinds, and of kind Foreign in the cluster-scoped group, a user that no scheme knows.
func definitions() []*apiextensionsv1.CustomResourceDefinition {
	foreign := kinds.Definition(groups().Cluster, "Foreign", apiextensionsv1.ClusterScoped)
	foreign.Labels = map[string]string{providerconfig.LabelProviderConfig: groups().Cluster.Group}
	return append(groups().Definitions(), foreign)
}

// A stage is a share of the API server and a controller as a provider runs it, which sees the objects of this test only.
type stage struct {
	*kinds.Own
	t      *testing.T
	env    *controlplanetest.Env
	kind   schema.GroupVersionKind
	user   schema.GroupVersionKind
	events *recorder
	// write is called before each write but events; its error replaces the response.
	write func(*http.Request) error
	// read is called before each other request but watches.
	read func(*http.Request) error

	mu     sync.Mutex
	writes []string
	stop   func()
	last   *providerconfig.Reconciler
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{
		t: t, env: controlplanetest.NewWithScheme(t, newScheme(t)), events: &recorder{},
		kind: groups().Cluster.WithKind("ProviderConfig"), user: groups().Cluster.WithKind("Item"),
	}
	s.Own = groups().NewOwn(t, s.env.Client, s.env.Namespace)
	return s
}

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := groups().AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return scheme
}

// start runs the controller until the test ends or stop is called.
func (s *stage) start(o ...providerconfig.Option) {
	s.t.Helper()
	rc := fault.Intercept(s.env.Config, s.answer)
	options := manager.Options{
		Scheme: newScheme(s.t),
		Cache:  cache.Options{DefaultLabelSelector: labels.SelectorFromSet(s.Labels)},
	}
	s.stop = controlplanetest.RunManager(s.t, rc, options, func(mgr manager.Manager) error {
		secrets, err := credentials.NewSecrets(mgr)
		if err != nil {
			return err
		}
		s.last = providerconfig.NewReconciler(mgr, s.kind, append([]providerconfig.Option{
			providerconfig.WithUsers(s.user), providerconfig.WithSecrets(secrets), providerconfig.WithRecorder(s.events),
			providerconfig.WithPollInterval(200 * time.Millisecond),
		}, o...)...)
		return s.last.SetupWithManager(mgr)
	})
}

func (s *stage) secret(name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: s.Meta(s.env.Namespace, name), StringData: map[string]string{"key": "x"}}
}

// config is a cluster-scoped configuration that names a Secret of the test's namespace.
func (s *stage) config(name, secret string) *kinds.ProviderConfig {
	c := &kinds.ProviderConfig{}
	c.ObjectMeta, c.Spec.Credentials = s.Meta("", s.env.Prefix+name), s.credentials(s.env.Namespace, secret)
	return c
}

func (s *stage) credentials(namespace, secret string) xpv1.ProviderCredentials {
	return xpv1.ProviderCredentials{
		Source:    xpv1.CredentialsSourceSecret,
		SecretRef: &xpv1.SecretKeySelector{Namespace: namespace, Name: secret, Key: "key"},
	}
}

// item is a user of a configuration.
func (s *stage) item(name, of string) *kinds.Item {
	u := &kinds.Item{}
	u.ObjectMeta = s.Meta("", s.env.Prefix+name)
	u.Spec.ProviderConfigReference = &xpv1.ProviderConfigReference{Name: s.env.Prefix + of}
	return u
}

// protected fails until the object carries the finalizer, or until it does not.
func (s *stage) protected(o client.Object, want bool) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := s.env.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		finalizer := providerconfig.Finalizer
		if _, ok := o.(*corev1.Secret); ok {
			finalizer = providerconfig.SecretFinalizer
		}
		if slices.Contains(o.GetFinalizers(), finalizer) != want {
			return fmt.Errorf("%s: finalizers %v, annotations %v", o.GetName(), o.GetFinalizers(), o.GetAnnotations())
		}
		return nil
	}
}

func (s *stage) deleted(o client.Object) func(context.Context) error {
	return testkit.Gone(s.env.Client, o)
}

// reports fails until the configuration has this number of users and this reason and these words in condition Ready.
func (s *stage) reports(c *kinds.ProviderConfig, users int64, reason xpv1.ConditionReason, words ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := s.env.Client.Get(ctx, client.ObjectKeyFromObject(c), c); err != nil {
			return err
		}
		ready := c.GetCondition(xpv1.TypeReady)
		if c.GetUsers() != users || ready.Reason != reason {
			return fmt.Errorf("%d users, Ready %s: %s", c.GetUsers(), ready.Reason, ready.Message)
		}
		for _, word := range words {
			if !strings.Contains(ready.Message, word) {
				return fmt.Errorf("the message lacks %q: %q", word, ready.Message)
			}
		}
		return nil
	}
}

// takeWrites returns the writes so far, without the test's name, and forgets them.
func (s *stage) takeWrites() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	writes := s.writes
	s.writes = nil
	return writes
}

func (s *stage) answer(req *http.Request, next http.RoundTripper) (*http.Response, error) {
	ask := s.read
	if req.Method != http.MethodGet {
		ask = s.write
		s.mu.Lock()
		s.writes = append(s.writes, req.Method+" "+strings.ReplaceAll(req.URL.Path, s.env.Prefix, ""))
		s.mu.Unlock()
	} else if fault.IsWatch(req) {
		ask = nil
	}
	if ask != nil {
		if err := ask(req); err != nil {
			return nil, err
		}
	}
	return next.RoundTrip(req)
}

// recorder keeps events in memory, and refuses them.
type recorder struct{ testkit.Events }

func (r *recorder) Event(ctx context.Context, o client.Object, e event.Event) error {
	return errors.Join(r.Events.Event(ctx, o, e), errors.New("events are refused in a namespace that is being deleted"))
}
