// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/zclconf/go-cty/cty"
	kube "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/pkg/terraform/labels"
	"github.com/bowline-dev/bowline/pkg/terraform/lists"
	"github.com/bowline-dev/bowline/pkg/terraform/plugin"
	"github.com/bowline-dev/bowline/pkg/terraform/state"
)

// TypeSettings are what a platform team decides about a resource type.
type TypeSettings struct {
	// ConnectionKeys are computed attributes that connection Secrets have beside the sensitive ones.
	ConnectionKeys []string
	// ImportID is a template of import ids. Default: they are not known before the creation.
	ImportID string
	// Ownership is the field for labels that gets the UID of the object. Default: none.
	Ownership string
	// ListConfig is the template of configurations of lists, in which what has the label is looked for: see package lists. Default: empty.
	ListConfig map[string]any
	// AbsentAfter is how long an import must find nothing until an interrupted creation counts as one that made nothing. Default: 5 minutes.
	AbsentAfter time.Duration
}

const defaultAbsentAfter = 5 * time.Minute

// settings are TypeSettings that fit the schema of the type.
type settings struct {
	TypeSettings
	importID *kinds.Template // nil for none
	owner    cty.Path        // nil for none
	list     *lists.Template
}

func (s TypeSettings) resolve(r plugin.Resource) (*settings, error) {
	b, resolved := r.Schema.Block, &settings{TypeSettings: s}
	resolved.AbsentAfter = cmp.Or(s.AbsentAfter, defaultAbsentAfter)
	var err error
	if s.ImportID != "" {
		if resolved.importID, err = kinds.NewTemplate(b, s.ImportID); err != nil {
			return nil, fmt.Errorf("importID %s of spec.typeSettings: %w", s.ImportID, err)
		}
	}
	if s.Ownership != "" {
		if resolved.owner, err = kinds.LabelsPath(b, s.Ownership); err != nil {
			return nil, fmt.Errorf("ownership of spec.typeSettings: %w", err)
		}
	}
	if len(s.ListConfig) > 0 && s.Ownership == "" {
		return nil, errors.New("listConfig of spec.typeSettings has no effect without ownership: set both")
	}
	resolved.list, err = lists.NewTemplate(r, s.ListConfig)
	return resolved, err
}

// label returns a configuration with the UID of the object in the field for ownership labels. Where updates are not permitted what exists
// keeps the label that it has.
func (c *client) label(mg resource.Managed, config, prior cty.Value) (cty.Value, error) {
	at, uid := c.settings.Load().owner, string(mg.GetUID())
	if at == nil {
		return config, nil
	}
	own, declared := labels.At(config, at), kinds.Child(c.settings.Load().Ownership, meta.ExternalLabelUID)
	switch _, has := own[meta.ExternalLabelUID]; {
	case has && !c.isLabelled(mg, config):
		return config, invalid(fmt.Errorf("spec.forProvider.%s must be left out: Bowline sets it to the UID of the object", declared))
	case !prior.IsNull() && !mg.GetManagementPolicies().Allow(xpv1.ManagementActionUpdate) && !c.isLabelled(mg, prior):
		return config, nil
	}
	if own == nil { // the labels of others stay where the provider keeps them
		own = labels.At(c.Schema.Block.Proposed(prior, config), at)
	}
	all := map[string]cty.Value{meta.ExternalLabelUID: cty.StringVal(uid)}
	for key, value := range own {
		if key != meta.ExternalLabelUID {
			all[key] = value
		}
	}
	labelled, ok := labels.With(config, at, cty.MapVal(all))
	if !ok {
		return config, invalid(fmt.Errorf("spec.forProvider.%s cannot be set, and Bowline writes the owner there: declare what it is in", declared))
	}
	return labelled, nil
}

// onlyObserves is true for objects whose policies permit no change of what exists.
func onlyObserves(mg resource.Managed) bool {
	policies := mg.GetManagementPolicies()
	return !policies.AllowAny(xpv1.ManagementActionCreate, xpv1.ManagementActionUpdate, xpv1.ManagementActionDelete)
}

