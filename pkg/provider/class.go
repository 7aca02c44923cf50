// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A Class says that classes of one kind turn claims of one kind into managed resources of one kind (R5, R6). See ClassOf for
// the usual way to make one. A class kind that serves several claim kinds has one for each.
type Class struct {
	// Claim is an empty claim, of a kind of the core (K37) or of anybody's.
	Claim resource.Claim

	// Object is an empty class, and Managed an empty managed resource as it makes. Both are among the provider's own kinds.
	Object  resource.Class
	Managed resource.BindableManaged

	// Configurators make the managed resource of a claim, after claimbinding.NewObjectMetaConfigurator (R258, R259). Those that
	// satisfy claimbinding.ManagedChecker look at what claims name that exists already, too.
	Configurators []claimbinding.ManagedConfigurator
}

// A ParameterizedClass is a class with settings of type P, as the generator makes them.
type ParameterizedClass[P any] interface {
	resource.Class
	Parameters() *P
}

// A ParameterizedManaged is a managed resource with settings of type P, as the generator makes them.
type ParameterizedManaged[P any] interface {
	resource.BindableManaged
	Parameters() *P
}

// ClassOf returns what gives each claim a managed resource with the settings of its class. carry puts what the claim itself
// says into these settings, and refuses what contradicts the class (D27); see Agree. Nil: the claim says nothing of its own.
// What alone returns an error for are settings of the class that no two claims can share; see Alone.
//
//	provider.ClassOf(&databasev1alpha1.PostgreSQLInstance{}, &v1.BucketClass{}, &v1.Bucket{},
//		func(c *databasev1alpha1.PostgreSQLInstance, p *v1.BucketParameters) error {
//			return provider.Agree("engineVersion", c.Spec.EngineVersion, &p.Version)
//		},
//		func(p *v1.BucketParameters) error { return provider.Alone("name", p.Name != "") })
func ClassOf[CM resource.Claim, P any](
	claim CM, class ParameterizedClass[P], made ParameterizedManaged[P], carry func(claim CM, p *P) error, alone ...func(p *P) error,
) Class {
	if carry == nil {
		carry = func(CM, *P) error { return nil }
	}
	return Class{
		Claim: claim, Object: class, Managed: made,
		Configurators: []claimbinding.ManagedConfigurator{&template[CM, P]{claim, class, made, carry, alone}},
	}
}

// A template is how settings get from class and claim to the managed resource.
type template[CM resource.Claim, P any] struct {
	claim CM
	class ParameterizedClass[P]
	made  ParameterizedManaged[P]
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
		return fmt.Errorf("managed resource is not a %s", kindOf(t.made))
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
		return fmt.Errorf("managed resource is not a %s", kindOf(t.made))
	}
	err := t.carry(from, existing.Parameters())
	if c, ok := errors.AsType[*contradictionError](err); ok {
		return fmt.Errorf("spec.%s is %v, but managed resource %q has %v: make another claim, and leave the field out or name another "+
			"managed resource", c.field, c.claimed, mg.GetName(), c.offered)
	}
	return err
}

// Agree gives a setting the value that a claim asks for, if it asks. Where the class says another one that is an error: a
// class keeps its word, and a claim is not ignored (D27).
func Agree[T comparable](field string, claimed *T, setting **T) error {
	switch {
	case claimed == nil:
		return nil
	case *setting != nil && **setting != *claimed:
		return &contradictionError{field, *claimed, **setting}
	}
	*setting = claimed
	return nil
}

// A contradictionError reports that a claim asks for something else than there is.
type contradictionError struct {
	field            string
	claimed, offered any
}

func (e *contradictionError) Error() string {
	return fmt.Sprintf("spec.%s is %v, but the class stands for %v: leave it out, or choose another class", e.field, e.claimed, e.offered)
}

// Alone refuses a class that sets what every claim must have for itself, such as a name, or else all have the same password.
func Alone(field string, set bool) error {
	if set {
		return fmt.Errorf("the class sets forProvider.%s, which no two claims can share: ask your platform team to take it out", field)
	}
	return nil
}

// kindOf is the kind of an object by the name of its type.
func kindOf(o any) string { return reflect.TypeOf(o).Elem().Name() }
