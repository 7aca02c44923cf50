// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// An ExtractValueFn returns the value of a field from its target, empty if the target does not have it yet.
type ExtractValueFn func(resource.Managed) string

// ExternalName extracts the external name (R161).
func ExternalName() ExtractValueFn {
	return func(mg resource.Managed) string { return meta.GetExternalName(mg) }
}

// FieldPath extracts a text, number or boolean by the JSON names of the fields that lead to it, such as
// status.atProvider.arn. Names that contain dots cannot be reached, nor can items of lists.
func FieldPath(path string) ExtractValueFn {
	names := strings.Split(path, ".")
	return func(mg resource.Managed) string {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(mg)
		if err != nil {
			return "" // objects that come from an API server have a JSON form
		}
		value, _, _ := unstructured.NestedFieldNoCopy(content, names...)
		switch value := value.(type) {
		case string, bool, int64, float64:
			return fmt.Sprint(value)
		default:
			return ""
		}
	}
}
