// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/pkg/kind"
)

// A createInput and an updateInput are what a vendor wants to be sent, who answers with something else.
type createInput struct {
	Name, Comment string
	Size          int8
	Tags          map[string]string
}

type updateInput struct{ Size *int8 }

func inputs(change func(*kind.Kind[*vendor, noted, nothing, nothing])) kind.Kind[*vendor, noted, nothing, nothing] {
	k := kindOf[noted, nothing, nothing]()
	k.Inputs = []any{createInput{}, updateInput{}}
	k.Declared = func(*nothing) noted { return noted{} }
	k.Labels = func(*nothing) map[string]string { return nil }
	change(&k)
	return k
}

func call(t *testing.T, k kind.Kind[*vendor, noted, nothing, nothing], size int) (created, updated error) {
	t.Helper()
	o := &object[noted, nothing]{widget: *newWidget(nil), parameters: noted{Size: ptr.To(size)}}
	c := connectTo(t, system(), k, &vendor{}, o)
	_, created = c.Create(t.Context(), o)
	_, updated = c.Update(t.Context(), o)
	return created, updated
}

func TestInput(t *testing.T) {
	t.Parallel()
	var create createInput
	var update updateInput
	k := inputs(func(k *kind.Kind[*vendor, noted, nothing, nothing]) {
		k.Create = func(_ context.Context, _ *vendor, r *kind.Request[noted, nothing]) (*nothing, error) {
			create = kind.Input[createInput](r)
			return &nothing{}, nil
		}
		k.Update = func(_ context.Context, _ *vendor, r *kind.Request[noted, nothing]) error {
			update = kind.Input[updateInput](r)
			return nil
		}
	})
	if created, updated := call(t, k, 3); created != nil || updated != nil {
		t.Fatal(created, updated)
	}
	if diff := cmp.Diff(createInput{Name: "w-1", Size: 3, Tags: ours()}, create); diff != "" {
		t.Errorf("Create is given other than parameters, name and labels: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(updateInput{Size: ptr.To(int8(3))}, update); diff != "" {
		t.Errorf("Update is given other than the parameters: -want +got:\n%s", diff)
	}
}

func TestInputThatDoesNotFit(t *testing.T) {
	t.Parallel()
	calls := 0
	k := inputs(func(k *kind.Kind[*vendor, noted, nothing, nothing]) {
		k.Create = func(context.Context, *vendor, *kind.Request[noted, nothing]) (*nothing, error) {
			calls++
			return nil, nil
		}
		k.Update = func(context.Context, *vendor, *kind.Request[noted, nothing]) error { calls++; return nil }
	})
	created, updated := call(t, k, 300)
	for _, err := range []error{created, updated} {
		if want := "field Size: 300 is out of the range of int8"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if calls > 0 {
		t.Errorf("the vendor was asked %d times for what does not fit", calls)
	}
}

func TestInputThatNobodyAnnounced(t *testing.T) {
	t.Parallel()
	defer func() {
		if cause := recover(); cause == nil || !strings.Contains(cause.(string), "kind_test.createInput is not in Kind.Inputs") {
			t.Errorf("an input that no check has seen is %v", cause)
		}
	}()
	kind.Input[createInput](&kind.Request[noted, nothing]{})
}
