// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package parameters merges, late-initializes and compares the parameters of managed resources: spec.forProvider and
// spec.initProvider.
//
// The one idea: parameters of any Go type are trees of JSON values, and a field is the value at a path such as
// scalingConfig[0].maxSize. Create sends one tree merged over another, late initialization fills empty fields of a tree, and
// drift is a list of paths.
//
//	sent := parameters.Overlay(forProvider, initProvider)                        // in Create
//	forProvider, filled := rules.Fill(forProvider, observed, initProvider)       // in Observe
//	drift := parameters.Shorten(rules.Differences(forProvider, observed, initProvider))
//
// Here observed is the vendor's answer, converted to the parameters of the kind. Tree and Typed convert Go types. Trees consist
// of map[string]any, []any, string, bool, int64, float64 and nil, which means absent, as in unstructured objects.
//
// No function modifies its arguments, and results of Overlay and Fill share no memory with them.
package parameters

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Rules declare the behaviour of fields that the Go type of parameters cannot express. The generator writes them as method
// FieldRules from markers in comments.
//
// Fields are named by paths. scalingConfig.maxSize and scalingConfig[*].maxSize address the field of every element,
// scalingConfig[0].maxSize that of one. Keys of maps with a dot, slash or bracket are in brackets: tags[example.org/team].
type Rules struct {
	Immutable  []string // cannot change after creation (P70)
	IgnoreCase []string // strings that are compared without regard to case
	Sets       []string // lists without an order. Their elements are not late-initialized, since they cannot be paired.
	// Extra are lists to which others may add elements, at the end unless they are sets, and maps whose further keys are
	// late-initialized although the user set some (R151).
	Extra []string
	// JSON fields are strings that hold JSON documents, such as access policies. Both sides have to set the same fields in them.
	JSON      []string
	WriteOnly []string // sent but never returned
	Ignored   []string // neither compared nor filled, with all below them
	// Chosen fields are compared if the user sets them, and never filled: others may change them, and a late-initialized value
	// would be enforced against those changes.
	Chosen []string
	// Sensitive fields, and all below them, never show their values (N8). Fields with names such as password are always sensitive.
	Sensitive []string
	// Defaults are the vendor's defaults, as JSON: values that apply where it returns none, or 0, false or an empty value, which
	// is how clients in Go decode none. Such a zero value counts as set only if the user asks for it, or if the client decodes
	// into a pointer. The default of an object is that of its fields. Fields in lists cannot have one.
	Defaults map[string]string
	Labels   string // the field for labels or tags, a map of strings to strings. Empty: there is none.
	// Generated are references to Secrets, such as passwordSecretRef, that are replaced by a random value if the user gives none,
	// each with the key of the connection Secret for the value (P62, P64).
	Generated map[string]string
	// HoldsData is true if people store data in the external resources of the kind (N38, N39).
	HoldsData bool
}

func (r *Rules) ignores(at path) bool { return at.in(r.WriteOnly) || at.in(r.Ignored) }

// IsImmutable is true if the field, or one that contains it, is immutable.
func (r Rules) IsImmutable(field string) bool {
	general := withoutIndices(field)
	return slices.ContainsFunc(r.Immutable, func(immutable string) bool {
		rest, ok := strings.CutPrefix(general, strings.ReplaceAll(immutable, "[*]", ""))
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// withoutIndices returns scalingConfig.maxSize for scalingConfig[0].maxSize. Keys of maps are kept.
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

// WithoutUnset returns observed without unset fields: empty ones, and 0 and false in fields with a default. A zero value counts
// as set if desired has a zero value too, or if the field is nullable: the vendor's client distinguishes zero from unset. Overlay
// then puts the defaults in their place. Without defaults observed is returned as it is.
func WithoutUnset(observed, desired, defaults map[string]any, nullable ...string) map[string]any {
	if len(defaults) == 0 {
		return observed
	}
	return withoutUnset("", observed, desired, defaults, nullable)
}

func withoutUnset(at string, observed, desired, defaults map[string]any, nullable []string) map[string]any {
	set := map[string]any{}
	for name, field := range observed {
		if below, ok := field.(map[string]any); ok {
			field = withoutUnset(at+name+".", below, object(desired[name]), object(defaults[name]), nullable)
		}
		_, hasDefault := defaults[name]
		desiredZero := hasDefault && desired[name] != nil && isZero(desired[name])
		if desiredZero || !isEmpty(field) && !(hasDefault && isZero(field) && !slices.Contains(nullable, at+name)) {
			set[name] = field
		}
	}
	return set
}

func isZero(value any) bool {
	return isEmpty(value) || value == false || value == int64(0) || value == 0.0
}

// DefaultTree returns Defaults as a tree. It fails for a default that is not JSON.
func (r Rules) DefaultTree() (map[string]any, error) {
	all := map[string]any{}
	for _, field := range slices.Sorted(maps.Keys(r.Defaults)) { // an object comes before its fields
		var value any
		err := json.Unmarshal([]byte(r.Defaults[field]), &value)
		if err == nil {
			err = unstructured.SetNestedField(all, value, strings.Split(field, ".")...)
		}
		if err != nil {
			return nil, fmt.Errorf("default of %s: %w", field, err)
		}
	}
	return all, nil
}
