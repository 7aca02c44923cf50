// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/meta"
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

func TestVendor(t *testing.T) {
	t.Parallel()
	v, s := &vendor{sizes: map[string]int64{}}, &shop.Item{ObjectMeta: metav1.ObjectMeta{UID: "uid"}}
	meta.SetExternalName(s, "a")
	observe := func(exists, upToDate bool) {
		t.Helper()
		o, err := v.Observe(t.Context(), s)
		if err != nil || o.ResourceExists != exists || o.ResourceUpToDate != upToDate || exists && *o.Owner != "uid" {
			t.Errorf("observed %+v, %v", o, err)
		}
	}
	observe(false, false)
	s.Spec.ForProvider.Size = new(int64(1))
	_, created := v.Create(t.Context(), s)
	observe(true, true)
	v.sizes = map[string]int64{} // the vendor of another process
	meta.SetExternalCreateSucceeded(s, time.Now())
	s.Spec.ForProvider.Size = new(int64(2))
	observe(true, false)
	_, updated := v.Update(t.Context(), s)
	observe(true, true)
	deleted := v.Delete(t.Context(), s)
	observe(false, false)
	if err := errors.Join(created, updated, deleted); err != nil {
		t.Error(err)
	}
	if calls := v.calls.String(); calls != `{"create": 1, "delete": 1, "observe": 5, "update": 1}` {
		t.Error(calls)
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

func TestMeterSeesThisProcess(t *testing.T) {
	t.Parallel()
	m := newMeter(harness, os.Getpid())
	for begin := time.Now(); time.Since(begin) < 50*time.Millisecond; { // five ticks of work
	}
	used, err := m.stop()
	if err != nil || used.cpu <= 0 || used.anonymous <= 0 || used.resident < used.anonymous {
		t.Errorf("used %+v, %v", used, err)
	}
	if total, err := machineCPU(); err != nil || total < used.cpu {
		t.Errorf("the machine spent %v, %v", total, err)
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(100 - i) // in the wrong order
	}
	for _, tc := range []struct {
		of      []time.Duration
		percent float64
		want    time.Duration
	}{
		{nil, 50, 0}, {[]time.Duration{7}, 99, 7}, {[]time.Duration{3, 1, 2}, 50, 2}, {[]time.Duration{4, 3, 2, 1}, 50, 2},
		{hundred, 50, 50}, {hundred, 99, 99}, {hundred, 99.5, 100}, {hundred, 100, 100}, {hundred, 0, 1},
	} {
		if got := percentile(tc.of, tc.percent); got != tc.want {
			t.Errorf("p%v of %v is %d, want %d", tc.percent, tc.of, got, tc.want)
		}
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	before, after := &report{Settings: []setting{{"objects", "1000"}}}, &report{Settings: []setting{{"objects", "500"}}}
	before.add("create", "seconds", 12.5)
	before.add("create", "requests", 0)
	after.add("create", "seconds", 9.956)
	after.add("create", "requests", 0)
	after.add("create", "objects per second", 100.4)
	after.add("idle", "API requests", 0.01234)
	path := filepath.Join(t.TempDir(), "report.json")
	if err := after.writeFile(path); err != nil {
		t.Fatal(err)
	}
	read, err := readReport(path)
	if err != nil {
		t.Fatal(err)
	}
	var table, comparison strings.Builder
	if err := errors.Join(writeReports(&table, read), writeReports(&comparison, before, read)); err != nil {
		t.Fatal(err)
	}
	const wantTable = `objects: 500

CREATE
  seconds               9.96
  requests                 0
  objects per second     100

IDLE
  API requests        0.0123
`
	const wantComparison = `objects: 1000 -> 500

CREATE                before   after   change
  seconds               12.5    9.96  -20.4 %
  requests                 0       0      0 %
  objects per second       -     100        -

IDLE                  before   after   change
  API requests             -  0.0123        -
`
	if diff := cmp.Diff(wantTable+wantComparison, table.String()+comparison.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := change(0, 1); got != "from 0" {
		t.Error(got)
	}
	if err := os.WriteFile(path, []byte("no report"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readReport(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("an error that does not name the file: %v", err)
	}
}
