// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package providerconfig_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bowline-dev/bowline/internal/testkit/kinds"
	"github.com/bowline-dev/bowline/pkg/event"
)

// One configuration from its first user to its deletion: every write, and what users see.
func TestLife(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	secret, config, item := s.secret("key"), s.config("c", "key"), s.item("a", "c")
	s.Create(secret, config)
	s.start()
	const path = "/apis/pc.test.bowline.dev/v1/providerconfigs/c"
	secretPath := "/api/v1/namespaces/" + s.env.Namespace + "/secrets/key"

	s.Create(item)
	s.env.Eventually(t, "the count is shown (K60)", s.reports(config, 1, ""))
	s.env.Eventually(t, "the configuration is protected (N12)", s.protected(config, true))
	s.env.Eventually(t, "the secret is protected (N29)", s.protected(secret, true))
	s.expectWrites("the first user (N12)", "PATCH "+path, "PATCH "+secretPath, "PATCH "+path+"/status")

	s.touch(config)
	s.touch(item)
	s.touch(secret)
	s.expectWrites("passes over unchanged state (N13)")

	s.Delete(config)
	s.env.Eventually(t, "the reason is reported (N32)", s.reports(config, 1, "InUse", "1 object: Item "+item.Name+".", "Delete"))
	s.Delete(secret)
	s.touch(config)
	s.expectWrites("the deletion (N13)", "PATCH "+path+"/status")
	if diff := cmp.Diff([]event.Reason{"InUse"}, s.events.Take()); diff != "" {
		t.Errorf("events -want +got:\n%s", diff)
	}

	s.Delete(item)
	s.env.Eventually(t, "the configuration is deleted (N12)", s.deleted(config))
	s.env.Eventually(t, "the secret is deleted (N29)", s.deleted(secret))
	s.expectWrites("the release (N13)", "PATCH "+secretPath, "PATCH "+path)

	absent := reconcile.Request{NamespacedName: types.NamespacedName{Name: config.Name}}
	if result, err := s.last.Reconcile(t.Context(), absent); err != nil || result != (reconcile.Result{}) {
		t.Errorf("a deleted object: %+v, %v (R16)", result, err)
	}
}

