// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Rules for structs inside the cloud's types.
func TestStructs(t *testing.T) {
	t.Parallel()
	kinds := managed(rootKinds(t))
	for rule, applies := range map[string]func(*testing.T, rootKind, vendor, reflect.StructField) bool{
		"P32 P33 settings and reports are apart":                halves,
		"P34 the one setting of an optional struct is demanded": oneSetting,
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			found := 0
			for _, k := range kinds {
				v := vendors()[k.gvk]
				for f := range v.reads.Fields() {
					if structOf(f.Type, v.reads.PkgPath()) != nil && applies(t, k, v, f) {
						found++
					}
				}
			}
			if found == 0 {
				t.Error("applies to no struct, and so proves nothing")
			}
		})
	}
}

// halves wants a struct with settings and reports to be a Spec with nothing but the former, all optional, and a Status with
// nothing but the latter, as the SDK has them.
func halves(t *testing.T, k rootKind, v vendor, f reflect.StructField) bool {
	theirs := structOf(f.Type, v.reads.PkgPath())
	settings, reports := map[string]bool{}, map[string]bool{}
	chosen := v.chosen()
	for name := range leaves(theirs) {
		if _, ok := chosen[jsonName(f)+"."+name]; ok {
			settings[name] = true
		} else {
			reports[name] = true
		}
	}
	if len(settings) == 0 || len(reports) == 0 {
		return false
	}
	for _, part := range []string{"ForProvider", "InitProvider"} {
		if _, ok := k.part(t, "Spec").FieldByName(part); !ok {
			continue
		}
		all := halfOf(t, k.part(t, "Spec", part), f, theirs.Name()+"Spec", settings)
		for _, ours := range all {
			if ours.Type.Kind() != reflect.Pointer || !isOptional(ours) || !ours.omitted() {
				t.Errorf("P33 %s of %s is of type %s, has the tag %q and the comment %q", ours, part, ours.Type, ours.Tag, ours.comment)
			}
		}
	}
	all := halfOf(t, k.part(t, "Status", "AtProvider"), f, theirs.Name()+"Status", reports)
	for i, ours := range all {
		want := f.Type.Kind() == reflect.Pointer
		if i > 0 {
			want = leaves(theirs)[ours.json()].Kind() == reflect.Pointer
		}
		if got := ours.Type.Kind() == reflect.Pointer; got != want || isOptional(ours) || !ours.omitted() {
			t.Errorf("P33 %s of atProvider is of type %s, has the tag %q and the comment %q", ours, ours.Type, ours.Tag, ours.comment)
		}
	}
	return true
}

// halfOf returns the field of a struct that the cloud has too, and the fields below. It wants a struct of the name with
// the fields.
func halfOf(t *testing.T, in reflect.Type, f reflect.StructField, name string, fields map[string]bool) []field {
	t.Helper()
	of := func(all []field) []field {
		return slices.DeleteFunc(all, func(ours field) bool { return ours.path[0] != jsonName(f) })
	}
	all := of(fieldsOf(t, in))
	if len(all) == 0 {
		t.Fatalf("P32 %s has no %s", in, jsonName(f))
	}
	below := structBelow(all[0].Type)
	if below == nil || below.Name() != name {
		t.Fatalf("P32 %s of %s is of type %s, want %s", all[0], in, all[0].Type, name)
	}
	if diff := cmp.Diff(sorted(fields), slices.Sorted(maps.Keys(leaves(below)))); diff != "" {
		t.Errorf("P32 %s of %s -want +got:\n%s", all[0], in, diff)
	}
	return all
}

// oneSetting wants the one setting of a struct that the cloud does not need to be required where the struct is given.
func oneSetting(t *testing.T, k rootKind, v vendor, f reflect.StructField) bool {
	given, ok := v.creates.FieldByName(f.Name)
	if !ok || given.Type.Kind() != reflect.Pointer {
		return false
	}
	theirs := structOf(given.Type, v.creates.PkgPath())
	if theirs == nil || theirs.NumField() != 1 {
		return false
	}
	name := jsonName(theirs.Field(0))
	for _, part := range []string{"ForProvider", "InitProvider"} {
		if _, ok := k.part(t, "Spec").FieldByName(part); !ok {
			continue
		}
		for _, ours := range fieldsOf(t, k.part(t, "Spec", part)) {
			switch ours.String() {
			case jsonName(f):
				optional(t, ours, k.schema("spec", lowerCamel(part)))
				if !isOptional(ours) {
					t.Errorf("%s of %s is not optional", ours, part)
				}
			case jsonName(f) + "." + name:
				required(t, ours, k.schema("spec", lowerCamel(part), jsonName(f)))
				if isOptional(ours) {
					t.Errorf("%s of %s is optional", ours, part)
				}
			}
		}
	}
	return true
}

// jsonName is the name of a field of the SDK in an object.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return camel(name)
}
