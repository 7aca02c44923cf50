// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"regexp"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/pkg/resource"
)

// FieldPath extracts a text, number or boolean by the JSON names of the fields that lead to it, such as
// status.atProvider.arn, ports[0].name or tags[example.org/team].
func FieldPath(path string) ExtractValueFn {
	steps := Steps(path)
	return func(mg resource.Managed) string {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(mg)
		if err != nil {
			return "" // objects that come from an API server have a JSON form
		}
		switch value := at(content, steps).(type) {
		case string, bool, int64, float64:
			return fmt.Sprint(value)
		default:
			return ""
		}
	}
}

// at returns what the steps lead to in objects and lists; nil if there is none.
func at(value any, steps []string) any {
	for _, step := range steps {
		switch in := value.(type) {
		case map[string]any:
			value = in[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(in) {
				return nil
			}
			value = in[i]
		default:
			return nil
		}
	}
	return value
}

var pathStep = regexp.MustCompile(`([^.\[\]]+)|\[([^\[\]]+)\]`)

// Steps returns the names of fields, keys of maps and indices of lists in a path such as tags[example.org/team].
func Steps(path string) (steps []string) {
	for _, step := range pathStep.FindAllStringSubmatch(path, -1) {
		steps = append(steps, step[1]+step[2])
	}
	return steps
}
