// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A TypedExternalConnecter makes clients of the external system for managed resources of type T (A53).
type TypedExternalConnecter[T resource.Managed] interface {
	// Connect returns a client for one pass over the managed resource: it reads the ProviderConfig and the
	// credentials. A client returned together with an error is not used (R20).
	Connect(ctx context.Context, mg T) (TypedExternalClient[T], error)
}

// A TypedExternalClient creates, reads, updates and deletes the external resources of managed resources of type T
// (A54). Its methods set conditions and status on the managed resource in memory; the reconciler stores them.
//
// What only some clients can do is an optional interface: Disconnecter, CreateReplayer, CredentialChooser,
// OneTimeAnswerer, TypedCreateFinder, SecretInputUser, ConnectionDetailsUser, CredentialRotator, SecretKeeper, PollIntervalChooser, AdoptionRuler,
// CreationChecker, SystemIdentifier, Adopter.
type TypedExternalClient[T resource.Managed] interface {
	// Observe looks the external resource up by the external name, and reports what it found.
	Observe(ctx context.Context, mg T) (ExternalObservation, error)
	// Create creates the external resource under the external name, or sets the external name that the external system
	// chose (R65). It is called only after Observe reported that there is none, or again after its answer was lost.
	// An error means that nothing was created, unless it is OutcomeUnknown or Accepted.
	Create(ctx context.Context, mg T) (ExternalCreation, error)
	// Update changes the external resource to match the managed resource. It is called only after Observe reported
	// that it exists and is not up to date (R24).
	Update(ctx context.Context, mg T) (ExternalUpdate, error)
	// Delete begins to delete the external resource, and is called again until Observe reports it gone. Gone already is no error
	// (R38).
	Delete(ctx context.Context, mg T) error
}

// An ExternalConnecter makes clients for managed resources of any type.
type ExternalConnecter = TypedExternalConnecter[resource.Managed]

// An ExternalClient serves managed resources of any type.
type ExternalClient = TypedExternalClient[resource.Managed]

// ConnectionDetails are what one needs to use an external resource, such as its endpoint and password, by key.
type ConnectionDetails map[string][]byte

// An ExternalObservation is what Observe found.
type ExternalObservation struct {
	// ResourceExists is true if there is an external resource of the external name.
	ResourceExists bool
	// ResourceUpToDate is true if the external resource matches the managed resource.
	ResourceUpToDate bool
	// Replacing is true where a person permitted to replace the external resource: Update deletes the one that exists, with its data, and
	// the one that it deleted is no lost one, but created again.
	Replacing bool
	// System is the external system that answered, also where there is no such resource: its id, which no other one has, or none
	// where the system shows none. A resource that is not found in another system than before is not taken for gone (N55). An id that
	// ends with a slash and another id is of the same system, whose id is more exact now, or of a restored copy of it (N60).
	System xpv1.ExternalSystem
	// SystemOrigin is the id of the first system in the line of restores that led to System: System.ID itself where System is no restored
	// copy. Two copies of one origin are told apart only where it is known: empty where it is not (N60).
	SystemOrigin string
	// ID tells the external resource from later ones of the same name: the external system gives another one to what is deleted and
	// created again, such as the OID of a database. Empty where it shows none (N63).
	ID string
	// Description of the external resource in messages, where the external name tells people nothing, such as that of privileges: a
	// clause, also for application teams.
	Description string
	// Owner is the UID that the external resource's ownership label holds (meta.ExternalLabelUID), empty where it
	// carries no such label. Nil means that resources of this kind cannot carry one (N23).
	Owner *types.UID
	// OwnerNamespace is the namespace that the external resource's label meta.ExternalLabelNamespace holds.
	OwnerNamespace string
	// ResourceLateInitialized is true if Observe filled empty fields of spec.forProvider with values that the external system
	// chose. The reconciler stores them if it may; a value that the user or initProvider set is never changed (R149 to R157).
	ResourceLateInitialized bool
	// Drift lists the fields in which the external resource differs from spec.forProvider, without secret values; package
	// parameters compares. Where ResourceUpToDate is false and this is empty, users see that it differs, but not where.
	// Where ResourceUpToDate is true the fields are such that no update settles them.
	Drift []xpv1.FieldDifference
	// Fixed lists the paths of Drift that no update settles, such as those of immutable fields. Failed is to say so, too.
	Fixed []string
	// Diff is for people: how the external resource differs, without secret values. It is shown where Drift is empty.
	Diff string
	// Failed is what the external system itself reports to be wrong with the resource, for example that it could not
	// finish creating it in the background. Updates and deletion continue; otherwise the pass ends with it as its error.
	// See package failure for what application teams read of it.
	Failed error
	// ConnectionDetails as far as they can be read. They are added to those already published (R208).
	ConnectionDetails ConnectionDetails
	// LostKeys are the keys whose values in the connection Secret were those of another external resource, and which nothing replaces: they are
	// nil in ConnectionDetails. The object reports them, as it reports what only the answer of Create contained.
	LostKeys []string
}

