// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
)

// some is the number of objects in a message.
const some = 5

// A Query is one object as a person names it.
type Query struct {
	// Words are KIND/NAME, KIND and NAME, or the NAME of a claim, with kinds as kubectl takes them.
	Words []string
	// Namespace of the object, if its kind has any.
	Namespace string
}

// NotFoundError reports that an object does not exist, and what to type instead.
type NotFoundError struct{ text string }

// Error satisfies error.
func (e *NotFoundError) Error() string { return e.text }

// ErrWords reports that the words of a query do not name one object.
var ErrWords = errors.New("name one object as KIND/NAME or KIND NAME, or a claim by its NAME")

// Check reports words that cannot name one object.
func (q Query) Check() error {
	_, _, err := q.split()
	return err
}

// Find returns the object of a query. Its errors contain what to type instead.
func (c *Cluster) Find(ctx context.Context, q Query) (Reading, error) {
	word, name, err := q.split()
	if err != nil {
		return Reading{}, err
	}
	kinds := c.OfRole(RoleClaim)
	if word != "" {
		if kinds, err = c.called(word); err != nil {
			return Reading{}, err
		}
	} else if len(kinds) == 0 {
		return Reading{}, &NotFoundError{fmt.Sprintf("the server has no kinds of claims; give the kind of object %q: KIND/%s", name, name)}
	}
	var found []Reading
	var refused []Kind
	var unreadable error
	for _, kind := range kinds {
		r := c.Get(ctx, kind.GroupKind(), types.NamespacedName{Namespace: q.Namespace, Name: name})
		switch r.Presence {
		case Present:
			found = append(found, r)
		case NoAccess:
			refused = append(refused, kind)
		case Unreadable:
			unreadable = fmt.Errorf("reading %s %s: %s", kind, name, r.Problem)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return Reading{}, ambiguous(name, found)
	case unreadable != nil:
		return Reading{}, unreadable
	case len(refused) > 0:
		return Reading{}, fmt.Errorf("you may not read %s%s; ask your platform team for access, or choose an object of your own namespace with -n",
			listOf(refused), in(kinds, q.Namespace))
	}
	return Reading{}, c.notFound(ctx, kinds, word, name, q.Namespace)
}

func (q Query) split() (kind, name string, err error) {
	switch len(q.Words) {
	case 1:
		kind, name, ok := strings.Cut(q.Words[0], "/")
		if !ok {
			kind, name = "", kind
		}
		if name == "" || strings.Contains(name, "/") || ok && kind == "" {
			return "", "", ErrWords
		}
		return kind, name, nil
	case 2:
		if q.Words[0] != "" && q.Words[1] != "" && !strings.Contains(q.Words[0]+q.Words[1], "/") {
			return q.Words[0], q.Words[1], nil
		}
	}
	return "", "", ErrWords
}

func ambiguous(name string, found []Reading) error {
	var choices []string
	for _, r := range found {
		choices = append(choices, r.Kind.String()+"/"+name)
	}
	slices.Sort(choices)
	return &NotFoundError{fmt.Sprintf("several objects have the name %q; choose one: %s", name, strings.Join(choices, ", "))}
}

// notFound lists alternatives: an object of that name in another namespace, or others in this one.
func (c *Cluster) notFound(ctx context.Context, kinds []Kind, word, name, namespace string) error {
	what := "claim"
	if word != "" {
		what = strings.ReplaceAll(listOf(kinds), ", ", " or ")
	}
	text := fmt.Sprintf("there is no %s %q%s", what, name, in(kinds, namespace))
	var elsewhere, here []string
	for _, kind := range kinds {
		if kind.Namespaced {
			selector := fields.OneTermEqualSelector("metadata.name", name).String()
			items, _ := c.list(ctx, kind, "", selector) // without access to other namespaces there are none
			for _, o := range items {
				elsewhere = append(elsewhere, o.GetNamespace())
			}
		}
		items, _ := c.list(ctx, kind, namespace, "")
		for _, o := range items {
			here = append(here, strings.ToLower(kind.Kind)+"/"+o.GetName())
		}
	}
	switch {
	case len(elsewhere) > 0:
		slices.Sort(elsewhere)
		text += "; there is one in another namespace: -n " + strings.Join(first(slices.Compact(elsewhere)), ", -n ")
	case len(here) > 0:
		slices.Sort(here)
		text += "; there are " + strings.Join(first(here), ", ")
		if len(here) > some {
			text += fmt.Sprintf(" and %d more", len(here)-some)
		}
	default:
		text += ", nor any other"
	}
	if word == "" {
		text += "; for another kind of object use KIND/" + name
	}
	return &NotFoundError{text}
}

func in(kinds []Kind, namespace string) string {
	if slices.ContainsFunc(kinds, func(k Kind) bool { return k.Namespaced }) {
		return fmt.Sprintf(" in namespace %q", namespace)
	}
	return ""
}

func first(all []string) []string { return all[:min(some, len(all))] }
