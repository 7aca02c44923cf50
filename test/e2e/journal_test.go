// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/test/plane"
)

// An entry is one state of an object.
type entry struct {
	resource.Managed

	at      time.Time // when it came to our ears
	deleted bool      // it was the last
}

// A journal holds all states of some objects, in order.
type journal struct {
	mu      sync.Mutex
	entries []entry
}

// follow keeps a journal of the objects of one kind until the test ends.
func follow(t *testing.T, p *plane.Plane, list client.ObjectList, o ...client.ListOption) *journal {
	t.Helper()
	events, err := p.Client.Watch(t.Context(), list, o...)
	if err != nil {
		t.Fatal(err)
	}
	j, done := &journal{}, make(chan struct{})
	go func() {
		defer close(done)
		for e := range events.ResultChan() {
			if mg, ok := e.Object.(resource.Managed); ok {
				j.add(entry{Managed: mg, at: time.Now(), deleted: e.Type == watch.Deleted})
			}
		}
	}()
	t.Cleanup(func() {
		events.Stop()
		<-done
	})
	return j
}

func (j *journal) add(e entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, e)
}

// first returns the first state that is so.
func (j *journal) first(so func(entry) bool) (entry, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range j.entries {
		if so(e) {
			return e, nil
		}
	}
	return entry{}, fmt.Errorf("none of %d states is so", len(j.entries))
}

// must is first for what is certain to come.
func (j *journal) must(t *testing.T, p *plane.Plane, what string, so func(entry) bool) (e entry) {
	t.Helper()
	p.Eventually(t, within, what, func(context.Context) (err error) {
		e, err = j.first(so)
		return err
	})
	return e
}

// version orders the states of all objects.
func (e entry) version(t *testing.T) int {
	t.Helper()
	v, err := strconv.Atoi(e.GetResourceVersion())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (e entry) is(name string, reason xpv1.ConditionReason) bool {
	return e.GetName() == name && e.GetCondition(xpv1.TypeReady).Reason == reason
}

func awaitSettled(t *testing.T, p *plane.Plane, all ...resource.Managed) {
	t.Helper()
	for _, mg := range all {
		p.Eventually(t, within, mg.GetName()+" is settled", func(ctx context.Context) error { return p.Settled(ctx, mg) })
	}
}

// deleted returns nil if the objects are deleted.
func deleted(ctx context.Context, p *plane.Plane, all ...resource.Managed) error {
	for _, mg := range all {
		if err := p.Client.Get(ctx, client.ObjectKeyFromObject(mg), mg); err == nil {
			return fmt.Errorf("%s is still there: Synced %s", mg.GetName(), mg.GetCondition(xpv1.TypeSynced).Message)
		} else if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}
