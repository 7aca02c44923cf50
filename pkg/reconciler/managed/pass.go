// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A pass is what the steps of one pass learn and hand on.
type pass struct {
	object  // the managed resource in memory, and as it is stored
	before  // the managed resource as the pass found it
	session // with the external system
	sighting
	inputs   inputsOfPass
	rotation rotation
	ended    endedCall
	// nameGiven is true if a user chose the external name, which is the consent to adopt an external resource.
	nameGiven bool
	// published is the connection Secret as last written in this pass.
	published *corev1.Secret
	// uncarried is why the connection Secret could not get what the former one has.
	uncarried error
	// left is the external system in which a person permits to leave the external resource.
	left xpv1.ExternalSystem
	// createsAgain is true if nothing of an earlier creation can appear any more.
	createsAgain bool
	// overtaken is true if another writer wrote to the object during the pass.
	overtaken bool
	// planning passes write nothing.
	planning bool
	notes
	memory *record
}

// before is the managed resource as the pass found it, to tell what changed.
type before struct {
	found           *reading
	synced          xpv1.Condition
	ready           xpv1.Condition
	wasInSync       xpv1.Condition
	states          []xpv1.Condition
	wasOwn          bool  // see showsOwnership
	keepsData       bool  // a lost external resource is created again only with permission
	recreate        error // why there is none, nil if a person permits it
	resourceVersion string
	wakes           int // of the record
}

// A session is the connection to the external system.
type session struct {
	// client is the client of this pass, external the same until a call in the background takes it over.
	client   ExternalClient
	external ExternalClient
	poll     time.Duration // how often the external resource is observed
	adoption resource.Adoption
}

// endedCall is the call in the background whose result this pass took up; it is not made again in the same pass.
type endedCall struct {
	verb    verb
	secrets [][]byte // that its errors may repeat, and stored credentials that this pass gives to its client
}

// newPass begins a pass over a copy of the object, which may be that of the cache.
func (r *Reconciler) newPass(from resource.Managed, rec *record, wakes int) (*pass, error) {
	found, err := rec.reading(from)
	if err != nil {
		return nil, err
	}
	mg := from.DeepCopyObject().(resource.Managed)
	poll := r.pollInterval
	if own, ok := meta.GetPollInterval(mg); ok {
		poll = own
	}
	p := &pass{
		object: r.objectOf(mg, found),
		before: before{
			found:           found,
			synced:          mg.GetCondition(xpv1.TypeSynced),
			ready:           mg.GetCondition(xpv1.TypeReady),
			wasInSync:       mg.GetCondition(xpv1.TypeInSync),
			states:          flow.States(mg),
			wasOwn:          showsOwnership(mg),
			keepsData:       r.keepsData(mg),
			recreate:        meta.CheckRecreate(mg, r.now()),
			resourceVersion: mg.GetResourceVersion(),
			wakes:           wakes,
		},
		session: session{poll: poll},
		memory:  rec,
	}
	if !rec.passed {
		rec.passed, rec.awaitsReady = true, p.neverReady()
		// Ready alone may be from announceDeletion, before Delete was called.
		rec.deleteNoted = p.ready.Reason == xpv1.ReasonDeleting && p.synced.Reason == xpv1.ReasonReconcileSuccess &&
			p.synced.ObservedGeneration == mg.GetGeneration() && xpv1.FailureOf(mg).Reason == "" && !r.mayAwaitCreation(mg)
	}
	return p, nil
}

// mayAwaitCreation is true for an object whose deletion may have waited for a call in the background or a resource that was not visible
// yet, before Delete was called: the brake decides about it again (N39).
func (r *Reconciler) mayAwaitCreation(mg resource.Managed) bool {
	return mg.GetCondition(xpv1.TypeAsyncOperation).Reason == xpv1.ReasonOngoing || meta.ExternalCreateIncomplete(mg) ||
		r.now().Sub(meta.GetExternalCreateSucceeded(mg)) < r.creationGrace
}

// objectOf is an object as it is stored.
func (r *Reconciler) objectOf(mg resource.Managed, stored *reading) object {
	return object{
		managed:     mg,
		newManaged:  r.newManaged,
		annotations: maps.Clone(mg.GetAnnotations()),
		labels:      maps.Clone(mg.GetLabels()),
		stored:      stored,
	}
}

// A reading is an object as it was read. A pass that changes nothing needs no tree of it.
type reading struct {
	from  resource.Managed // which must not change; nil if only the tree is known
	built tree
}

// reading reads an object. The first pass over one of its versions builds the tree, so that a later one cannot fail to.
func (rec *record) reading(from resource.Managed) (_ *reading, err error) {
	found, version := &reading{from: from}, from.GetResourceVersion()
	if rec.stored == nil || rec.stored.version != version {
		if found.built, err = treeOf(from); err != nil {
			return nil, err
		}
		rec.stored = fieldsOf(found.built["status"], version)
	}
	return found, nil
}

func (r *reading) tree() tree {
	if r.built == nil {
		r.built, _ = treeOf(r.from)
	}
	return r.built
}

// status is the status as the pass found it.
func (b *before) status() any { return b.found.tree()["status"] }

// isUnchanged is true if the pass, so far, left the object in memory as it found it. It may be false for one whose tree did not change.
func (p *pass) isUnchanged() bool {
	return p.found.from != nil && reflect.DeepEqual(p.managed, p.found.from)
}