// An ExternalCreation is what Create did.
type ExternalCreation struct {
	// ConnectionDetails of the new resource; those known only now, such as a generated password, must be here (R207).
	ConnectionDetails ConnectionDetails
}

// An ExternalUpdate is what Update did.
type ExternalUpdate struct {
	// ConnectionDetails that changed with the update. They are added to those already published.
	ConnectionDetails ConnectionDetails
}

// A TypedCreateFinder is a client of a kind whose names the external system makes up, that can find what an interrupted
// creation left behind, by the ownership label (meta.ExternalLabelUID) or by the creation token (N5). With it no such
// creation needs manual intervention.
type TypedCreateFinder[T resource.Managed] interface {
	// FindCreated returns the external name of the resource that an earlier Create of this object made, empty if there
	// is none. See WithConsistencyWindow for how long after the creation "none" proves nothing. ErrCreateAgain proves it.
	FindCreated(ctx context.Context, mg T) (externalName string, err error)
}

// ErrCreateAgain is what FindCreated returns if nothing of an earlier Create can appear any more, but for what the next Create deletes first:
// that follows at once (N99).
var ErrCreateAgain = errors.New("nothing of an earlier creation can appear any more")

// A CreateFinder finds what creations of managed resources of any type left behind.
type CreateFinder = TypedCreateFinder[resource.Managed]

// A SecretInputUser is a client of a kind whose parameters refer to Secrets: fields named <name>SecretRef (P60). It is
// given the values before Create and Update, by field path, for example passwordSecretRef. The reconciler calls Update
// when one of the Secrets changed, although the external system cannot tell that (P61, O21).
type SecretInputUser interface {
	UseSecretInputs(values map[string][]byte)
}

// A SystemIdentifier is a client that knows its external system before it asks for an external resource, which nobody does where the resource
// has no name yet. Without it a creation in the background is not told from one in another system (N55).
type SystemIdentifier interface {
	ExternalSystem() xpv1.ExternalSystem // as in ExternalObservation.System
}

// An Adopter is a client that records by itself which object has an external resource. Observe records nothing: it does not know yet whether
// the object may have what it found (N102).
type Adopter interface {
	// Adopt is called in each pass that found the external resource to be the object's own, before anything is changed or published.
	// left is the external name of the external resource that the object had before, which nothing has from then on; empty for none.
	Adopt(ctx context.Context, mg resource.Managed) (left string, err error)
}

// A CreationChecker is a client that knows beforehand why a creation would be refused, for plans. It changes nothing.
type CreationChecker interface {
	CheckCreation(ctx context.Context, mg resource.Managed) error
}

// A PollIntervalChooser is a client that knows how often its external resources are to be observed, for example from its
// ProviderConfig. Zero leaves the choice to the reconciler; the annotation crossplane.io/poll-interval on the object wins.
type PollIntervalChooser interface {
	PollInterval() time.Duration
}

// An AdoptionRuler is a client that knows the rules of its ProviderConfig about adoption. Without it any external resource may be
// adopted, on request.
type AdoptionRuler interface {
	Adoption() resource.Adoption
}

// A Disconnecter is a client that has to be closed at the end of a pass.
type Disconnecter interface {
	Disconnect(ctx context.Context) error
}

// A CreateReplayer is a client whose Create passes an idempotency token (meta.CreationToken) to an external system
// that answers a repeated token with its full first answer. Such a client's Create is repeated until its answer is
// recorded, even where Observe finds the resource, so that no crash loses a one-time password (N22).
type CreateReplayer interface {
	ReplaysCreate() bool
}

// A CredentialChooser is a client that chooses the one-time credentials of a new external resource itself. They are
// stored in the connection secret before Create is called, so that no crash loses them (N22).
type CredentialChooser interface {
	// ChooseCredentials returns the credentials that this client's Create will use. stored holds what the connection
	// secret has; credentials found there belong to an earlier attempt and must be used again.
	ChooseCredentials(ctx context.Context, stored ConnectionDetails) (ConnectionDetails, error)
}

// A OneTimeAnswerer is a client that knows which connection details only the answer of Create contains. If that answer is lost the
// object reports those that its connection Secret lacks. Of another client it reports that any may be missing, unless that is a
// CreateReplayer, whose answer is requested again, or a CredentialChooser, which had them stored before (N22).
type OneTimeAnswerer interface {
	// OneTimeKeys returns the keys of these details, none if there are none.
	OneTimeKeys() []string
}

