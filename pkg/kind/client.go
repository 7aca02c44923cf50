// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/clients"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

const (
	// minLag is the least Kind.Lag: an interrupted call may still be in progress at the vendor, even if its reads are consistent.
	minLag = 10 * time.Second

	defaultAwaitTimeout = 20 * time.Minute
)

// An Object is a managed resource with the given parameters and observation. The generator writes both methods.
type Object[P, O any] interface {
	resource.Managed
	// Parameters returns spec.forProvider, to read and to change.
	Parameters() *P
	// Observation returns status.atProvider, to read and to change.
	Observation() *O
}

// Serve returns the kind as rows of a provider: one for each of the given empty objects, which are those of its scopes.
// Provider.Validate reports the mistakes in it.
func Serve[C, P, O, V any](s System[C], k Kind[C, P, O, V], objects ...Object[P, O]) []provider.Kind {
	compiled, err := compile(s, k)
	rows := make([]provider.Kind, 0, len(objects))
	for _, empty := range objects {
		row := provider.Kind{Object: empty, Err: err}
		if err == nil {
			row.Options, row.HoldsData = compiled.options(), compiled.rules.HoldsData
			row.Connecter = func(setup *provider.Setup) managed.ExternalConnecter {
				gvk, _ := apiutil.GVKForObject(empty, setup.Manager().GetScheme()) // Provider.Validate found it there
				return connecter[C, P, O, V]{compiled: compiled, kind: gvk.GroupKind(), lease: s.Clients.In(setup.Clients()).For}
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// NewConnecter returns a connecter whose external clients all use one client of the external system, and the options of the
// reconciler. It is for tests of a kind; the System needs no Clients.
func NewConnecter[C, P, O, V any](s System[C], k Kind[C, P, O, V], of schema.GroupKind, client C) (
	managed.ExternalConnecter, []managed.ReconcilerOption, error) {
	compiled, err := compile(s, k)
	if err != nil {
		return nil, nil, err
	}
	fixed := func(context.Context, resource.Managed) (*clients.Lease[C], error) {
		return &clients.Lease[C]{Client: client}, nil
	}
	return connecter[C, P, O, V]{compiled: compiled, kind: of, lease: fixed}, compiled.options(), nil
}

func (k *compiled[C, P, O, V]) options() []managed.ReconcilerOption {
	lag := max(k.Lag, minLag)
	o := []managed.ReconcilerOption{
		managed.WithCreationGracePeriod(lag),
		managed.WithConsistencyWindow(lag),
		managed.WithParameters(k.rules),
	}
	if k.ID != nil {
		o = append(o, managed.WithVendorNames())
	}
	if k.Labels != nil || k.labelsIn != nil {
		o = append(o, managed.WithLabels())
	}
	if k.Name != nil {
		o = append(o, managed.WithDefaultName(k.defaultName))
	}
	if k.rules.HoldsData {
		o = append(o, managed.WithRecreatePolicy(xpv1.RecreateOnRequest))
	}
	if k.Await != nil {
		o = append(o, managed.WithBackgroundOperations(cmp.Or(k.AwaitTimeout, defaultAwaitTimeout)))
	}
	return append(o, k.Options...)
}

// defaultName is metadata.name for an object that does not convert; Create reports that.
func (k *compiled[C, P, O, V]) defaultName(mg resource.Managed) string {
	d, err := declare[P, O](mg)
	if err != nil {
		return mg.GetName()
	}
	return k.Name(d.copied, &d.merged)
}

type connecter[C, P, O, V any] struct {
	compiled *compiled[C, P, O, V]
	kind     schema.GroupKind
	lease    func(context.Context, resource.Managed) (*clients.Lease[C], error)
}

func (c connecter[C, P, O, V]) Connect(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
	lease, err := c.lease(ctx, mg)
	if err != nil {
		return nil, err
	}
	base := &client[C, P, O, V]{compiled: c.compiled, kind: c.kind, Lease: lease}
	var external managed.ExternalClient = base
	if c.compiled.Find != nil {
		external = finder[C, P, O, V]{external, base}
	}
	if c.compiled.CheckSecrets != nil {
		external = secretChecker[C, P, O, V]{external, base}
	}
	if len(c.compiled.rules.Generated) > 0 {
		external = credentialChooser[C, P, O, V]{external, base}
	}
	if len(c.compiled.Rotates) > 0 {
		external = credentialRotator[C, P, O, V]{external, base}
	}
	return external, nil
}

type client[C, P, O, V any] struct {
	*compiled[C, P, O, V]
	*clients.Lease[C] // also its poll interval, credentials and Disconnect
	kind              schema.GroupKind

	secrets   map[string][]byte       // that the parameters refer to
	generated map[string][]byte       // that take the place of missing ones
	pending   map[string][]byte       // that are to replace them
	overlap   time.Duration           // how long those replaced are to be accepted, too
	stored    map[string][]byte       // in the connection Secret, by field
	have      *V                      // result of the last Observe
	outside   []parameters.Difference // of have
	changes   []parameters.Difference // of have, with outside

	accepted  managed.ConnectionDetails // secret values that have accepts
	refused   map[string][]byte         // secret values that have does not accept, by field, for Update
	unapplied []parameters.Difference   // of have in those, while it accepts the connection Secret
}

// ExternalSystem is that of the connection, where the kind's system shows one (N55).
func (c *client[C, P, O, V]) ExternalSystem() xpv1.ExternalSystem {
	return c.system.identify(c.Client, managed.ExternalObservation{}).System
}

// ReplaysCreate is true if the vendor repeats its first answer (N22).
func (c *client[C, P, O, V]) ReplaysCreate() bool { return c.Identity == ByToken }

// UseSecretInputs takes the values of the Secrets that the parameters refer to (P61).
func (c *client[C, P, O, V]) UseSecretInputs(values map[string][]byte) {
	c.secrets = objects.Union(c.secrets, values)
}

func (c *client[C, P, O, V]) Create(ctx context.Context, mg resource.Managed) (managed.ExternalCreation, error) {
	d, err := declare[P, O](mg)
	if err != nil {
		return managed.ExternalCreation{}, err
	}
	r := c.request(d.copied, d.merged)
	r.Have, r.Token = nil, meta.CreationToken(mg)
	c.addLabels(r, nil)
	var created *V
	if err = c.describe(r); err == nil {
		created, err = c.Kind.Create(ctx, c.Client, r)
	}
	if err != nil {
		return managed.ExternalCreation{}, c.system.createError(c.noun, err)
	}
	details := c.details(r.Secrets)
	if created != nil {
		observed, _ := c.observed(created) // Observe reports what does not fit
		details = objects.Union(details, c.connection(c.Client, created, &observed))
		if c.ID != nil {
			r.Name = c.ID(created)
			meta.SetExternalName(mg, r.Name)
		}
	}
	r.Have = created
	if err := c.await(ctx, r); err != nil { // details may hold one-time values and are returned all the same
		err = failure.Accepted(fmt.Errorf("waiting for the creation: %w", c.system.classified(err)))
		return managed.ExternalCreation{ConnectionDetails: details}, err
	}
	return managed.ExternalCreation{ConnectionDetails: details}, nil
}

func (c *client[C, P, O, V]) Update(ctx context.Context, mg resource.Managed) (managed.ExternalUpdate, error) {
	d, err := declare[P, O](mg)
	if err != nil || c.Kind.Update == nil {
		return managed.ExternalUpdate{}, err
	}
	// Without those in structs that spec.forProvider leaves out: to send a part of a struct may erase the rest of it.
	p, err := c.withImmutable(d, d.desired)
	if err != nil {
		return managed.ExternalUpdate{}, err
	}
	r := c.request(d.copied, p)
	r.Changes, r.Secrets, r.Overlap = c.changes, objects.Union(r.Secrets, c.pending), c.overlap
	if c.have != nil {
		observed, _ := c.labelsOf(c.have)
		c.addLabels(r, observed)
	}
	if err = c.describe(r); err == nil {
		err = c.Kind.Update(ctx, c.Client, r)
	}
	if err != nil {
		return managed.ExternalUpdate{}, c.system.callError("update", c.noun, err)
	}
	if err := c.await(ctx, r); err != nil {
		return managed.ExternalUpdate{}, fmt.Errorf("waiting for the update: %w", c.system.callError("update", c.noun, err))
	}
	details := c.details(r.Secrets)
	for field := range c.pending { // replaces the one in use once the external system has applied it
		delete(details, c.secretKeys[field])
	}
	return managed.ExternalUpdate{ConnectionDetails: details}, nil
}

func (c *client[C, P, O, V]) Delete(ctx context.Context, mg resource.Managed) error {
	d, err := declare[P, O](mg)
	if err != nil {
		return err
	}
	p, err := c.withImmutable(d, d.initial) // they may be needed to address the resource
	if err != nil {
		return err
	}
	r := c.request(d.copied, p)
	err = c.Kind.Delete(ctx, c.Client, r)
	if err == nil {
		err = c.await(ctx, r)
	}
	if is(c.system.IsNotFound, err) {
		return nil
	}
	return c.system.callError("delete", c.noun, err)
}

func (c *client[C, P, O, V]) await(ctx context.Context, r *Request[P, V]) error {
	if c.Await == nil {
		return nil
	}
	return c.Await(ctx, c.Client, r)
}

// request is the argument of an author's function; of is a copy and p its parameters, so that changes to them are discarded.
func (c *client[C, P, O, V]) request(of Object[P, O], p P) *Request[P, V] {
	r := &Request[P, V]{
		Name:       meta.GetExternalName(of),
		Parameters: p,
		Have:       c.have,
		Secrets:    objects.Union(c.generated, c.refused, c.secrets),
		Object:     of,
	}
	r.Want, _ = c.want(r) // Create and Update report what does not fit; Get and Delete must work all the same
	return r
}

// A declaration is what an object declares. Its trees are built once for each observation.
type declaration[P, O any] struct {
	of, copied       Object[P, O]   // the copy is for the author's functions, so that their changes are discarded
	desired, initial map[string]any // spec.forProvider and spec.initProvider
	merged           P              // desired over initial (R138)
}

func declare[P, O any](mg resource.Managed) (d declaration[P, O], err error) {
	of, ok := mg.(Object[P, O])
	copied, isCopy := mg.DeepCopyObject().(Object[P, O])
	if !ok || !isCopy {
		return d, fmt.Errorf("a %T, or its copy, has no parameters of type %T", mg, *new(P))
	}
	d.of, d.copied, d.merged = of, copied, *copied.Parameters()
	var initial error
	if init, ok := copied.(interface{ InitParameters() any }); ok {
		d.initial, initial = parameters.Tree(init.InitParameters())
	}
	if d.desired, err = parameters.Tree(d.merged); err == nil && len(d.initial) > 0 {
		d.merged, err = parameters.Typed[P](parameters.Overlay(d.desired, d.initial))
	}
	if err = errors.Join(err, initial); err != nil {
		return d, fmt.Errorf("merging spec.forProvider and spec.initProvider: %w", err)
	}
	return d, nil
}

// withImmutable adds the immutable fields of spec.initProvider, of which the others count at creation only (R138).
func (k *compiled[C, P, O, V]) withImmutable(d declaration[P, O], within map[string]any) (P, error) {
	immutable := k.immutableIn("", d.initial, within)
	if len(immutable) == 0 {
		return *d.copied.Parameters(), nil
	}
	return parameters.Typed[P](parameters.Overlay(d.desired, immutable))
}

// immutableIn returns the immutable fields of a tree. It enters only objects that the tree within has, too.
func (k *compiled[C, P, O, V]) immutableIn(at string, tree, within map[string]any) map[string]any {
	immutable := map[string]any{}
	for name, field := range tree {
		below, isObject := field.(map[string]any)
		other, has := within[name].(map[string]any)
		if k.rules.IsImmutable(at + name) {
			immutable[name] = field
		} else if isObject && has {
			if part := k.immutableIn(at+name+".", below, other); len(part) > 0 {
				immutable[name] = part
			}
		}
	}
	return immutable
}

// A finder is a client that finds what an interrupted create left behind (N5).
type finder[C, P, O, V any] struct {
	managed.ExternalClient
	base *client[C, P, O, V]
}

// Unwrap returns the client with its other optional interfaces.
func (f finder[C, P, O, V]) Unwrap() any { return f.ExternalClient }

// FindCreated returns the external name of what an earlier Create of the object created.
func (f finder[C, P, O, V]) FindCreated(ctx context.Context, mg resource.Managed) (string, error) {
	d, err := declare[P, O](mg)
	if err != nil {
		return "", err
	}
	found, err := f.base.Find(ctx, f.base.Client, f.base.request(d.copied, d.merged))
	if is(f.base.system.IsNotFound, err) || err == nil && found == nil {
		return "", nil
	}
	if err != nil {
		return "", f.base.system.callError("find", f.base.noun, err)
	}
	return f.base.ID(found), nil
}

// A credentialChooser is a client that generates the secrets that the user does not give (P62).
type credentialChooser[C, P, O, V any] struct {
	managed.ExternalClient
	base *client[C, P, O, V]
}

// Unwrap returns the client with its other optional interfaces.
func (c credentialChooser[C, P, O, V]) Unwrap() any { return c.ExternalClient }

// ChooseCredentials returns a random value for each generated field without a Secret (P62, P65). Values of an earlier attempt
// are used again, since an interrupted create may have sent them (N22).
func (c credentialChooser[C, P, O, V]) ChooseCredentials(_ context.Context, stored managed.ConnectionDetails) (managed.ConnectionDetails, error) {
	chosen := managed.ConnectionDetails{}
	for field, key := range c.base.rules.Generated {
		if len(c.base.secrets[field]) > 0 {
			continue
		}
		value := stored[key]
		if len(value) == 0 {
			value = []byte(rand.Text())
		}
		chosen[key] = value
		c.base.generated = objects.Union(c.base.generated, map[string][]byte{field: value})
	}
	return chosen, nil
}

// UseConnectionDetails takes generated values from the connection Secret, so that Update can send them again. It generates none:
// the vendor's resource may have been replaced, but applications use the stored value (P65).
func (c credentialChooser[C, P, O, V]) UseConnectionDetails(stored managed.ConnectionDetails) {
	c.base.useStored(stored)
	for field := range c.base.rules.Generated {
		if value := c.base.stored[field]; len(value) > 0 {
			c.base.generated = objects.Union(c.base.generated, map[string][]byte{field: value})
		}
	}
}