// mayBelongToOthers is true for an object that only observes what it neither created nor adopted, through a configuration that other namespaces
// use, too. It gets no secrets of that: who may write the object need not be permitted to read them (N103).
func (c *client) mayBelongToOthers(mg resource.Managed) bool {
	return onlyObserves(mg) && c.Adoption().Namespace != "" && !isProven(mg)
}

// isProven is true for an object whose status says that it created, or adopted, the external resource of its name.
func isProven(mg resource.Managed) bool {
	proof, _, _ := kube.NestedMap(content(mg), "status", "ownership")
	return reflect.DeepEqual(proof, managed.OwnershipProof(mg, meta.GetExternalName(mg)))
}

const messageSecretsOfOthers = "Secrets of the external resource are not published: this object only observes what may belong to another namespace."

// adopted is the state of what an object adopts, or only observes; Adopt stores it. What another object has is not adopted without a person's
// permission: both would change it, and the deletion of one would delete it. An object under deletion leaves it alone.
func (c *client) adopted(ctx context.Context, mg resource.Managed, s plugin.State) (plugin.State, error) {
	_, err := c.mayHave(ctx, mg, s.Value)
	if !c.adopts {
		return c.NoState(), err
	}
	return c.inherited(ctx, mg, s)
}

// mayHave sets adopts, unless another object has an external resource that this one does not take over, or may be creating it. It returns that
// object, zero for none.
func (c *client) mayHave(ctx context.Context, mg resource.Managed, value cty.Value) (former state.Owner, err error) {
	c.adopts = false
	former, err = c.ownerOf(ctx, mg, value)
	switch {
	case err != nil:
		return former, err
	case former.UID != "" && takesOverFrom(mg) != former.UID:
		_, err = c.refused(mg, former)
		return former, err
	}
	creator, err := c.creatorOf(ctx, mg, value)
	if err == nil && creator.UID != "" && !meta.WasDeleted(mg) { // which leaves the resource alone
		waits := beingCreated{c.Name, meta.GetExternalName(mg), creator}
		err = failure.ForTeam(failure.ExternalNameTaken, waits.Error(), waits)
	}
	c.adopts = err == nil && creator.UID == ""
	return former, err
}

// A wait is that of an object for the creations of others, one of which may have made what it found. Creations of objects that are not among
// them began later, and make something else.
type wait struct {
	candidate
	creators []string // UIDs
	at       time.Time
}

// A candidate is what an object would adopt.
type candidate struct {
	state.Place
	name, id string
}

// lastWait is the wait with which the last pass over an object ended, nil for none, and for one that is too old to be sure that what the object
// found has existed since.
func (c *client) lastWait(mg resource.Managed) *wait {
	if last, waited := c.waits.LoadAndDelete(mg.GetUID()); waited && time.Since(last.(*wait).at) < 10*progressPoll {
		return last.(*wait)
	}
	return nil
}

// creatorOf returns another object that creates what may be an external resource: the id of what is being created is not known before the answer
// is stored, but a label tells whose it is. It is zero for none, and for what this object had before.
func (c *client) creatorOf(ctx context.Context, mg resource.Managed, value cty.Value) (creator state.Owner, err error) {
	label := c.labelOf(value)
	if onlyObserves(mg) || c.had || isProven(mg) || label == string(mg.GetUID()) {
		return creator, nil
	}
	all, err := c.Store.Creators(ctx, mg.GetUID(), c.place())
	waits := &wait{candidate: candidate{c.place(), meta.GetExternalName(mg), c.idOf(value)}, at: time.Now()}
	goesOn := label == "" && c.waited != nil && c.waited.candidate == waits.candidate
	for _, other := range all {
		if label != "" && label != other.UID || goesOn && !slices.Contains(c.waited.creators, other.UID) {
			continue
		}
		creates := c.Store.IsCreating(types.UID(other.UID))
		if !creates {
			note, err := c.Journal.Find(other.UID)
			if err != nil {
				return state.Owner{}, failure.With(failure.InternalError, err)
			}
			creates = note != nil
		}
		if creates {
			creator, waits.creators = other, append(waits.creators, other.UID)
		}
	}
	if creator.UID != "" {
		c.waits.Store(mg.GetUID(), waits)
	}
	return creator, err
}

// beingCreated is the error of an object that would have what another one may be creating.
type beingCreated struct {
	resourceType, name string
	by                 state.Owner
}

