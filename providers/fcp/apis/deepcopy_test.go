// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
)

// Copies of all types share nothing with what they were made from.
func TestDeepCopy(t *testing.T) {
	t.Parallel()
	for gvk, typ := range newScheme(t).AllKnownTypes() {
		if !strings.HasPrefix(typ.PkgPath(), module) {
			continue
		}
		t.Run(gvk.Kind+" of "+gvk.Group+" (T23)", func(t *testing.T) {
			t.Parallel()
			o := reflect.New(typ)
			fill(o.Elem())
			copied := o.Interface().(runtime.Object).DeepCopyObject()
			if diff := cmp.Diff(o.Interface(), copied); diff != "" {
				t.Fatalf("-original +copy:\n%s", diff)
			}
			for _, place := range shared(gvk.Kind, o, reflect.ValueOf(copied)) {
				t.Errorf("%s is shared", place)
			}
		})
	}
}

// fill sets every exported field below to something.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for _, f := range v.Fields() {
			if f.CanSet() {
				fill(f)
			}
		}
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	default:
		if v.CanInt() {
			v.SetInt(1)
		}
	}
}

// shared returns the places where two values of the same shape have memory in common.
func shared(at string, a, b reflect.Value) []string {
	var places []string
	switch a.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if a.IsNil() {
			return nil
		}
		if a.Pointer() == b.Pointer() {
			return []string{at}
		}
	}
	switch a.Kind() {
	case reflect.Pointer:
		return shared(at, a.Elem(), b.Elem())
	case reflect.Slice:
		for i := range a.Len() {
			places = append(places, shared(fmt.Sprintf("%s[%d]", at, i), a.Index(i), b.Index(i))...)
		}
	case reflect.Struct:
		for f := range a.Type().Fields() {
			if f.IsExported() {
				places = append(places, shared(at+"."+f.Name, a.FieldByIndex(f.Index), b.FieldByIndex(f.Index))...)
			}
		}
	}
	return places
}
