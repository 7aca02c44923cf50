// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reference"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// dependentsPatience is how long a deletion waits for objects that refer to the deleted one and are being deleted, too.
const dependentsPatience = 5 * time.Minute

// dependentsPoll is when to look whether they are gone if nobody tells: those of another process.
const dependentsPoll = 5 * time.Second

// awaitDependents lets objects that refer to this one go first if they are being deleted, too (N32): most external systems
// refuse another order. It does not wait for what cannot end, nor for ever.
func (r *Reconciler) awaitDependents(ctx context.Context, p *pass) outcome {
	self := r.dependent(client.ObjectKeyFromObject(p.managed))
	left := dependentsPatience - r.now().Sub(p.managed.GetDeletionTimestamp().Time)
	if left > 0 {
		unknown, found, err := r.stranger(ctx, self)
		if err != nil {
			return fail(ReasonCannotDelete, fmt.Errorf("looking for objects that may refer to this one: %w", err))
		}
		if found {
			return await(shortestPoll, "Deletion waits for a first look at what may refer to this object and is being deleted, too, such as "+
				named([]reference.Dependent{unknown})+".")
		}
	}
	live := r.live
	if p.memory.failures > 0 {
		live = nil // once is enough: a watch that was behind is not any more
	}
	leaving, stuck, err := r.references.leaving(ctx, self, r.client, live)
	if err != nil {
		return fail(ReasonCannotDelete, fmt.Errorf("looking for objects that refer to this one: %w", err))
	}
	if len(leaving) > 0 && left <= 0 {
		stuck, leaving = append(stuck, leaving...), nil
	}
	if len(stuck) > 0 && !p.memory.disorderNoted {
		p.note(event.Warning(ReasonDisorder, errors.New("not waiting any longer for objects that refer to this one: "+named(stuck))))
		p.memory.disorderNoted = true
	}
	if len(leaving) == 0 {
		return next()
	}
	r.references.await(self, leaving)
	return await(min(left, dependentsPoll), "Deletion waits for objects that refer to this one and are being deleted, too: "+named(leaving)+".")
}

// rememberPatience is how long a deletion waits, at each pass, for what its object refers to: a cache of a kind that may not
// be listed never answers. It is at most half of the pass, which has to go on.
const rememberPatience = 3 * time.Second

// rememberReferences notes what an object under deletion refers to, which a process that has just started does not know.
// Nothing is stored, and nothing depends on whether all of it can be resolved (R173): a name is noted before it is read.
func (r *Reconciler) rememberReferences(ctx context.Context, p *pass) outcome {
	if resolver, refers := p.managed.DeepCopyObject().(resource.ReferenceResolver); refers {
		self := r.dependent(client.ObjectKeyFromObject(p.managed))
		recorder := r.references.tracker.Recorder(self, r.client)
		ctx, cancel := context.WithTimeout(ctx, min(rememberPatience, r.timeout/2))
		defer cancel()
		r.references.resolved(self, recorder, resolver.ResolveReferences(ctx, recorder))
	}
	r.memory.looked(p.memory)
	return next()
}

// leaving returns the objects that refer to one and are being deleted, and apart from them those whose deletion cannot
// end by itself: they are paused, wait for a person, are of a kind that is gone, or refer to each other in a circle.
//
// Objects that somebody deletes together are seen so one after the other, each by the watch of its kind. What the cache has
// as staying is therefore asked for at the API server itself, if live is not nil.
func (s *References) leaving(ctx context.Context, self reference.Dependent, c, live client.Reader) (leaving, stuck []reference.Dependent, err error) {
	for _, d := range s.tracker.Dependents(self.Kind, self.Name) {
		if d == self {
			continue
		}
		o := s.example(d.Kind)
		err := c.Get(ctx, d.Name, o)
		if err == nil && !meta.WasDeleted(o) && live != nil {
			err = live.Get(ctx, d.Name, o)
		}
		switch {
		case apierrors.IsNotFound(err):
			continue
		case apimeta.IsNoMatchError(err):
			stuck = append(stuck, d)
			continue
		case err != nil:
			return nil, nil, err
		case !meta.WasDeleted(o):
			continue
		}
		if waitsForPerson(o) || s.dependsOn(self, d) {
			stuck = append(stuck, d)
		} else {
			leaving = append(leaving, d)
		}
	}
	return leaving, stuck, nil
}

// waitsForPerson is true for an object whose deletion goes on only when somebody acts.
func waitsForPerson(o client.Object) bool {
	mg, ok := asManaged(o)
	if !ok {
		return meta.IsPaused(o)
	}
	suspected := meta.ExternalCreateIncomplete(o) && mg.GetCondition(xpv1.TypeSynced).Message == MessageCreateIncomplete
	return meta.IsPaused(o) || mg.GetManagementPolicies().Empty() || suspected
}

// dependsOn is true if an object refers to another, directly or through others.
func (s *References) dependsOn(who, other reference.Dependent) bool {
	seen := map[reference.Dependent]bool{}
	open := []reference.Dependent{other}
	for len(open) > 0 {
		d := open[0]
		open = open[1:]
		for _, referring := range s.tracker.Dependents(d.Kind, d.Name) {
			if referring == who {
				return true
			}
			if !seen[referring] {
				seen[referring] = true
				open = append(open, referring)
			}
		}
	}
	return false
}

// named lists objects as kubectl takes them, a few at most.
func named(all []reference.Dependent) string {
	const most = 5
	var names []string
	for i, d := range all {
		if i == most {
			names = append(names, fmt.Sprintf("and %d more", len(all)-most))
			break
		}
		names = append(names, strings.ToLower(d.Kind.GroupKind().String())+" "+strings.TrimPrefix(d.Name.String(), "/"))
	}
	return strings.Join(names, ", ")
}
