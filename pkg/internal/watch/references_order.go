// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reference"
)

// Deleting returns the objects that refer to one and are being deleted, and apart from them those whose deletion cannot end
// by itself: isStuck is true for them, their kind is not installed, or they refer to each other in a circle.
//
// Each of several objects that are deleted together is seen by the watch of its kind, one after the other. If live is not
// nil, an object that the cache has as staying is therefore read from the API server.
func (s *References) Deleting(ctx context.Context, self reference.Dependent, c, live client.Reader, isStuck func(client.Object) bool) (
	deleting, stuck []reference.Dependent, err error,
) {
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
		if isStuck(o) || s.dependsOn(self, d) {
			stuck = append(stuck, d)
		} else {
			deleting = append(deleting, d)
		}
	}
	return deleting, stuck, nil
}

// dependsOn is true if an object refers to another, directly or through others.
func (s *References) dependsOn(object, other reference.Dependent) bool {
	seen := map[reference.Dependent]bool{}
	open := []reference.Dependent{other}
	for len(open) > 0 {
		d := open[0]
		open = open[1:]
		for _, referring := range s.tracker.Dependents(d.Kind, d.Name) {
			if referring == object {
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

// AwaitDeletion has one object enqueued once others are deleted.
func (s *References) AwaitDeletion(self reference.Dependent, others []reference.Dependent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, other := range others {
		if s.awaited[other] == nil {
			s.awaited[other] = map[reference.Dependent]bool{}
		}
		s.awaited[other][self] = true
	}
}

// Names lists objects as kubectl takes them, five at most.
func Names(all ...reference.Dependent) string {
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

func byKindAndName(a, b reference.Dependent) int {
	return cmp.Or(cmp.Compare(a.Kind.String(), b.Kind.String()), cmp.Compare(a.Name.String(), b.Name.String()))
}
