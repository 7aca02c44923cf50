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
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/cache"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/subnet"
	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/meta"
	cachev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/cache/v1alpha3"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	computev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/compute/v1alpha3"
	namespacednetworkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/network/v1alpha3"
	networkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/network/v1alpha3"
)

func TestObservation(t *testing.T) {
	t.Parallel()
	for name, check := range map[string]func(*testing.T){
		"database": func(t *testing.T) {
			checkShown(t, favouriteDBInstances(), &databasev1alpha3.FavouriteDBInstance{}, filled[database.Instance]())
		},
		"cache": func(t *testing.T) {
			checkShown(t, cacheInstances(), &cachev1alpha3.CacheInstance{}, filled[cache.Instance]())
		},
		"network": func(t *testing.T) { checkShown(t, networks(), &networkv1alpha3.Network{}, filled[network.Network]()) },
		"namespaced network": func(t *testing.T) {
			checkShown(t, networks(), &namespacednetworkv1alpha3.Network{}, filled[network.Network]())
		},
		"subnet": func(t *testing.T) {
			checkShown(t, subnets(), &namespacednetworkv1alpha3.Subnet{}, filled[subnet.Subnet]())
		},
		"node group": func(t *testing.T) {
			checkShown(t, nodeGroups(), &computev1alpha3.NodeGroup{}, filled[nodegroup.NodeGroup]())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t)
		})
	}
}

// checkShown observes with two answers of the cloud. Whatever it answers is in what the object shows and in what late
// initialization takes over, both laid together. An answer without anything shows nothing, rather than zero values.
func checkShown[P, O, V any](t *testing.T, k kind.Kind[*sdk.Client, P, O, V], empty kind.Object[P, O], answer any) {
	for name, tc := range map[string]struct {
		answer any
		want   any
		got    func(kind.Object[P, O]) any
	}{
		"everything (K10, P22, N15, R43)": {answer, camel(tree(t, answer)), func(mg kind.Object[P, O]) any {
			return parameters.Overlay(tree(t, mg.Parameters()), tree(t, mg.Observation()))
		}},
		"nothing (P50)": {struct{}{}, map[string]any{}, func(mg kind.Object[P, O]) any { return tree(t, mg.Observation()) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mg := empty.DeepCopyObject().(kind.Object[P, O])
			meta.SetExternalName(mg, "some")
			c := connect(t, k, mg, schema.GroupVersionKind{}, &scriptedCloud{answer: tc.answer})
			if _, err := c.Observe(t.Context(), mg); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, tc.got(mg)); diff != "" {
				t.Errorf("-answered +shown:\n%s", diff)
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