// A ConnectionDetailsUser is a client whose Update may have to give the external resource once more what only the connection
// Secret still has, for example a password that was generated at creation (P65).
type ConnectionDetailsUser interface {
	// UseConnectionDetails is called before Observe and Update with the data of the connection Secret, if the object owns one.
	UseConnectionDetails(stored ConnectionDetails)
}

// A CredentialRotator is a client whose Update can replace credentials of the external resource. The new ones are stored as pending in
// the connection Secret before Update gets them, and replace those in use once the external resource has them, so that no crash loses
// them (N50).
type CredentialRotator interface {
	// NewCredentials returns new credentials by the key of the connection Secret that has those in use. The error says why
	// there can be none, for example because the user chooses them.
	NewCredentials() (ConnectionDetails, error)
	// UsePending is called before Observe and Update with what is pending, if anything is. Observe does not compare those
	// credentials, and Update sets the pending ones, as often as it is called. The former ones are to work beside them for the time of
	// the overlap, if they can, and all earlier ones end (N59).
	UsePending(pending ConnectionDetails, overlap time.Duration)
	// Overlaps is true if the external system can accept former credentials beside new ones.
	Overlaps() bool
	// HasPending is true if the last Observe found that the external system has completed all updates.
	HasPending() bool
}

// A SecretKeeper is a client that knows secrets which the errors of the external system may repeat, above all the credentials
// that it signs in with. Messages of the reconciler leave them out. The reconciler knows secret inputs and connection details
// by itself; a connecter whose own errors may hold a secret passes them through failure.Redact.
type SecretKeeper interface {
	// SecretValues returns the secrets. It may be called while another call is in progress.
	SecretValues() [][]byte
}

// typedConnecter lets a connecter of one type serve a reconciler of any, so that no author asserts types by hand.
type typedConnecter[T resource.Managed] struct {
	TypedExternalConnecter[T]
}

func (c typedConnecter[T]) Connect(ctx context.Context, mg resource.Managed) (ExternalClient, error) {
	external, err := callWith(ctx, mg, c.TypedExternalConnecter.Connect)
	if err != nil {
		return nil, err
	}
	return typedClient[T]{external}, nil
}

type typedClient[T resource.Managed] struct {
	typed TypedExternalClient[T]
}

func (c typedClient[T]) Observe(ctx context.Context, mg resource.Managed) (ExternalObservation, error) {
	return callWith(ctx, mg, c.typed.Observe)
}

func (c typedClient[T]) Create(ctx context.Context, mg resource.Managed) (ExternalCreation, error) {
	return callWith(ctx, mg, c.typed.Create)
}

func (c typedClient[T]) Update(ctx context.Context, mg resource.Managed) (ExternalUpdate, error) {
	return callWith(ctx, mg, c.typed.Update)
}

func (c typedClient[T]) Delete(ctx context.Context, mg resource.Managed) error {
	_, err := callWith(ctx, mg, func(ctx context.Context, mg T) (any, error) { return nil, c.typed.Delete(ctx, mg) })
	return err
}

// A finder finds what an interrupted creation left behind.
type finder = func(context.Context, resource.Managed) (externalName string, err error)

func (c typedClient[T]) finder() finder {
	typed, ok := optional[TypedCreateFinder[T]](c.typed)
	if !ok {
		return nil
	}
	return func(ctx context.Context, mg resource.Managed) (string, error) {
		return callWith(ctx, mg, typed.FindCreated)
	}
}

// finderOf returns the finder of a client, nil if it has none.
func finderOf(client any) finder {
	if f, ok := optional[CreateFinder](client); ok {
		return f.FindCreated
	}
	if typed, ok := optional[interface{ finder() finder }](client); ok {
		return typed.finder()
	}
	return nil
}

// Unwrap gives access to the optional interfaces of the author's client.
func (c typedClient[T]) Unwrap() any { return c.typed }

// callWith calls a method of an author with the managed resource as the author's type (R29).
func callWith[T resource.Managed, R any](ctx context.Context, mg resource.Managed, call func(context.Context, T) (R, error)) (result R, err error) {
	typed, ok := mg.(T)
	if !ok {
		return result, fmt.Errorf("managed resource is not a %s", nameOf(reflect.TypeFor[T]()))
	}
	return call(ctx, typed)
}

// nameOf returns the name by which an author knows a type, which need not be a pointer and need not have one.
func nameOf(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return cmp.Or(t.Name(), t.String())
}

// optional finds an optional interface of a client, or of the client that it wraps.
func optional[I any](client any) (I, bool) {
	for {
		if i, ok := client.(I); ok {
			return i, true
		}
		wrapper, ok := client.(interface{ Unwrap() any })
		if !ok {
			var none I
			return none, false
		}
		client = wrapper.Unwrap()
	}
}