// notes are the events and conditions that steps leave to settle, in order. applied are the conditions that are set already.
type notes struct {
	events              []event.Event
	conditions, applied []xpv1.Condition
}

func (n *notes) note(e event.Event)                { n.events = append(n.events, e) }
func (n *notes) noteCondition(c ...xpv1.Condition) { n.conditions = append(n.conditions, c...) }

// mustReplay is true while the answer of a creation is not recorded and can be had again (N22).
func (p *pass) mustReplay() bool {
	c, ok := optional[CreateReplayer](p.external)
	return ok && c.ReplaysCreate() && meta.ExternalCreateUnacknowledged(p.managed)
}

// allows is true if the object's management policies permit the action (R108 to R118).
func (p *pass) allows(a xpv1.ManagementAction) bool {
	return p.managed.GetManagementPolicies().Allow(a)
}

// onlyObserves is true for objects whose external resource is never changed. To observe is not to own (N24).
func (p *pass) onlyObserves() bool {
	return !p.managed.GetManagementPolicies().AllowAny(
		xpv1.ManagementActionCreate, xpv1.ManagementActionUpdate, xpv1.ManagementActionDelete)
}

// An object is a managed resource in memory, and what of it is stored.
type object struct {
	managed    resource.Managed
	newManaged func() resource.Managed
	// annotations and labels are those in the API server; in memory there may be an external name that is not stored yet, and what
	// Observe set.
	annotations, labels map[string]string
	// chosen is the metadata that late initialization is to store.
	chosenAnnotations, chosenLabels map[string]string
	// stored is the object in the API server, derived the spec that steps derived from the stored one, nil for none; see storeSpec.
	stored  *reading
	derived any
}

// spec is the spec that is to be stored.
func (o *object) spec() any {
	if o.derived == nil {
		return o.stored.tree()["spec"]
	}
	return o.derived
}

// rebuild replaces the object in memory by one with a changed tree.
func (o *object) rebuild(change func(tree)) error {
	u, err := treeOf(o.managed)
	if err != nil {
		return err
	}
	change(u)
	fresh := o.newManaged()
	if err := fill(fresh, u); err != nil {
		return err
	}
	o.managed = fresh
	return nil
}

// setStatus sets a field of the status in memory.
func (o *object) setStatus(field string, value any) error {
	return o.rebuild(func(u tree) {
		status := section(u, "status")
		if status == nil {
			status = tree{}
			u["status"] = status
		}
		put(status, field, value)
	})
}

// withSpec returns the object with the given spec and the annotations that are stored. now is its tree in memory, where the
// external name may be set already, and where a careless client may have changed the spec.
func (o *object) withSpec(now tree, spec any) (resource.Managed, error) {
	u := maps.Clone(now)
	u["metadata"] = maps.Clone(section(now, "metadata")) // a kind without a Go type writes into it
	put(u, "spec", spec)
	mg := o.newManaged()
	if err := fill(mg, u); err != nil {
		return nil, err
	}
	mg.SetAnnotations(maps.Clone(o.annotations))
	mg.SetLabels(maps.Clone(o.labels))
	return mg, nil
}

// takeMetadata replaces the metadata in memory by that of the object as just written.
func (o *object) takeMetadata(from resource.Managed) {
	o.annotations, o.labels = maps.Clone(from.GetAnnotations()), maps.Clone(from.GetLabels())
	o.managed.SetAnnotations(from.GetAnnotations())
	o.managed.SetResourceVersion(from.GetResourceVersion())
	o.managed.SetGeneration(from.GetGeneration())
	o.managed.SetLabels(from.GetLabels())
	o.managed.SetFinalizers(from.GetFinalizers())
	o.managed.SetOwnerReferences(from.GetOwnerReferences())
	o.managed.SetDeletionTimestamp(from.GetDeletionTimestamp())
	o.managed.SetDeletionGracePeriodSeconds(from.GetDeletionGracePeriodSeconds())
}

// A tree is an object, or a part of it, in the form of its JSON. Steps that serve any kind work on trees.
type tree = map[string]any

// treeOf returns a copy of the object as a tree.
func treeOf(mg resource.Managed) (tree, error) {
	u, err := runtime.DefaultUnstructuredConverter.ToUnstructured(mg)
	if err != nil {
		return nil, fmt.Errorf("reading %T: %w", mg, err)
	}
	signed(u)
	return u, nil
}

// signed replaces the unsigned numbers that the converter returns as they are, since DeepCopyJSONValue accepts none.
func signed(part any) any {
	switch part := part.(type) {
	case uint64:
		if part > math.MaxInt64 {
			return float64(part) // as JSON is read
		}
		return int64(part)
	case tree:
		for key, value := range part {
			part[key] = signed(value)
		}
	case []any:
		for i, value := range part {
			part[i] = signed(value)
		}
	}
	return part
}

// fill sets an empty object from a tree.
func fill(empty resource.Managed, from tree) error {
	if u, ok := empty.(runtime.Unstructured); ok {
		u.SetUnstructuredContent(from)
		return nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from, empty); err != nil {
		return fmt.Errorf("writing %T: %w", empty, err)
	}
	return nil
}

// put sets a part of the tree, or removes it if there is nothing to set.
func put(in tree, key string, part any) {
	if part == nil {
		delete(in, key)
		return
	}
	in[key] = runtime.DeepCopyJSONValue(part)
}

// section returns a part of the tree that is itself a tree, nil if there is none.
func section(of any, key string) tree {
	t, _ := of.(tree)
	s, _ := t[key].(tree)
	return s
}