func (e beingCreated) Error() string {
	return fmt.Sprintf("%s creates its %s, which may be %q: the adoption goes on once that creation has ended; if it does not end, see the "+
		"conditions of %s", e.by.Object, e.resourceType, e.name, e.by.Object)
}

// RetryAfter is how long to wait.
func (e beingCreated) RetryAfter() time.Duration { return progressPoll }

// inherited is what the object whose external resource this one takes over knows of it, now or from before it got another external name: that
// alone may have secrets such as a generated password. Where this object knows more secrets by itself, these count.
func (c *client) inherited(ctx context.Context, mg resource.Managed, found plugin.State) (plugin.State, error) {
	from, at := takesOverFrom(mg), c.place()
	if from == "" {
		return found, nil
	}
	former, err := c.Store.Load(ctx, types.UID(from))
	for ; err == nil && former != nil; former = former.Former {
		if former.Empty() || former.Tainted || former.Type != at.Type || former.System != at.System && former.Config != at.Config {
			continue
		}
		known, err := c.upgraded(ctx, former)
		if err != nil {
			return c.NoState(), err
		}
		if c.idOf(known.Value) == c.idOf(found.Value) && len(c.connection(known.Value)) >= len(c.connection(found.Value)) {
			return known, nil
		}
	}
	return found, err
}

// Adopt stores the state of what an object adopts, once nothing forbids it to have that: from then on nobody else has it. Where it takes it over,
// the state of the other object is marked first: a process that is killed then leaves a resource that only this object takes.
func (c *client) Adopt(ctx context.Context, mg resource.Managed) (left string, err error) {
	if !c.adopts {
		return "", nil
	}
	defer c.Store.LockOwners(c.Name)()
	former, err := c.mayHave(ctx, mg, c.found.Value)
	switch {
	case !c.adopts:
		return "", err
	case former.UID != "":
		if err := c.Store.Take(ctx, types.UID(former.UID), state.OwnerOf(mg)); err != nil {
			return "", err
		}
	}
	if left, err = c.leaves(ctx, mg); err != nil {
		return "", err
	}
	if err := c.save(ctx, mg, answer{State: c.found, name: meta.GetExternalName(mg)}); err != nil {
		return "", err
	}
	stored, err := c.Store.Load(ctx, mg.GetUID())
	if err == nil && stored.TakenBy.UID != "" {
		err = c.Store.Own(ctx, mg, c.Kind, stored)
	}
	c.adopts = err != nil
	return left, err
}

// leaves is the name of what the object has until it adopts what Observe found, empty for nothing, and for the same under another import id.
func (c *client) leaves(ctx context.Context, mg resource.Managed) (string, error) {
	stored, err := c.Store.Load(ctx, mg.GetUID())
	if err != nil || stored == nil || stored.Empty() || stored.Observed || stored.TakenBy.UID != "" || stored.Name == meta.GetExternalName(mg) {
		return "", err
	}
	known, err := c.upgraded(ctx, stored)
	if err != nil || c.idOf(known.Value) != "" && c.idOf(known.Value) == c.idOf(c.found.Value) {
		return "", err
	}
	return stored.Name, nil
}

// takesOverFrom is the UID of the object whose external resource a person lets another one take over, empty for none. Deletions take nothing
// over, and only an object that may update the resource can label it (N48).
func takesOverFrom(mg resource.Managed) string {
	if meta.WasDeleted(mg) || !mg.GetManagementPolicies().Allow(xpv1.ManagementActionUpdate) {
		return ""
	}
	return mg.GetAnnotations()[meta.AnnotationKeyTakeOverFrom]
}

// refused is the answer to an object whose external resource another one has: an error, or nothing where the object is being deleted.
func (c *client) refused(mg resource.Managed, owner state.Owner) (plugin.State, error) {
	if meta.WasDeleted(mg) {
		return c.NoState(), nil
	}
	message := fmt.Sprintf("%s %q belongs to %s: delete this object, which leaves the resource alone; set the annotation %s to another one; or observe "+
		"it only, by spec.managementPolicies: [Observe]. To take it over with its data, permit Update, and set the annotation %s to %s", c.Name,
		meta.GetExternalName(mg), owner.Object, meta.AnnotationKeyExternalName, meta.AnnotationKeyTakeOverFrom, owner.UID)
	return c.NoState(), failure.Refusal(failure.ExternalNameTaken, message)
}

