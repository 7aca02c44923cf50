// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// A verdict is what to do with one definition.
type verdict struct {
	write bool
	skip  string // why it is left alone; empty when it is not
}

// judge compares what is installed, nil for nothing, with what is wanted, which has its defaults filled and its label set.
func judge(installed, wanted *apiextensionsv1.CustomResourceDefinition) (verdict, error) {
	if installed == nil {
		return verdict{write: true}, nil
	}
	if installed.Labels[LabelManagedBy] != ManagedBy {
		return verdict{skip: fmt.Sprintf("somebody else installed it (no label %s=%s); "+
			"to hand it over, set that label on it", LabelManagedBy, ManagedBy)}, nil
	}
	if dropped := droppedVersions(installed, wanted); len(dropped) > 0 {
		return verdict{skip: fmt.Sprintf("it serves %s, which this program does not know; "+
			"run a newer one, or stop serving that version first", strings.Join(dropped, ", "))}, nil
	}
	same, err := sameSpec(installed, wanted)
	if err != nil {
		return verdict{}, err
	}
	same = same && contains(installed.Labels, wanted.Labels) && contains(installed.Annotations, wanted.Annotations)
	return verdict{write: !same}, nil
}

// droppedVersions lists what is served now and would not be after an update.
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

// sameSpec compares as JSON: schemas carry raw JSON in which order and spaces mean nothing.
func sameSpec(a, b *apiextensionsv1.CustomResourceDefinition) (bool, error) {
	left, err := generic(a.Spec)
	if err != nil {
		return false, err
	}
	right, err := generic(b.Spec)
	if err != nil {
		return false, err
	}
	return reflect.DeepEqual(left, right), nil
}

func generic(value any) (any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encoding definition: %w", err)
	}
	var decoded any
	if err := json.Unmarshal(text, &decoded); err != nil {
		return nil, fmt.Errorf("decoding definition: %w", err)
	}
	return decoded, nil
}

// contains tells whether all of part is in whole: others may add labels and annotations of their own.
func contains(whole, part map[string]string) bool {
	for key, value := range part {
		if got, ok := whole[key]; !ok || got != value {
			return false
		}
	}
	return true
}
