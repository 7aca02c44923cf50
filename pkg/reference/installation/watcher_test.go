// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package installation_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/pkg/reference/installation"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m)) }

// A stage is a Watcher on a running manager, whose watches of definitions are counted while they are open.
type stage struct {
	env     *controlplanetest.Env
	group   string
	watcher *installation.Watcher
	kinds   chan schema.GroupVersionKind
	watches atomic.Int32
	looked  atomic.Int64 // when the server was last asked what it serves of the group, in Unix nanoseconds
	forbids bool         // to list and watch definitions
}

func newStage(t *testing.T, forbids bool) *stage {
	t.Helper()
	env := controlplanetest.New(t)
	s := &stage{env: env, group: strings.Trim(env.Prefix, "-") + ".test.bowline.dev", kinds: make(chan schema.GroupVersionKind, 10), forbids: forbids}
	t.Cleanup(func() {
		if open := s.watches.Load(); open != 0 {
			t.Errorf("%d watches are open after the manager has ended", open)
		}
	})
	controlplanetest.RunManager(t, fault.Intercept(env.Config, s.answer), manager.Options{}, func(mgr manager.Manager) error {
		s.watcher = installation.NewWatcher(mgr, func(kind schema.GroupVersionKind) { s.kinds <- kind })
		return nil
	})
	return s
}

func (s *stage) answer(req *http.Request, next http.RoundTripper) (*http.Response, error) {
	definitions := strings.Contains(req.URL.Path, "customresourcedefinitions")
	if strings.HasPrefix(req.URL.Path, "/apis/"+s.group) {
		s.looked.Store(time.Now().UnixNano())
	}
	if definitions && s.forbids {
		return &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody, Header: http.Header{}, Request: req}, nil
	}
	resp, err := next.RoundTrip(req)
	if err == nil && definitions && fault.IsWatch(req) {
		s.watches.Add(1)
		fault.OnClose(resp, func() { s.watches.Add(-1) })
	}
	return resp, err
}

func (s *stage) kind(name string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: s.group, Version: "v1", Kind: name}
}

func (s *stage) await(t *testing.T, name string) {
	t.Helper()
	if err := s.watcher.Await(s.kind(name)); err != nil {
		t.Fatal(err)
	}
}

func (s *stage) install(t *testing.T, name string) {
	t.Helper()
	plural := strings.ToLower(name) + "s"
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + s.group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: s.group,
			Scope: apiextensionsv1.ClusterScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: name, Plural: plural},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}},
			}},
		},
	}
	if err := s.env.Client.Create(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.env.Client.Delete(context.Background(), crd) }) // the test's own context has ended
}

// installed waits for the report of a kind.
func (s *stage) installed(t *testing.T, name string) {
	t.Helper()
	began := time.Now()
	select {
	case kind := <-s.kinds:
		if kind != s.kind(name) {
			t.Errorf("report of %s, want %s", kind, name)
		}
		t.Logf("reported after %s", time.Since(began).Round(time.Millisecond))
	case <-time.After(10 * time.Second):
		t.Fatalf("no report of %s", name)
	}
}

func (s *stage) watching(t *testing.T, want int32) {
	t.Helper()
	s.env.Eventually(t, fmt.Sprintf("%d watches are open", want), func(context.Context) error {
		if open := s.watches.Load(); open != want {
			return fmt.Errorf("%d are", open)
		}
		return nil
	})
}

func TestWatcher(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*testing.T, *stage){
		"a kind that is installed later (R167)": func(t *testing.T, s *stage) {
			s.await(t, "Late")
			s.watching(t, 1)
			s.install(t, "Late")
			s.installed(t, "Late")
			s.watching(t, 0)
		},
		"one after the other, by one watch (R167)": func(t *testing.T, s *stage) {
			s.await(t, "First")
			s.await(t, "Second")
			s.await(t, "Second")
			s.watching(t, 1)
			s.install(t, "First")
			s.installed(t, "First")
			s.watching(t, 1)
			s.install(t, "Second")
			s.installed(t, "Second")
			s.watching(t, 0)
		},
		"a kind that is there already (R167)": func(t *testing.T, s *stage) {
			s.install(t, "Early")
			s.await(t, "Early")
			s.installed(t, "Early")
		},
		"a kind that is not awaited any more (R167)": func(t *testing.T, s *stage) {
			s.await(t, "Dismissed")
			s.watching(t, 1)
			s.watcher.Dismiss(s.kind("Dismissed"))
			if left := s.watcher.Awaited(); len(left) > 0 {
				t.Errorf("%v are awaited", left)
			}
			s.watching(t, 0)
			s.await(t, "Again")
			s.watching(t, 1)
			s.install(t, "Dismissed")
			s.install(t, "Again")
			s.installed(t, "Again")
		},
		"the manager ends meanwhile (R167)": func(t *testing.T, s *stage) {
			s.await(t, "Never")
			s.watching(t, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, false)
			test(t, s)
			if len(s.kinds) > 0 {
				t.Error("another kind is reported, too")
			}
		})
	}
}

// Where definitions cannot be watched only polling works, for as long as it takes.
func TestWatchForbidden(t *testing.T) {
	t.Parallel()
	t.Run("a kind that is installed long after (R167)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, true)
		s.await(t, "Late")
		began := time.Now()
		s.env.Eventually(t, "it looks after ten seconds", func(context.Context) error {
			if last := time.Unix(0, s.looked.Load()); last.Sub(began) < 10*time.Second {
				return fmt.Errorf("it looked last at %s", last.Format(time.TimeOnly))
			}
			return nil
		})
		s.install(t, "Late")
		s.installed(t, "Late")
	})
}

// Objects that need Networks continue when they are installed.
func Example() {
	setup := func(mgr manager.Manager) error {
		watcher := installation.NewWatcher(mgr, func(kind schema.GroupVersionKind) { fmt.Println("installed:", kind.Kind) })
		return watcher.Await(schema.GroupVersionKind{Group: "network.example.org", Version: "v1", Kind: "Network"})
	}
	_ = setup
}
