// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kind turns four functions, get, create, update and delete in the vendor's own types, into a managed kind.
//
// The one idea: a vendor's answer, converted to the parameters of the kind, carries all that the runtime needs: whether the
// external resource exists, its owner, which fields differ, which values the vendor chose, whether it is ready, and the
// connection details. Authors write none of that.
//
//	var networks = kind.Kind[*sdk.Client, v1.NetworkParameters, v1.NetworkObservation, network.Network]{
//		Identity: kind.ByLabel,
//		ID:       func(n *network.Network) string { return n.ID },
//		Get: func(ctx context.Context, c *sdk.Client, r *Request) (*network.Network, error) {
//			return c.GetNetwork(ctx, r.Name)
//		},
//		…
//	}
//
//	kinds := kind.Serve(system, networks, &v1.Network{}, &namespacedv1.Network{})
//
// Parameters and observation are Go types of an API package. Markers in the comments of their fields declare how a field
// behaves; the generator turns them into the method FieldRules (see parameters.Rules). Fields are matched with those of the
// vendor's types by name, in any spelling; the field tag vendor:"Name" names another one.
//
// A field of the vendor's type or of the observation with the tag connection:"key" is published in the connection Secret.
// In parameters the tag belongs on references to Secrets, whose values are published once they are sent. Empty values, 0 and
// false are left out, unless they are behind a pointer. Tags work in nested structs, not in lists and maps: Kind.Connection
// is for those.
//
// Kinds that do not fit implement managed.ExternalClient.
package kind

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"syscall"
	"time"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/clients"
	"github.com/bowline-dev/bowline/pkg/clients/limits"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A Kind manages external resources of one kind through a client of type C. P and O are the parameters and the observation
// of the kind, V is what the vendor returns; all three are structs. The functions must be safe for concurrent use.
type Kind[C, P, O, V any] struct {
	Identity Identity // declares how external resources get their names
	// Get returns the external resource named r.Name. If there is none it returns nil, or an error for which
	// System.IsNotFound is true.
	Get func(ctx context.Context, c C, r *Request[P, V]) (*V, error)
	// Create starts to create the external resource that r describes. It returns the vendor's answer, including values that
	// the vendor returns only once, and need not wait until the resource is ready.
	Create func(ctx context.Context, c C, r *Request[P, V]) (*V, error)
	// Update changes the external resource r.Have to match r. Nil: the kind cannot be updated.
	Update func(ctx context.Context, c C, r *Request[P, V]) error
	// Delete starts to delete the external resource. An error for which System.IsNotFound is true counts as success.
	Delete func(ctx context.Context, c C, r *Request[P, V]) error
	// CheckSecrets asks the vendor whether the values in r.Secrets open the external resource r.Have, which is ready and belongs to
	// r.Object. They include those in the connection Secret, under the fields whose tag names their keys. Refused values are a
	// difference, and Update gets the same. Nil: values are not checked.
	CheckSecrets func(ctx context.Context, c C, r *Request[P, V]) (Verdict, error)
	// List returns the external resources that carry the labels. Identity ByLabel needs List or Find.
	List func(ctx context.Context, c C, labels map[string]string) ([]V, error)
	// Find returns what an earlier Create of r.Object created, or nil. Default: the resource from List that carries the
	// ownership label, and an error if several do (N88); parameters or Labels must provide labels then.
	Find func(ctx context.Context, c C, r *Request[P, V]) (*V, error)
	// Await waits until the operation that Create, Update or Delete started has finished, for vendors with long-running
	// operations. The calls of such a kind run in the background, each for at most AwaitTimeout (R197). The answer of Create
	// is stored only afterwards, so only Identity ByToken may return connection details in it (N22).
	Await        func(ctx context.Context, c C, r *Request[P, V]) error
	AwaitTimeout time.Duration   // default: 20 minutes
	ID           func(*V) string // returns the name that the vendor assigned. Nil: names are chosen by the user or by Name.
	UniqueID     func(*V) string // returns what the vendor gives to no later external resource of the same name, if anything (N63)
	// Name chooses the external name of an object that has none, always the same; p is what Create will send. Default: metadata.name (R63).
	Name func(mg resource.Managed, p *P) string
	// States maps states of the vendor to condition Ready. One that is missing leaves the condition unchanged. Nil: what exists is ready.
	States map[string]State
	// State and Message return the state of an external resource and the vendor's explanation of it. Default: the fields
	// Status or State, and Message or StatusMessage, if there are any. States need a state.
	State    func(*V) string
	Message  func(*V) string
	Labels   func(*V) map[string]string // returns those of an external resource. Default: the field of the parameters for labels
	Describe func(*V) string            // returns a clause about an external resource for messages, where its name tells people nothing
	// Connection returns connection details that tags cannot express, such as those that the client knows. Empty values are left out.
	Connection func(c C, v *V) managed.ConnectionDetails
	// Declared converts an external resource to parameters, and Observed to status.atProvider. Default: fields of the same names.
	Declared func(*V) P
	Observed func(*V) O
	// Inputs are empty structs of the types that Create and Update send, where these differ from V. Input fills them as
	// Request.Want is filled; fields without a counterpart stay empty.
	Inputs []any
	// Want replaces the conversion that fills Request.Want, from a request that is complete otherwise. Default: fields of the
	// same names, and fields Name and Labels or Tags.
	Want func(r *Request[P, V]) V
	// Rotates lists the fields of the parameters that refer to a Secret with credentials, such as passwordSecretRef, whose value Update
	// always sets if Request.Secrets has one. Where the user refers to no Secret, Bowline can replace the value on request (N50).
	Rotates  []string
	Overlaps bool                       // Update can keep the values that it replaces for Request.Overlap (N59)
	Lag      time.Duration              // how long the vendor may return the state before a change, 10 seconds or more
	Options  []managed.ReconcilerOption // passed to the reconciler of the kind, after all that the runtime derives
}