// touch changes an annotation that the controller ignores, and gives it time for a pass.
func (s *stage) touch(o client.Object) {
	s.t.Helper()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"touched":"%d"}}}`, time.Now().UnixNano()))
	if err := s.env.Client.Patch(s.t.Context(), o, patch); err != nil {
		s.t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
}

func (s *stage) expectWrites(when string, want ...string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.takeWrites()); diff != "" {
		s.t.Errorf("%s: writes -want +got:\n%s", when, diff)
	}
}

// An unused configuration is not protected; one whose last user is deleted is released.
func TestUnused(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	secret, config, item := s.secret("key"), s.config("c", "key"), s.item("a", "c")
	s.Create(secret, config)
	s.start()
	s.touch(config)
	s.expectWrites("an unused configuration (N12)")
	s.Create(item)
	s.env.Eventually(t, "protected (N12)", s.protected(secret, true))
	s.Delete(item)
	s.env.Eventually(t, "the configuration is released (N12)", s.protected(config, false))
	s.env.Eventually(t, "the secret is released (N29)", s.protected(secret, false))
	s.env.Eventually(t, "the count is shown (K60)", s.reports(config, 0, ""))
	if len(config.Annotations)+len(secret.Annotations) != 1 {
		t.Errorf("annotations stay: %v %v", config.Annotations, secret.Annotations)
	}
}

// A thousand users at once make few writes, and are counted to the last one.
func TestBurst(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	config := s.config("c", "key")
	s.Create(config)
	s.start()
	began := time.Now()
	var workers errgroup.Group
	workers.SetLimit(8)
	for i := range 1000 {
		workers.Go(func() error { return s.env.Client.Create(t.Context(), s.item(fmt.Sprintf("u%04d", i), "c")) })
	}
	if err := workers.Wait(); err != nil {
		t.Fatal(err)
	}
	s.env.Eventually(t, "all are counted (K60)", s.reports(config, 1000, ""))
	most := int(time.Since(began)/time.Second) + 2
	writes := 0
	all := s.takeWrites()
	for _, w := range all {
		if strings.HasSuffix(w, "/status") {
			writes++
		}
	}
	if writes > most {
		t.Errorf("%d status writes in %v (N12)", writes, time.Since(began))
	}
	if others := len(all) - writes; others != 1 {
		t.Errorf("%d writes besides, where the finalizer needs one: %v (N13)", others, all)
	}
	s.Delete(config)
	s.env.Eventually(t, "pages are all read (N29)", s.reports(config, 1000, "InUse", "1000 objects: Item ", "u0004 and 995 more."))
	if err := s.env.Client.DeleteAllOf(t.Context(), &kinds.Item{}, client.MatchingLabels(s.Labels)); err != nil {
		t.Fatal(err)
	}
	s.env.Eventually(t, "the configuration is deleted (N12)", s.deleted(config))
}

func foreign(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	u.SetGroupVersionKind(groups().Cluster.WithKind("Foreign"))
	u.SetName(name)
	return u
}

// Users of kinds that another process serves keep a configuration, too.
func TestForeignKinds(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	secret, config, item, other := s.secret("key"), s.config("c", "key"), s.item("a", "c"), foreign(s.env.Prefix+"s")
	other.SetLabels(s.Labels)
	if err := unstructured.SetNestedField(other.Object, config.Name, "spec", "providerConfigRef", "name"); err != nil {
		t.Fatal(err)
	}
	s.Create(secret, config, item, other)
	s.start()
	s.env.Eventually(t, "its own users count (K60)", s.reports(config, 1, ""))
	s.Delete(item)
	s.env.Eventually(t, "its own users are deleted (K60)", s.reports(config, 0, ""))
	if err := s.protected(config, true)(t.Context()); err != nil {
		t.Errorf("in use elsewhere: %v (N29)", err)
	}
	s.Delete(config)
	s.env.Eventually(t, "the user is reported (N29)", s.reports(config, 0, "InUse", "Foreign "+other.GetName()))
	if err := s.protected(secret, true)(t.Context()); err != nil {
		t.Errorf("its secret: %v (N29)", err)
	}
	s.Delete(other)
	s.env.Eventually(t, "the configuration is deleted (N29)", s.deleted(config))
	s.env.Eventually(t, "the secret is released (N29)", s.protected(secret, false))
}

// Nothing is released while the API server does not answer every question.
func TestDoubt(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	var refuse atomic.Value
	refuse.Store([]string{"/foreigns"})
	s.read = func(req *http.Request) error {
		if slices.ContainsFunc(refuse.Load().([]string), func(end string) bool { return strings.HasSuffix(req.URL.Path, end) }) {
			return errors.New("refused by the test")
		}
		return nil
	}
	config, item := s.config("c", "key"), s.item("a", "c")
	s.Create(config, item)
	s.start()
	s.env.Eventually(t, "protected (N12)", s.protected(config, true))
	s.Delete(config, item)
	s.env.Eventually(t, "a kind cannot be listed (N29)", s.reports(config, 0, "UsersUnknown", "listing Foreign", "refused by the test"))
	refuse.Store([]string{"/customresourcedefinitions", "/foreigns"}) // a pass may have listed the kinds a moment ago
	s.env.Eventually(t, "kinds cannot be listed (N29)", s.reports(config, 0, "UsersUnknown", "listing the kinds"))
	if diff := cmp.Diff([]event.Reason{"UsersUnknown"}, s.events.Take()); diff != "" {
		t.Errorf("events -want +got:\n%s", diff)
	}
	refuse.Store([]string{})
	s.env.Eventually(t, "the configuration is deleted (N29)", s.deleted(config))
}

// A configuration whose Secret cannot be released stays, and reports why.
func TestCannotRelease(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	var refuse atomic.Bool
	s.write = func(req *http.Request) error {
		if refuse.Load() && strings.Contains(req.URL.Path, "/secrets/") {
			return errors.New("refused by the test")
		}
		return nil
	}
	secret, config, item := s.secret("key"), s.config("c", "key"), s.item("a", "c")
	s.Create(secret, config, item)
	s.start()
	s.env.Eventually(t, "protected (N29)", s.protected(secret, true))
	refuse.Store(true)
	s.Delete(item, config)
	s.env.Eventually(t, "the reason is reported (N32)", s.reports(config, 0, "CannotRelease", "secret "+s.env.Namespace+"/key", "refused by the test"))
	refuse.Store(false)
	s.env.Eventually(t, "the configuration is deleted (N12)", s.deleted(config))
	if err := s.protected(secret, false)(t.Context()); err != nil {
		t.Error(err)
	}
}

// Another client writes to the configuration and to the Secret just before the controller.
func TestConflict(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	secret, config, item := s.secret("key"), s.config("c", "key"), s.item("a", "c")
	var mu sync.Mutex
	times := map[string]int{}
	s.write = func(req *http.Request) error {
		mu.Lock()
		defer mu.Unlock()
		for _, o := range []client.Object{s.config("c", "key"), s.secret("key")} {
			if !strings.HasSuffix(req.URL.Path, "/"+o.GetName()) || times[o.GetName()] == 2 {
				continue
			}
			times[o.GetName()]++
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"theirs":"%d"},"finalizers":["test.bowline.dev/theirs"]}}`, times[o.GetName()])
			if err := s.env.Client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, patch)); err != nil {
				return err
			}
		}
		return nil
	}
	s.Create(secret, config, item)
	s.start()
	for _, o := range []client.Object{config, secret} {
		s.env.Eventually(t, "both writes are there (R17)", func(ctx context.Context) error {
			if err := s.protected(o, true)(ctx); err != nil {
				return err
			}
			if o.GetAnnotations()["theirs"] != "2" || len(o.GetFinalizers()) != 2 {
				return fmt.Errorf("annotations %v, finalizers %v", o.GetAnnotations(), o.GetFinalizers())
			}
			return nil
		})
	}
}

// A reconciler for a kind that is no ProviderConfig panics at once.
func TestMisuse(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.kind = groups().Cluster.WithKind("Item")
	defer func() {
		if cause := fmt.Sprint(recover()); !strings.Contains(cause, "does not satisfy resource.ProviderConfig") {
			t.Errorf("panic: %s", cause)
		}
	}()
	s.start()
}
