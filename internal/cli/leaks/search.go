// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package leaks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/internal/cli/outside"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// secondResource is the problem of an object that uses one of several external resources with its label.
const secondResource failure.Reason = "SecondExternalResource"

// shownErrors of a search.
const shownErrors = 10

// A search looks for external resources with the label of an object that uses another one (N88).
type search struct {
	stop     context.CancelCauseFunc
	progress io.Writer
	systems  *outside.Systems
	objects  []outside.Object
	labels   map[types.UID]map[string]string
	excluded map[string]int // objects that were not searched for, by kind
	failed   []error
	found    []leak
}

func newSearch(ctx context.Context, folder *datadir.Flag, access datadir.Access, progress io.Writer, providers []provider.Provider) (*search, error) {
	cfg, _, err := folder.Connect(access)
	if err != nil {
		return nil, err
	}
	s := &search{progress: progress, labels: map[types.UID]map[string]string{}, excluded: map[string]int{}}
	ctx, s.stop = context.WithCancelCause(ctx)
	s.systems, err = outside.Connect(ctx, s.stop, cfg, progress, providers)
	return s, err
}

func (s *search) add(kind inspect.Kind, o *unstructured.Unstructured) {
	object, ok, err := s.systems.Object(o)
	switch {
	case err != nil:
		s.failed = append(s.failed, err)
	case !ok:
		s.excluded[kind.String()]++
	default:
		s.objects, s.labels[o.GetUID()] = append(s.objects, object), externalLabels(o)
	}
}

// run goes on where it cannot search, and returns that as an error.
func (s *search) run(ctx context.Context) ([]leak, error) {
	defer s.stop(nil)
	err := outside.ForEach(ctx, s.systems, s.objects, s.look, func(o outside.Object, problem string, err error) {
		switch {
		case errors.Is(err, errNotSearchable):
			s.excluded[s.labels[o.GetUID()][meta.ExternalLabelKind]]++
		case err != nil:
			s.failed = append(s.failed, fmt.Errorf("%s: %w", o.Path, err))
		case problem != "":
			labels := s.labels[o.GetUID()]
			s.found = append(s.found, leak{
				Kind: labels[meta.ExternalLabelKind], Namespace: o.GetNamespace(), Name: o.GetName(), Problem: secondResource,
				Since: o.GetCreationTimestamp().UTC(), Deleted: meta.WasDeleted(o), LookFor: labels, Message: problem,
			})
		}
	})
	for _, system := range s.systems.NotReached() {
		s.failed = append(s.failed, fmt.Errorf("%d objects of %s, such as %s: %w", len(system.Objects), system.Kind, system.Objects[0], system.Why))
	}
	slices.SortFunc(s.found, func(a, b leak) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return s.found, errors.Join(err, s.incomplete())
}

var errNotSearchable = errors.New("the kind cannot be searched")

// look returns what is wrong, empty for nothing. The object may be older than the search: it is read again before something is said of it.
func (s *search) look(ctx context.Context, o outside.Object) (problem string, err error) {
	name, can, err := o.Reconciler.Search(ctx, o.Managed)
	several, is := errors.AsType[*managed.SeveralError](err)
	switch {
	case err != nil && !is:
		return "", err
	case !can:
		return "", errNotSearchable
	case !is && (name == "" || name == meta.GetExternalName(o)):
		return "", nil
	}
	present := outside.Object{Managed: o.DeepCopyObject().(resource.Managed)}
	if failure := s.systems.Read(ctx, present); failure != nil {
		return "", failure
	}
	uses := meta.GetExternalName(present)
	switch {
	case present.GetUID() != o.GetUID(), uses == "", meta.ExternalCreateIncomplete(present), name == uses:
		return "", nil
	case is:
		name = strings.Join(slices.DeleteFunc(several.Names, func(name string) bool { return name == uses }), ", ")
	}
	return fmt.Sprintf("it uses %s, and %s has its label, too", uses, name), nil
}

// incomplete returns what could not be searched, and notes which kinds cannot be.
func (s *search) incomplete() error {
	if kinds := slices.Sorted(maps.Keys(s.excluded)); len(kinds) > 0 {
		fmt.Fprintf(s.progress, "Not searched, since their names are chosen before they are created, or because there is no search: %s\n", strings.Join(kinds, ", "))
	}
	slices.SortFunc(s.failed, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	if len(s.failed) == 0 {
		return nil
	}
	return fmt.Errorf("not everything was searched:\n%w", command.JoinFirst(shownErrors, s.failed))
}
