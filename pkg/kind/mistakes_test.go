// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind_test

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// checkMistake connects with a kind and expects an error that holds the text, or none.
func checkMistake[P, O, V any](t *testing.T, k kind.Kind[*vendor, P, O, V], want string) {
	t.Helper()
	_, _, err := kind.NewConnecter(system(), k, schema.GroupKind{}, &vendor{})
	switch {
	case want == "" && err != nil:
		t.Errorf("unexpected error: %v", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("error is %v, which does not say %q", err, want)
	}
}

// kindOf is a kind without anything but the functions it needs.
func kindOf[P, O, V any]() kind.Kind[*vendor, P, O, V] {
	call := func(context.Context, *vendor, *kind.Request[P, V]) (*V, error) { return nil, nil }
	return kind.Kind[*vendor, P, O, V]{
		Identity: kind.ByName, Get: call, Create: call,
		Delete: func(context.Context, *vendor, *kind.Request[P, V]) error { return nil },
	}
}

func TestMistakesInTypes(t *testing.T) {
	t.Parallel()
	type none struct{}
	type sized struct {
		Size int `json:"size"`
	}
	type named struct {
		Size *int64 `json:"size" vendor:"Gigabytes"`
	}
	t.Run("NeverEnforced", func(t *testing.T) {
		t.Parallel()
		checkMistake(t, kindOf[sized, none, none](), "has nothing like field size of the parameters")
	})
	t.Run("SoundsLikeReference", func(t *testing.T) {
		t.Parallel()
		checkMistake(t, kindOf[struct {
			GitRef *string `json:"gitRef,omitempty"`
		}, none, none](), "has nothing like field gitRef of the parameters")
	})
	t.Run("Unanswered", func(t *testing.T) {
		t.Parallel()
		checkMistake(t, kindOf[unanswered, none, struct{ Auth struct{} }](), "")
	})
	t.Run("NeverObserved", func(t *testing.T) {
		t.Parallel()
		checkMistake(t, kindOf[none, sized, none](), "has nothing like field size of the observation")
	})
	t.Run("OtherType", func(t *testing.T) {
		t.Parallel()
		checkMistake(t, kindOf[sized, none, struct{ Size string }](), "field size: a string is no int")
	})
	t.Run("OtherName", func(t *testing.T) {
		t.Parallel()
		checkMistake(t, kindOf[named, none, struct{ Gigabytes int32 }](), "")
	})
	t.Run("NoLabelsToFindBy", func(t *testing.T) {
		t.Parallel()
		k := kindOf[none, none, none]()
		k.Identity, k.ID = kind.ByLabel, func(*none) string { return "" }
		k.List = func(context.Context, *vendor, map[string]string) ([]none, error) { return nil, nil }
		checkMistake(t, k, "Identity ByLabel needs labels")
		k.Labels = func(*none) map[string]string { return nil }
		checkMistake(t, k, "")
	})
	t.Run("NoState", func(t *testing.T) {
		t.Parallel()
		k := kindOf[none, none, struct{ Phase string }]()
		k.States = map[string]kind.State{"READY": kind.Ready}
		checkMistake(t, k, "has no text field Status or State: give Kind.State")
	})
	t.Run("InputOfOtherType", func(t *testing.T) {
		t.Parallel()
		k := kindOf[sized, none, sized]()
		k.Inputs = []any{struct{ Size string }{}}
		checkMistake(t, k, "field Size: a int is no string: leave it out of Kind.Inputs and fill it by hand")
		k.Inputs = []any{"text"}
		checkMistake(t, k, "both must be structs")
		k.Inputs = []any{nil}
		checkMistake(t, k, "one of Kind.Inputs is nil")
		k.Inputs = []any{&sized{}}
		checkMistake(t, k, "one of Kind.Inputs is a *kind_test.sized: give kind_test.sized{}")
	})
	t.Run("NoStruct", func(t *testing.T) {
		t.Parallel()
		checkMistake(t, kindOf[none, none, map[string]any](), "must be structs, and map[string]interface {} is none")
	})
	t.Run("LabelsInEmbeddedStruct", func(t *testing.T) {
		t.Parallel()
		checkMistake(t, kindOf[inlined, none, struct{ Labels map[string]string }](), "")
	})
}

func TestMistakesInConnectionTags(t *testing.T) {
	t.Parallel()
	type none struct{}
	type listed struct {
		Hosts []string `connection:"hosts"`
	}
	t.Run("NoText", func(t *testing.T) {
		t.Parallel()
		checkMistake(t, kindOf[none, none, listed](), "only texts and numbers can be connection details")
	})
	t.Run("NobodyReadsIt", func(t *testing.T) {
		t.Parallel()
		type secretive struct {
			secret string `connection:"password"`
		}
		_ = secretive{}.secret
		checkMistake(t, kindOf[none, none, secretive](), "unexported fields cannot be connection details")
		checkMistake(t, kindOf[none, none, struct{ in secretive }](), "unexported fields cannot be connection details")
	})
	t.Run("InList", func(t *testing.T) {
		t.Parallel()
		checkMistake(t, kindOf[none, none, struct{ Endpoints []endpoint }](), "fields in lists and maps cannot be connection details")
	})
	t.Run("ToldOnceAndWaitedFor (N22)", func(t *testing.T) {
		t.Parallel()
		k := kindOf[none, endpoint, endpoint]()
		k.Observed = func(*endpoint) (o endpoint) { return o }
		k.Await = k.Delete
		checkMistake(t, k, "and Await need Identity ByToken")
		untold := kindOf[none, endpoint, none]()
		untold.Observed = func(*none) (o endpoint) { return o }
		untold.Await = untold.Delete
		checkMistake(t, untold, "")
		untold.Connection = func(*vendor, *none) managed.ConnectionDetails { return nil }
		checkMistake(t, untold, "and Await need Identity ByToken")
	})
	t.Run("NoSecret", func(t *testing.T) {
		t.Parallel()
		checkMistake(t, kindOf[listed, none, struct{ Hosts []string }](), "of parameters only references to Secrets can be connection details")
	})
}

// unanswered has fields that no vendor answers.
type unanswered struct {
	Auth struct {
		Mode *string `json:"mode,omitempty"`
	} `json:"auth"`
	NetworkRef  *xpv1.NamespacedReference  `json:"networkRef,omitempty"`
	SubnetRefs  []xpv1.NamespacedReference `json:"subnetRefs,omitempty"`
	LicenseFrom *xpv1.SecretKeySelector    `json:"licenseFrom,omitempty"`
}

func (*unanswered) FieldRules() parameters.Rules {
	return parameters.Rules{WriteOnly: []string{"auth"}}
}

// inlined has its labels, of a named type, in an embedded struct.
type inlined struct {
	inlinedLabels `json:",inline"`
}

type (
	inlinedLabels struct {
		Labels labelMap `json:"labels,omitempty"`
	}
	labelMap map[string]string
)

func (*inlined) FieldRules() parameters.Rules { return parameters.Rules{Labels: "labels"} }

// as finds an optional interface of an external client, as the reconciler does.
func as[I any](t *testing.T, client any) I {
	t.Helper()
	for {
		if i, ok := client.(I); ok {
			return i
		}
		wrapper, ok := client.(interface{ Unwrap() any })
		if !ok {
			t.Fatalf("the client does not offer %T", *new(I))
		}
		client = wrapper.Unwrap()
	}
}

func texts(details managed.ConnectionDetails) map[string]string {
	all := map[string]string{}
	for key, value := range details {
		all[key] = string(value)
	}
	return all
}
