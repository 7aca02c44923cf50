// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A Class connects a claim kind, a class kind and a managed kind (R5, R6). ClassOf creates one. A class kind for several claim
// kinds needs one Class for each.
type Class struct {
	Claim   resource.Claim           // an empty claim of any kind, for example of the core (K37)
	Object  resource.Class           // an empty class of the provider
	Managed resource.BindableManaged // an empty managed resource of the provider
	// Kinds are those that the classes name, where Object satisfies resource.KindedClass. Managed is nil then. Default: none.
	Kinds resource.Kinds
	// Configurators configure the managed resource of a claim, after claimbinding.NewObjectMetaConfigurator (R258, R259). Those
	// that satisfy claimbinding.ManagedChecker also check existing managed resources that claims refer to.
	Configurators []claimbinding.ManagedConfigurator
}

// A ParameterizedClass is a class with settings of type P, as generated.
type ParameterizedClass[P any] interface {
	resource.Class
	Parameters() *P
}

// A ParameterizedManaged is a managed resource with settings of type P, as generated.
type ParameterizedManaged[P any] interface {
	resource.BindableManaged
	Parameters() *P
}

// ClassOf returns a Class that gives the managed resource of a claim the settings of its class. carry copies settings of the
// claim, and refuses those that contradict the class, see Agree; nil if the claim has none. alone refuses settings of a class that
// no two claims can share, see Alone (D27).
//
//	provider.ClassOf(&databasev1alpha1.PostgreSQLInstance{}, &v1.BucketClass{}, &v1.Bucket{},
//		func(c *databasev1alpha1.PostgreSQLInstance, p *v1.BucketParameters) error {
//			return provider.Agree("engineVersion", c.Spec.EngineVersion, &p.Version)
//		},
//		func(p *v1.BucketParameters) error { return provider.Alone("name", p.Name != "") })
func ClassOf[CM resource.Claim, P any](
	claim CM, class ParameterizedClass[P], mg ParameterizedManaged[P], carry func(claim CM, p *P) error, alone ...func(p *P) error,
) Class {
	if carry == nil {
		carry = func(CM, *P) error { return nil }
	}
	return Class{
		Claim: claim, Object: class, Managed: mg,
		Configurators: []claimbinding.ManagedConfigurator{&template[CM, P]{claim, class, mg, carry, alone}},
	}
}

type template[CM resource.Claim, P any] struct {
	claim CM
	class ParameterizedClass[P]
	mg    ParameterizedManaged[P]
	carry func(CM, *P) error
	alone []func(*P) error
}

func (t *template[CM, P]) Configure(_ context.Context, cm resource.Claim, cs resource.Class, mg resource.Managed) error {
	from, ok := cm.(CM)
	if !ok {
		return fmt.Errorf("resource claim is not a %s", kindOf(t.claim))
	}
	by, ok := cs.DeepCopyObject().(ParameterizedClass[P])
	if !ok {
		return fmt.Errorf("resource class is not a %s", kindOf(t.class))
	}
	to, ok := mg.(ParameterizedManaged[P])
	if !ok {
		return fmt.Errorf("managed resource is not a %s", kindOf(t.mg))
	}
	for _, refuse := range t.alone {
		if err := refuse(by.Parameters()); err != nil {
			return err
		}
	}
	*to.Parameters() = *by.Parameters()
	return t.carry(from, to.Parameters())
}

func (t *template[CM, P]) CheckManaged(_ context.Context, cm resource.Claim, mg resource.Managed) error {
	from, ok := cm.(CM)
	if !ok {
		return fmt.Errorf("resource claim is not a %s", kindOf(t.claim))
	}
	existing, ok := mg.DeepCopyObject().(ParameterizedManaged[P])
	if !ok {
		return fmt.Errorf("managed resource is not a %s", kindOf(t.mg))
	}
	err := t.carry(from, existing.Parameters())
	if c, ok := errors.AsType[*contradictionError](err); ok {
		return refusal("spec.%s is %v, but managed resource %q has %v: create another claim, and leave the field out or name another "+
			"managed resource", c.field, c.claimed, mg.GetName(), c.offered)
	}
	return err
}

// Agree sets a setting to the value of a claim, if it has one. A different value in the class is an error: neither of the two is
// ignored (D27).
func Agree[T comparable](field string, claimed *T, setting **T) error {
	switch {
	case claimed == nil:
		return nil
	case *setting != nil && **setting != *claimed:
		return &contradictionError{refusal("spec.%s is %v, but the class has %v: leave it out, or choose another class", field, *claimed,
			**setting), field, *claimed, **setting}
	}
	*setting = claimed
	return nil
}

type contradictionError struct {
	error
	field            string
	claimed, offered any
}

func (e *contradictionError) Unwrap() error { return e.error }

// Alone refuses a class that sets a field which must differ between claims, such as a name or a password.
func Alone(field string, set bool) error {
	if set {
		return refusal("the class sets forProvider.%s, which no two claims can share: ask your platform team to remove it", field)
	}
	return nil
}

// refusal is an error that the team reads.
func refusal(format string, a ...any) error {
	return &failure.Error{Reason: xpv1.ReasonBinding, Message: fmt.Sprintf(format, a...)}
}

func kindOf(o any) string { return reflect.TypeOf(o).Elem().Name() }
