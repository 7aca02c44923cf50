// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/cli"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/test/bench/page"
)

func TestRequestName(t *testing.T) {
	t.Parallel()
	for request, want := range map[string]string{
		"POST /api/v1/namespaces/default/secrets":         "create secrets",
		"PATCH /apis/bench.bowline.dev/v1/servers/a":      "patch servers",
		"PATCH /apis/bowline.dev/v1/servers/a/status?x=y": "patch servers/status",
		"GET /api/v1/namespaces/default/secrets/a":        "get secrets",
		"GET /api/v1/secrets?limit=500":                   "list secrets",
		"GET /api/v1/secrets?watch=true":                  "watch secrets",
		"GET /apis/bench.bowline.dev/v1":                  "get /apis/bench.bowline.dev/v1",
		"GET /readyz":                                     "get /readyz",
	} {
		method, url, _ := strings.Cut(request, " ")
		if got := requestName(httptest.NewRequest(method, url, nil)); got != want {
			t.Errorf("%s: %q, want %q", request, got, want)
		}
	}
}

// TestMain makes the test binary the programs that the bench starts: bowline, and the controllers.
func TestMain(m *testing.M) {
	switch settings := os.Getenv(settingsVariable); {
	case settings != "":
		os.Exit(runControllers(settings))
	case len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-"):
		os.Exit(cli.Main())
	}
	ctrl.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// A run with few objects measures everything that the page shows.
func TestRun(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, err := measure(t.Context(), options{
		objects: 3, workers: 2, measure: []string{measureStart, measureObjects, measureFloor}, bowline: self,
		settle: time.Millisecond, rest: time.Second, floorWorkers: []int{2},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := page.Write(t.TempDir(), r); err != nil {
		t.Error(err)
	}
	type calls struct{ create, update, delete float64 }
	for phase, want := range map[string]calls{"create": {create: 1}, "idle": {}, "restart": {}, "update": {update: 1}, "delete": {delete: 1}} {
		var got calls
		for verb, n := range map[string]*float64{"create": &got.create, "update": &got.update, "delete": &got.delete} {
			*n, _ = r.Get(phase, "external calls: "+verb+" per object")
		}
		if got != want {
			t.Errorf("%s: external calls per object %+v, want %+v", phase, got, want)
		}
	}
	if polls, _ := r.Get("idle", "external calls: observe per object"); polls == 0 {
		t.Error("nothing was polled")
	}
}

func TestWork(t *testing.T) {
	t.Parallel()
	item := func(name string, size int64, c ...xpv1.Condition) *shop.Item {
		s := &shop.Item{ObjectMeta: metav1.ObjectMeta{Name: name}}
		s.Status.AtProvider.Size = size
		s.SetConditions(c...)
		return s
	}
	ready := xpv1.Available()
	cases := map[string]struct {
		done    func(*shop.Item, bool) bool
		seen    []*shop.Item
		deleted bool
		missing string // empty if all are done
	}{
		"both are ready":      {readyAt(1), []*shop.Item{item("a", 1), item("b", 1, ready), item("a", 1, ready)}, false, ""},
		"one counts once":     {readyAt(1), []*shop.Item{item("a", 1, ready), item("a", 1, ready)}, false, "1 of 2 objects are done; b is not: nothing seen"},
		"another size":        {readyAt(2), []*shop.Item{item("a", 2, ready), item("b", 1, ready)}, false, "1 of 2 objects are done; b is not: {"},
		"unexpected objects":  {readyAt(1), []*shop.Item{item("c", 1, ready), item("d", 1, ready)}, false, "0 of 2 objects are done; a is not"},
		"both are deleted":    {isDeleted, []*shop.Item{item("a", 1), item("b", 1)}, true, ""},
		"ready is no deleted": {isDeleted, []*shop.Item{item("a", 1, ready), item("b", 1, ready)}, false, "0 of 2 objects are done"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWork(2, tc.done)
			w.begin("a")
			w.begin("b")
			for _, s := range tc.seen {
				w.see(s, tc.deleted, time.Now())
			}
			over := errors.New("time is over")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if tc.missing != "" {
				cancel(over)
			}
			took, end, err := w.wait(ctx)
			if tc.missing == "" && (err != nil || len(took) != 2 || end.IsZero()) {
				t.Errorf("took %v until %v, %v", took, end, err)
			}
			if tc.missing != "" && (!errors.Is(err, over) || !strings.HasPrefix(err.Error(), tc.missing)) {
				t.Errorf("got  %v\nwant %s", err, tc.missing)
			}
		})
	}
}
