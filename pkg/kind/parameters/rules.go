// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package parameters

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Rules say of the parameters of a kind what their Go type does not. The generator writes them from markers in the
// comments of fields, as the method FieldRules of the type. Fields are named by paths as in options.
type Rules struct {
	// Immutable fields cannot change after creation (P70): no update heals a difference in them.
	Immutable []string
	// IgnoreCase fields are compared without regard to upper and lower case.
	IgnoreCase []string
	// Sets are lists without an order.
	Sets []string
	// Extra are lists to which others add elements of their own, and maps whose further keys are taken over although the user
	// set some (R151).
	Extra []string
	// JSON fields are strings that hold JSON documents.
	JSON []string
	// WriteOnly fields are sent but never answered.
	WriteOnly []string
	// Ignored fields are neither compared nor filled.
	Ignored []string
	// Chosen fields are compared where the user sets them, and never filled.
	Chosen []string
	// Sensitive fields never show their values.
	Sensitive []string
	// Defaults are values, as JSON, that the vendor means where it answers with nothing: with no value, or with 0, false or
	// an empty one, which is how clients in Go read none. Such a zero counts as itself only where the user asks for it, or
	// where the client tells it from nothing, since it has a pointer. A field that others set to zero has no default here if
	// the client does not: nobody would be told. The default of an object is that of the fields it has. Fields in lists
	// cannot have one.
	Defaults map[string]string
	// Labels is the field, a map of strings to strings, with what the vendor calls labels or tags. Empty: there is none.
	Labels string
	// Generated are references to Secrets, such as passwordSecretRef, in place of which a random value is made where the
	// user gives none (P62), and the key of the connection secret that shows it (P64).
	Generated map[string]string
}

// Options are what LateInitialize and Compare have to know of the rules.
func (r Rules) Options() []Option {
	return []Option{
		IgnoreCase(r.IgnoreCase...), AsSet(r.Sets...), AllowExtra(r.Extra...), JSONText(r.JSON...),
		Ignore(slices.Concat(r.WriteOnly, r.Ignored)...), Chosen(r.Chosen...), Sensitive(r.Sensitive...),
	}
}

// IsImmutable is true if a difference in the field cannot be healed, since it or what it is a part of is immutable.
func (r Rules) IsImmutable(field string) bool {
	general := withoutIndices(field)
	return slices.ContainsFunc(r.Immutable, func(fixed string) bool {
		rest, ok := strings.CutPrefix(general, fixed)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// withoutIndices returns the path scalingConfig.maxSize for scalingConfig[0].maxSize. Keys of maps stay.
func withoutIndices(field string) string {
	var general strings.Builder
	for field != "" {
		before, rest, found := strings.Cut(field, "[")
		general.WriteString(before)
		if !found {
			break
		}
		inside, after, _ := strings.Cut(rest, "]")
		if inside == "" || strings.Trim(inside, "0123456789") != "" {
			general.WriteString("[" + inside + "]")
		}
		field = after
	}
	return general.String()
}

// WithoutUnset returns the tree of what a vendor answered without what says nothing: an empty field, and zero where the field has
// a default. Zero stays where desired sets the field to zero or empty, too: then it is what the user asked for. 0 and false stay
// in the fields told, of which the vendor's client tells zero from nothing.
func (r Rules) WithoutUnset(observed, desired map[string]any, told ...string) map[string]any {
	meant, err := r.defaults()
	if err != nil || len(meant) == 0 {
		return observed // FillDefaults tells
	}
	return answered("", observed, desired, meant, told)
}

func answered(at string, observed, desired, meant map[string]any, told []string) map[string]any {
	said := map[string]any{}
	for name, field := range observed {
		if below, ok := field.(map[string]any); ok {
			field = answered(at+name+".", below, object(desired[name]), object(meant[name]), told)
		}
		_, hasDefault := meant[name]
		asked := hasDefault && desired[name] != nil && saysNothing(desired[name])
		if asked || !isEmpty(field) && !(hasDefault && saysNothing(field) && !slices.Contains(told, at+name)) {
			said[name] = field
		}
	}
	return said
}

func saysNothing(value any) bool {
	return isEmpty(value) || value == false || value == int64(0) || value == 0.0
}

// FillDefaults returns the tree of what a vendor answered, without what says nothing, with the values that it means where it
// answers with nothing. It fails for a default that is no JSON.
func (r Rules) FillDefaults(answered map[string]any) (map[string]any, error) {
	meant, err := r.defaults()
	if err != nil || len(meant) == 0 {
		return answered, err
	}
	return Overlay(answered, meant), nil
}

// defaults are the tree of the Defaults. That of an object stands for those of its fields.
func (r Rules) defaults() (map[string]any, error) {
	all := map[string]any{}
	for _, field := range slices.Sorted(maps.Keys(r.Defaults)) { // an object comes before its fields
		var value any
		if err := json.Unmarshal([]byte(r.Defaults[field]), &value); err != nil {
			return nil, fmt.Errorf("default of %s: %w", field, err)
		}
		at := all
		names := strings.Split(field, ".")
		for _, name := range names[:len(names)-1] {
			if object(at[name]) == nil {
				at[name] = map[string]any{}
			}
			at = object(at[name])
		}
		at[names[len(names)-1]] = value
	}
	return all, nil
}