// An Identity declares how external resources get their names, and so how an interrupted create is recovered (N5, N22).
type Identity int

const (
	// ByName: the name is chosen before the create, and the vendor refuses a second resource of that name. An interrupted
	// create is repeated.
	ByName Identity = iota + 1
	// ByToken: the vendor answers a repeated Request.Token with its full first answer, including one-time passwords. An
	// interrupted create is repeated until its answer is recorded. The name may be chosen or assigned.
	ByToken
	// ByLabel: the vendor assigns the name, and the resource can be found by its ownership label. After an interrupted create
	// the runtime searches for it.
	ByLabel
	// Unfindable: the vendor assigns the name, and nothing leads from an object to its external resource. An interrupted
	// create needs manual intervention.
	Unfindable
)

// A State is what a state of the vendor means for condition Ready.
type State int

const (
	Ready    State = iota + 1 // it can be used
	Creating                  // in progress
	Deleting                  // in progress, for any reason
	Failed                    // it cannot be used, for the reason in the vendor's message; it is still updated and deleted
)

// A Request describes the managed resource for which a function of a Kind is called.
type Request[P, V any] struct {
	Name string // the external name. Empty: the vendor has yet to assign it.
	// Parameters to send, and to find the resource by: spec.forProvider merged over spec.initProvider. Update and Delete get
	// only the immutable fields of spec.initProvider, and Update none in structs that spec.forProvider leaves out. In Create
	// and Update their labels are all labels that the resource shall carry.
	Parameters P
	Labels     map[string]string // all labels that the external resource shall carry, in Create and Update
	// Want is the desired external resource: Parameters, Name and Labels in the vendor's own type. Undeclared fields are zero.
	// Update must not send a zero value field that Parameters do not set: it may be set by spec.initProvider only, and sending
	// it would erase the value. See Input for other types.
	Want    V
	Have    *V                      // the resource that Get returned in this pass, in Update, Delete and Await. Nil: there is none.
	Changes []parameters.Difference // all fields in which Have differs, in Update
	Token   string                  // the same for each attempt of one create
	// Outside is set by Get: differences that the parameters do not show, such as a password that was changed in the external system.
	// Until Update has settled them the resource is not ready.
	Outside []parameters.Difference
	// Secrets are the values of the Secrets that the parameters refer to and the generated ones, by field, for example
	// passwordSecretRef. Get and Update read generated values from the connection Secret and have none without it (P65).
	Secrets map[string][]byte
	// Overlap is how long the values that those of Kind.Rotates replace work beside them, in Update. 0: all former ones end at once.
	Overlap time.Duration
	Object  resource.Managed // the managed resource. It and Parameters are copies for this call; changes to them are discarded.
	inputs  map[reflect.Type]any
}

// A System is what the kinds of one external system have in common.
type System[C any] struct {
	Clients clients.Source[C] // makes the clients of provider configurations
	// Identify returns which external system a client's calls reached last, and Origin the id of the first one in the line of restores
	// that led to it, without a call: see managed.ExternalObservation. Default: that is not known.
	Identify func(C) xpv1.ExternalSystem
	Origin   func(C) string
	// Classify gives an error of the vendor a reason and, where an application team may read about it, a message, by package
	// failure. It must keep the error in the chain. An error that it returns unchanged is for the platform team only.
	// Default: no error is classified.
	Classify   func(error) error
	IsNotFound func(error) bool // true for the answer that a resource does not exist. Default: never.
	// Refused is true for an answer that proves that the call had no effect, for example because the input is invalid or the
	// quota used up. After any other error of Create the resource may exist. Default: never.
	Refused func(error) bool
	// Invalid is true for an answer that the same input will always get. The call is repeated only when the object changes,
	// and at the poll. Default: never.
	Invalid func(error) bool
}

// identify adds to an observation where it was made.
func (s System[C]) identify(client C, o managed.ExternalObservation) managed.ExternalObservation {
	if s.Identify != nil {
		o.System = s.Identify(client)
	}
	if s.Origin != nil {
		o.SystemOrigin = s.Origin(client)
	}
	return o
}

func is(class func(error) bool, err error) bool { return err != nil && class != nil && class(err) }

// callError names the call that failed, and marks an error that repeating the call cannot heal (R28).
func (s System[C]) callError(verb, noun string, err error) error {
	if err == nil {
		return nil
	}
	wrapped := fmt.Errorf("cannot %s %s: %w", verb, noun, s.classified(err))
	if s.invalid(err) {
		return failure.Terminal(wrapped)
	}
	return wrapped
}

func (s System[C]) classified(err error) error {
	if unfit, ok := errors.AsType[unfitError](err); ok {
		return failure.ForTeam(failure.InvalidSettings, unfit.Error(), err)
	}
	if s.Classify == nil {
		return err
	}
	return s.Classify(err)
}

func (s System[C]) invalid(err error) bool {
	_, unfit := errors.AsType[unfitError](err)
	return unfit || is(s.Invalid, err)
}

// createError marks errors after which the resource may exist: all but a refusal, and a request that was never sent.
func (s System[C]) createError(noun string, err error) error {
	_, unresolved := errors.AsType[*net.DNSError](err)
	_, notSent := errors.AsType[*limits.NotSentError](err)
	wrapped := s.callError("create", noun, err)
	if unresolved || notSent || failure.Of(err).Reason == failure.CallTooLate || errors.Is(err, syscall.ECONNREFUSED) || is(s.Refused, err) || s.invalid(err) {
		return wrapped
	}
	return failure.OutcomeUnknown(wrapped)
}
