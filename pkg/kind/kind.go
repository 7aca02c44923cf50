// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"reflect"
	"time"

	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A Kind says how external resources of one kind are managed through a client of type C. P and O are the kind's parameters
// and observation, V is what the vendor answers; all three are structs. The functions may be called by many goroutines at
// once.
type Kind[C, P, O, V any] struct {
	// Identity says how external resources come by their names.
	Identity Identity

	// Get returns the external resource of the name r.Name, or nil, or an error of which System.IsNotFound is true, if there
	// is none.
	Get func(ctx context.Context, c C, r *Request[P, V]) (*V, error)

	// Create begins to create the external resource that r describes and returns what the vendor answers, with all that is
	// told only once. It need not wait until the resource can be used.
	Create func(ctx context.Context, c C, r *Request[P, V]) (*V, error)

	// Update changes the external resource r.Have to what r describes. Nil: nothing can be changed.
	Update func(ctx context.Context, c C, r *Request[P, V]) error

	// Delete begins to delete the external resource. That there is none is no error.
	Delete func(ctx context.Context, c C, r *Request[P, V]) error

	// List returns the external resources that carry the labels. Identity ByLabel needs it, or Find.
	List func(ctx context.Context, c C, labels map[string]string) ([]V, error)

	// Find returns what an earlier Create of r.Object made, or nil. Default: the one that List finds by the label of
	// ownership, which the parameters or Labels must have then.
	Find func(ctx context.Context, c C, r *Request[P, V]) (*V, error)

	// Await waits until what Create, Update or Delete began is done, for vendors whose calls have to be waited for. Such a
	// kind's calls run in the background, each for AwaitTimeout at most (R197). What Create answers is stored only then, so
	// that only with Identity ByToken it may tell connection details (N22).
	Await        func(ctx context.Context, c C, r *Request[P, V]) error
	AwaitTimeout time.Duration // default: 20 minutes

	// ID returns the name that the vendor made up. Nil: names are chosen.
	ID func(*V) string

	// Name chooses the external name of an object that was given none, always the same for the same object; p is what Create
	// will send. Default: metadata.name (R63).
	Name func(mg resource.Managed, p *P) string

	// States say what a state of the vendor's means. Nil: what exists is ready. A state that is not among them leaves the
	// Ready condition as it is.
	States map[string]State

	// State and Message return the state of an external resource and what the vendor says of it. Default: its fields called
	// Status or State, and Message or StatusMessage, if it has them. States need a state.
	State   func(*V) string
	Message func(*V) string

	// Labels returns the labels of an external resource, for vendors with labels of which the parameters have none. Where
	// the parameters have a field for labels it is found by itself.
	Labels func(*V) map[string]string

	// Connection returns connection details that tags cannot tell, for example because the client knows them. Empty values
	// are left out.
	Connection func(c C, v *V) managed.ConnectionDetails

	// Declared returns the settings of an external resource as an object would declare them, and Observed what to show in
	// status.atProvider. Default: fields of the same names.
	Declared func(*V) P
	Observed func(*V) O

	// Inputs are empty structs of the types that Create and Update send, where these are not V: function Input fills them as
	// Request.Want is filled. Fields that nothing corresponds to stay empty.
	Inputs []any

	// Want replaces how Request.Want is made, from a request that is complete otherwise. Default: fields of the same names,
	// and fields Name and Labels or Tags.
	Want func(r *Request[P, V]) V

	// Lag is how long after a change the vendor may still answer with what was before. Default: none, answers are current.
	Lag time.Duration

	// Options are given to the kind's reconciler after all that the runtime derives.
	Options []managed.ReconcilerOption
}

// An Identity is how external resources come by their names (N5, N22).
type Identity int

const (
	// ByName: the name is chosen before, and a second resource of the same name is impossible. A creation that was cut off is
	// repeated.
	ByName Identity = iota + 1

	// ByToken: the vendor answers a repeated Request.Token with its full first answer, one-time passwords included. A
	// creation that was cut off is repeated until its answer is recorded. The name may be chosen or made up.
	ByToken

	// ByLabel: the vendor makes the name up, and what was created can be found by its label of ownership. A creation that
	// was cut off is looked for.
	ByLabel

	// Unfindable: the vendor makes the name up, and nothing leads from an object to what was created for it. A creation
	// that was cut off waits for a person, with instructions.
	Unfindable
)

// A State is what a state of the vendor's means for condition Ready.
type State int

const (
	// Ready to be used.
	Ready State = iota + 1
	// Creating: it is being made.
	Creating
	// Deleting: it is going away, whoever asked for that.
	Deleting
	// Failed: it cannot be used, and the vendor's message says why. Updates and deletion go on.
	Failed
)

// A Request is what a function needs to know of the object that it is called for.
type Request[P, V any] struct {
	// Name is the external name, empty if the vendor is yet to make it up.
	Name string

	// Parameters are those to send, and to find by: spec.forProvider laid over spec.initProvider, in Update and Delete over
	// its immutable fields only, in Update without those in structs that spec.forProvider leaves out. In Create and Update
	// their labels hold all that the resource is to carry.
	Parameters P

	// Labels are all that the external resource is to carry, in Create and Update.
	Labels map[string]string

	// Want is the external resource as it is to be: Parameters, Name and Labels as the vendor's own type has them. What is
	// not declared is not set: in Update a value field may be empty because only spec.initProvider has it, so send such
	// fields only where Parameters have them, or what was set at creation is erased. See Input for other types.
	Want V

	// Have is what Get found in this pass, in Update, Delete and Await. Nil: there is none.
	Have *V

	// Changes are all fields in which Have differs, in Update.
	Changes []parameters.Difference

	// Token is the same for each attempt of one creation.
	Token string

	// Secrets are the values of the Secrets that the parameters refer to, by field, for example passwordSecretRef, and of
	// those that were generated: in Update as the connection secret has them, so that there are none without one (P65).
	Secrets map[string][]byte

	// Object is the managed resource. It and Parameters are copies for this call: what functions set in them is not kept.
	Object resource.Managed

	inputs map[reflect.Type]any
}
