// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/subnet"
	"github.com/bowline-dev/bowline/pkg/parameters"
)

// Whatever the cloud answers is in what the object shows and in what late initialization may take over, both laid together.
func TestObservation(t *testing.T) {
	t.Parallel()
	i, n, s, g := filled[database.Instance](), filled[network.Network](), filled[subnet.Subnet](), filled[nodegroup.NodeGroup]()
	for name, tc := range map[string]struct{ answer, settings, shown any }{
		"database":   {i, instanceParameters(i), observation(i)},
		"network":    {n, networkParameters(n), networkObservation(n)},
		"subnet":     {s, subnetParameters(s), subnetObservation(s)},
		"node group": {g, nodeGroupParameters(g), nodeGroupObservation(g)},
	} {
		t.Run("K10 P22 "+name, func(t *testing.T) {
			t.Parallel()
			got := parameters.Overlay(tree(t, tc.settings), tree(t, tc.shown))
			if diff := cmp.Diff(camel(tree(t, tc.answer)), any(got)); diff != "" {
				t.Errorf("-answered +shown:\n%s", diff)
			}
		})
	}
}

// An answer without anything shows nothing, rather than zero values.
func TestEmptyObservation(t *testing.T) {
	t.Parallel()
	for name, shown := range map[string]any{
		"database":   observation(&database.Instance{}),
		"network":    networkObservation(&network.Network{}),
		"subnet":     subnetObservation(&subnet.Subnet{}),
		"node group": nodeGroupObservation(&nodegroup.NodeGroup{}),
	} {
		t.Run("P50 "+name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(map[string]any{}, tree(t, shown)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// filled is an answer of the cloud in which every field has a value of its own.
func filled[T any]() *T {
	var answer T
	next := 0
	fill(reflect.ValueOf(&answer).Elem(), &next)
	return &answer
}

func fill(v reflect.Value, next *int) {
	*next++
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, *next, 0, time.UTC)))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field, next)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), next)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), next)
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{fmt.Sprintf("key_%d", *next): "value"}))
	case reflect.String:
		v.SetString(fmt.Sprintf("text-%d", *next))
	case reflect.Bool:
		v.SetBool(true)
	default:
		v.SetInt(int64(*next))
	}
}

func tree(t *testing.T, object any) map[string]any {
	t.Helper()
	content, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]any{}
	if err := json.Unmarshal(content, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

// camel spells the names of fields as Kubernetes does. Labels are no fields.
func camel(value any) any {
	switch v := value.(type) {
	case map[string]any:
		fields := map[string]any{}
		for snake, below := range v {
			words := strings.Split(snake, "_")
			for i, w := range words[1:] {
				words[i+1] = strings.ToUpper(w[:1]) + w[1:]
			}
			if snake != "labels" {
				below = camel(below)
			}
			fields[strings.Join(words, "")] = below
		}
		return fields
	case []any:
		for i := range v {
			v[i] = camel(v[i])
		}
	}
	return value
}
