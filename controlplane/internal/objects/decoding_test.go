// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// counting counts how often it decodes, and refuses data that are not JSON.
type counting struct {
	runtime.Codec
	n int
}

var errCounting = errors.New("not JSON")

func (c *counting) Decode(data []byte, kind *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	c.n++
	if data[0] != '{' {
		return nil, nil, errCounting
	}
	return unstructured.UnstructuredJSONScheme.Decode(data, kind, into)
}

func TestObjectIsDecodedOnce(t *testing.T) {
	one := `{"apiVersion":"v1","kind":"Note","metadata":{"name":"one"},"spec":{"text":"a"}}`
	two := `{"apiVersion":"v1","kind":"Note","metadata":{"name":"two"},"spec":{"text":"b"}}`
	var many []string
	for i := range 100 {
		many = append(many, strings.ReplaceAll(one, "one", fmt.Sprint("n", i)))
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would forget what was decoded
	for name, tc := range map[string]struct {
		data    []string
		decoded int
		err     error
	}{
		"the same data":              {data: []string{one, one, one}, decoded: 1},
		"other data":                 {data: []string{one, two}, decoded: 2},
		"more objects than are kept": {data: many, decoded: len(many)},
		"data that are none":         {data: []string{"x", "x"}, decoded: 2, err: errCounting},
	} {
		t.Run(name, func(t *testing.T) {
			counted := &counting{}
			codec := &decodingOnce{Codec: counted}
			for _, data := range tc.data {
				for _, into := range []*unstructured.Unstructured{nil, {}} {
					var object runtime.Object // no typed nil
					if into != nil {
						object = into
					}
					got, kind, err := codec.Decode([]byte(data), nil, object)
					if !errors.Is(err, tc.err) {
						t.Fatalf("error %v, want %v", err, tc.err)
					}
					if err != nil {
						break
					}
					want, wantKind, err := unstructured.UnstructuredJSONScheme.Decode([]byte(data), nil, nil)
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(want, got) + cmp.Diff(wantKind, kind); diff != "" {
						t.Error(diff)
					}
					if into != nil && got != object {
						t.Error("the object is not the one that was given")
					}
					got.(*unstructured.Unstructured).Object["spec"].(map[string]any)["text"] = "changed by its owner"
				}
			}
			if counted.n != tc.decoded {
				t.Errorf("decoded %d times, want %d", counted.n, tc.decoded)
			}
		})
	}
}
