// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// takeStatus takes over what a call in the background set in the status of its copy of the object, as if the call had been
// made now: what others wrote meanwhile stays, and Observe, which follows, has the last word.
func (p *pass) takeStatus(op *operation) error {
	copied, err := treeOf(op.managed)
	if err != nil {
		return err
	}
	before, after := section(tree{"status": op.status}, "status"), section(copied, "status")
	if reflect.DeepEqual(before, after) {
		return nil
	}
	had, errHad := cutConditions(before)
	has, errHas := cutConditions(after)
	if err := errors.Join(errHad, errHas); err != nil {
		return err
	}
	if err := p.rebuild(func(u tree) { u["status"] = redo(before, after, section(u, "status")) }); err != nil {
		return err
	}
	for _, c := range has.Conditions {
		if !c.Equal(had.GetCondition(c.Type)) {
			p.managed.SetConditions(c)
		}
	}
	return nil
}

// cutConditions takes the conditions out of a status: others set some meanwhile, and each counts by itself.
func cutConditions(status tree) (c xpv1.ConditionedStatus, err error) {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(status, &c); err != nil {
		return c, fmt.Errorf("reading conditions: %w", err)
	}
	delete(status, "conditions")
	return c, nil
}

// redo makes the changes that lead from before to after in another tree. A list is one value.
func redo(before, after, in tree) tree {
	if in == nil {
		in = tree{}
	}
	for key, value := range after {
		part, divides := value.(tree)
		switch {
		case reflect.DeepEqual(before[key], value):
		case divides:
			in[key] = redo(section(before, key), part, section(in, key))
		default:
			in[key] = value
		}
	}
	for key := range before {
		if _, kept := after[key]; !kept {
			delete(in, key)
		}
	}
	return in
}