// ownerOf returns the other object that has an external resource, for one that may change it. It is zero for none.
func (c *client) ownerOf(ctx context.Context, mg resource.Managed, value cty.Value) (state.Owner, error) {
	if onlyObserves(mg) {
		return state.Owner{}, nil
	}
	owner, err := c.otherOf(ctx, mg, meta.GetExternalName(mg), value)
	if err == nil && owner.UID == "" {
		owner, err = c.Store.OtherWithoutState(ctx, mg.GetUID(), c.place(), meta.GetExternalName(mg), c.idOf(value))
	}
	if err != nil || owner.UID != "" { // its label may follow
		return owner, err
	}
	return c.labelledOwner(mg, value), nil
}

// otherOf returns the other object whose state is of an external resource, which an import by a name found. It is zero for none.
func (c *client) otherOf(ctx context.Context, mg resource.Managed, name string, value cty.Value) (state.Owner, error) {
	return c.Store.Other(ctx, mg.GetUID(), c.place(), false, name, c.idOf(value))
}

// labelledOwner returns the other object whose label an external resource has. It is zero for none.
func (c *client) labelledOwner(mg resource.Managed, value cty.Value) state.Owner {
	uid := c.labelOf(value)
	if uid == "" || uid == string(mg.GetUID()) {
		return state.Owner{}
	}
	return state.Owner{Object: "the object with UID " + uid, UID: uid}
}

// checkLabel refuses a found resource that has the label of another object, for one that may change it.
func (c *client) checkLabel(mg resource.Managed, found plugin.State) (plugin.State, error) {
	owner := c.labelledOwner(mg, found.Value)
	if onlyObserves(mg) || owner.UID == "" || takesOverFrom(mg) == owner.UID {
		return found, nil
	}
	return c.refused(mg, owner)
}

// isTaken is true for an object that would change an external resource which another one has taken over.
func isTaken(mg resource.Managed, stored *state.State) bool {
	return stored != nil && stored.TakenBy.UID != "" && (stored.Tainted || stored.Name == meta.GetExternalName(mg)) && !onlyObserves(mg)
}

// taken takes back what another object has taken over, if a person permits it, with what only the former state has.
func (c *client) taken(ctx context.Context, mg resource.Managed, stored *state.State) (plugin.State, error) {
	switch owner := stored.TakenBy; {
	case takesOverFrom(mg) == "":
		others, err := c.Store.Load(ctx, types.UID(owner.UID))
		if err == nil && !meta.WasDeleted(mg) && (others == nil || others.Empty()) {
			if found, err := c.Client.Import(ctx, c.Resource, meta.GetExternalName(mg)); err == nil && found.Value.IsNull() {
				return c.NoState(), nil
			}
			owner.Object += ", which does not have it any more"
		}
		return c.refused(mg, owner) // adopted checks who has it now, which may be a third object
	case stored.Empty():
		return c.imported(ctx, mg)
	}
	known, err := c.upgraded(ctx, stored)
	if err != nil {
		return known, err
	}
	return c.adopted(ctx, mg, known)
}

// beginOwn is begin for a change of what the object has: another one may have taken it since it was observed.
func (c *client) beginOwn(ctx context.Context, mg resource.Managed) (ended func(), err error) {
	stored, err := c.Store.Load(ctx, mg.GetUID())
	if err == nil && isTaken(mg, stored) {
		err = fmt.Errorf("%s took the external resource over a moment ago", stored.TakenBy.Object)
	}
	if err != nil {
		return nil, err
	}
	return c.begin()
}

// isLabelled is true for a resource with the UID of the object in the field for ownership labels.
func (c *client) isLabelled(mg resource.Managed, value cty.Value) bool {
	return c.labelOf(value) == string(mg.GetUID())
}

// labelOf returns the UID in the field for ownership labels, empty for none and for a type without such a field.
func (c *client) labelOf(value cty.Value) string {
	return labels.Get(value, c.settings.Load().owner, meta.ExternalLabelUID)
}
