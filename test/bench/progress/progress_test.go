// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
)

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
		"both are ready":      {ReadyAt(1), []*shop.Item{item("a", 1), item("b", 1, ready), item("a", 1, ready)}, false, ""},
		"one counts once":     {ReadyAt(1), []*shop.Item{item("a", 1, ready), item("a", 1, ready)}, false, "1 of 2 objects are done; b is not: nothing seen"},
		"another size":        {ReadyAt(2), []*shop.Item{item("a", 2, ready), item("b", 1, ready)}, false, "1 of 2 objects are done; b is not: {"},
		"unexpected objects":  {ReadyAt(1), []*shop.Item{item("c", 1, ready), item("d", 1, ready)}, false, "0 of 2 objects are done; a is not"},
		"both are deleted":    {IsDeleted, []*shop.Item{item("a", 1), item("b", 1)}, true, ""},
		"ready is no deleted": {IsDeleted, []*shop.Item{item("a", 1, ready), item("b", 1, ready)}, false, "0 of 2 objects are done"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := New(2, tc.done)
			w.Begin("a")
			w.Begin("b")
			for _, s := range tc.seen {
				w.See(s, tc.deleted, time.Now())
			}
			over := errors.New("time is over")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if tc.missing != "" {
				cancel(over)
			}
			took, end, err := w.Wait(ctx)
			if tc.missing == "" && (err != nil || len(took) != 2 || end.IsZero()) {
				t.Errorf("took %v until %v, %v", took, end, err)
			}
			if tc.missing != "" && (!errors.Is(err, over) || !strings.HasPrefix(err.Error(), tc.missing)) {
				t.Errorf("got  %v\nwant %s", err, tc.missing)
			}
		})
	}
}
