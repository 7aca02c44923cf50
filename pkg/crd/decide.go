// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"
	"reflect"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// A decision is what to do with one definition.
type decision struct {
	write bool
	skip  string // why it is skipped; empty if it is not
}

// decide compares the installed definition, nil for none, with the wanted one, which has defaults and the label.
func decide(installed, wanted *apiextensionsv1.CustomResourceDefinition) (decision, error) {
	if installed == nil {
		return decision{write: true}, nil
	}
	if installed.Labels[LabelManagedBy] != ManagedBy {
		return decision{skip: fmt.Sprintf("somebody else installed it (no label %s=%s); "+
			"to hand it over, set that label on it", LabelManagedBy, ManagedBy)}, nil
	}
	if dropped := droppedVersions(installed, wanted); len(dropped) > 0 {
		return decision{skip: fmt.Sprintf("it serves %s, which this program does not know; "+
			"run a newer one, or stop serving that version first", strings.Join(dropped, ", "))}, nil
	}
	same, err := sameSpec(installed, wanted)
	same = same && contains(installed.Labels, wanted.Labels) && contains(installed.Annotations, wanted.Annotations)
	return decision{write: !same}, err
}

// droppedVersions lists the versions that an update would stop serving.
func droppedVersions(installed, wanted *apiextensionsv1.CustomResourceDefinition) []string {
	served := map[string]bool{}
	for _, v := range wanted.Spec.Versions {
		served[v.Name] = v.Served
	}
	var dropped []string
	for _, v := range installed.Spec.Versions {
		if v.Served && !served[v.Name] {
			dropped = append(dropped, v.Name)
		}
	}
	return dropped
}

// sameSpec compares decoded values: order and spaces of the raw JSON in schemas do not count.
func sameSpec(a, b *apiextensionsv1.CustomResourceDefinition) (bool, error) {
	left, err := runtime.DefaultUnstructuredConverter.ToUnstructured(a)
	if err != nil {
		return false, fmt.Errorf("decoding definition: %w", err)
	}
	right, err := runtime.DefaultUnstructuredConverter.ToUnstructured(b)
	if err != nil {
		return false, fmt.Errorf("decoding definition: %w", err)
	}
	return reflect.DeepEqual(left["spec"], right["spec"]), nil
}

// contains is true if whole has all entries of part: labels and annotations of others are ignored.
func contains(whole, part map[string]string) bool {
	return labels.SelectorFromSet(part).Matches(labels.Set(whole))
}
