// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	managed "github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

// An Owner is an object that has an external resource, in messages and by its UID.
type Owner struct{ Object, UID string }

// A Place is where an external resource is: its type, the id of its external system (N55), and the ProviderConfig that leads there. One
// ProviderConfig leads to one system, whatever its settings were when a state was stored.
type Place struct{ Type, System, Config string }

// LockOwners lets one pass at a time check by Other who has a resource of a type, and save the answer, until unlock. A mutex suffices: one
// process alone reconciles the objects of Terraform kinds. Providers must not be called meanwhile.
func (s *Store) LockOwners(resourceType string) (unlock func()) {
	lock, _ := s.owners.LoadOrStore(resourceType, &sync.Mutex{})
	lock.(*sync.Mutex).Lock()
	return lock.(*sync.Mutex).Unlock
}

// Other returns another object than one that has an external resource, or creates it, and does not only observe it. It is zero for none. The
// resource is known by any of the names, which are compared with the external name, the id and the import id in the states of all kinds of the
// type: several TerraformProviders may serve it. made leaves out what is being created.
func (s *Store) Other(ctx context.Context, than types.UID, at Place, made bool, names ...string) (Owner, error) {
	var hashes []string
	for _, name := range names {
		if name != "" {
			hashes = append(hashes, labelOf(at.Type, name))
		}
	}
	if hashes == nil {
		return Owner{}, nil
	}
	for _, key := range []string{LabelKeyName, LabelKeyID} {
		states, err := s.states(ctx, than, at, key, hashes...)
		if err != nil {
			return Owner{}, err
		}
		for _, state := range states {
			if state.Data[keyObserved] != nil || state.Data[keyTakenBy] != nil || made && state.Labels[LabelKeyEmpty] == "true" {
				continue
			}
			exists, err := s.exists(ctx, &state)
			if err != nil {
				return Owner{}, err
			}
			if exists {
				return OwnerOf(objectOf(&state)), nil
			}
		}
	}
	return Owner{}, nil
}

// BeginCreation notes that this process creates the external resource of an object, until the answer is stored.
func (s *Store) BeginCreation(of types.UID) (ended func()) {
	s.creating.Store(of, nil)
	return func() { s.creating.Delete(of) }
}

// IsCreating is true between BeginCreation and its end.
func (s *Store) IsCreating(of types.UID) bool {
	_, is := s.creating.Load(of)
	return is
}

// Creators returns the other objects of a place with a creation whose answer is not stored: it is in progress, or was interrupted, which the journal
// and IsCreating tell apart.
func (s *Store) Creators(ctx context.Context, than types.UID, at Place) (all []Owner, err error) {
	states, err := s.states(ctx, than, at, LabelKeyEmpty, "true")
	if err != nil {
		return nil, err
	}
	for _, secret := range states {
		if secret.Data[keyCreates] == nil || string(secret.Data[keyType]) != at.Type {
			continue
		}
		all = append(all, OwnerOf(objectOf(&secret)))
	}
	return all, nil
}

// states returns the states of other objects in a place that have one of the values of a label, also those that could not be stored yet.
func (s *Store) states(ctx context.Context, than types.UID, at Place, key string, values ...string) ([]corev1.Secret, error) {
	wanted, err := labels.NewRequirement(key, selection.In, values)
	all := &corev1.SecretList{}
	if err == nil {
		by := client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*wanted)}
		err = s.live.List(ctx, all, client.InNamespace(s.namespace), by)
	}
	if err != nil {
		return nil, failure.With(failure.InternalError, fmt.Errorf("listing states: %w", err))
	}
	s.unstored.Range(func(_, unstored any) bool {
		later := unstored.(*corev1.Secret)
		all.Items = slices.DeleteFunc(all.Items, func(state corev1.Secret) bool { return state.Name == later.Name })
		if wanted.Matches(labels.Set(later.Labels)) {
			all.Items = append(all.Items, *later)
		}
		return true
	})
	return slices.DeleteFunc(all.Items, func(state corev1.Secret) bool {
		isElsewhere := string(state.Data[keySystem]) != at.System && string(state.Data[keyConfig]) != at.Config
		return isElsewhere || objectOf(&state).UID == than
	}), nil
}

// RegisterKind has OtherWithoutState look at the objects of a kind of a resource type.
func (s *Store) RegisterKind(resourceType string, kind schema.GroupVersionKind, of schema.GroupResource) {
	s.kinds.Store(kind, registered{resourceType, of})
}

type registered struct {
	resourceType string
	schema.GroupResource
}

// OtherWithoutState is Other for objects whose states are lost: what they have is in their statuses.
func (s *Store) OtherWithoutState(ctx context.Context, than types.UID, at Place, names ...string) (owner Owner, err error) {
	s.kinds.Range(func(kind, of any) bool {
		if of := of.(registered); of.resourceType == at.Type {
			owner, err = s.otherOfKind(ctx, than, at, names, kind.(schema.GroupVersionKind), of.GroupResource)
		}
		return err == nil && owner.UID == ""
	})
	return owner, err
}

func (s *Store) otherOfKind(ctx context.Context, than types.UID, at Place, names []string, kind schema.GroupVersionKind, of schema.GroupResource) (Owner, error) {
	from := client.Reader(s.client)
	if s.ReadOnly() {
		from = s.live
	}
	all := &unstructured.UnstructuredList{}
	all.SetGroupVersionKind(kind)
	if err := from.List(ctx, all, client.UnsafeDisableDeepCopy); objects.IsAbsent(err) {
		return Owner{}, nil
	} else if err != nil {
		return Owner{}, failure.With(failure.InternalError, fmt.Errorf("listing objects of %s: %w", at.Type, err))
	}
	for i := range all.Items {
		object := &all.Items[i]
		name, has := hadResource(object, at, names)
		policies := (&managed.Managed{Unstructured: *object}).GetManagementPolicies()
		changes := policies.AllowAny(xpv1.ManagementActionCreate, xpv1.ManagementActionUpdate, xpv1.ManagementActionDelete)
		if !has || !changes || object.GetUID() == than {
			continue
		}
		r := s.recordOf(object.GetUID())
		r.mu.Lock()
		err := s.load(ctx, object.GetUID(), r)
		lost := err == nil && r.state == nil
		if lost {
			r.lost = &lostState{objects.Metadata(kind), of, at, name}
			r.lost.object.SetNamespace(object.GetNamespace())
			r.lost.object.SetName(object.GetName())
			r.lost.object.SetUID(object.GetUID())
		}
		r.mu.Unlock()
		if err != nil {
			return Owner{}, err
		}
		if lost {
			return OwnerOf(object), nil
		}
	}
	return Owner{}, nil
}

// A lostState is what is known of an object that has an external resource and no state.
type lostState struct {
	object client.Object
	kind   schema.GroupResource
	Place
	name string // external
}

// hadResource is true for an object whose status says that it has an external resource of one of the names, with its external name.
func hadResource(o *unstructured.Unstructured, at Place, names []string) (name string, has bool) {
	text := func(path ...string) string {
		text, _, _ := unstructured.NestedString(o.Object, path...)
		return text
	}
	name, id, system := text("status", "ownership", "externalName"), text("status", "atProvider", "id"), text("status", "externalSystem", "id")
	if name == "" || !slices.Contains(names, name) && (id == "" || !slices.Contains(names, id)) {
		return "", false
	}
	kind, config := text("status", "ownership", "providerConfigRef", "kind"), text("status", "ownership", "providerConfigRef", "name")
	if kind == xpv1.ProviderConfigKind {
		config = strings.TrimPrefix(o.GetNamespace()+"/"+config, "/")
	}
	return name, system == "" || system == at.System || strings.HasSuffix(at.Config, fmt.Sprintf(" %s %q", kind, config))
}

// names are the labels by which Other finds the state of what exists, or is being created: for its external name, or import id, and for its
// attribute id.
func (s *State) names() map[string]string {
	attributes := struct{ ID any }{}
	_ = json.Unmarshal(s.Value, &attributes) // what is no object has no id
	id, _ := attributes.ID.(string)
	name, names := s.Name, map[string]string{}
	if s.Empty() {
		name = s.ImportID
	}
	for key, name := range map[string]string{LabelKeyName: name, LabelKeyID: id} {
		if name != "" {
			names[key] = labelOf(s.Type, name)
		}
	}
	return names
}

// labelOf is the value of a label for a name, which may be longer than that and have any characters.
func labelOf(resourceType, name string) string {
	sum := sha256.Sum256([]byte(resourceType + "/" + name))
	return hex.EncodeToString(sum[:16])
}

// exists is true if the object of a state exists: states of others are kept for a while, or until a person looks at them.
func (s *Store) exists(ctx context.Context, state *corev1.Secret) (bool, error) {
	object := objectOf(state)
	uid := object.UID
	err := s.live.Get(ctx, client.ObjectKeyFromObject(object), object)
	if err != nil && !apierrors.IsNotFound(err) {
		return false, failure.With(failure.InternalError, fmt.Errorf("looking for the object of a state: %w", err))
	}
	return err == nil && object.UID == uid, nil
}

// OwnerOf is an object as an owner.
func OwnerOf(o client.Object) Owner {
	name := strings.TrimPrefix(client.ObjectKeyFromObject(o).String(), "/")
	return Owner{o.GetObjectKind().GroupVersionKind().Kind + " " + name, string(o.GetUID())}
}

// objectOf returns the object of a state, with its kind, name and UID.
func objectOf(state *corev1.Secret) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(schema.FromAPIVersionAndKind(state.Annotations[AnnotationKeyAPIVersion], state.Annotations[AnnotationKeyKind]))
	object.Namespace, object.Name, _ = strings.Cut(state.Annotations[AnnotationKeyObject], "/")
	object.UID = types.UID(strings.TrimPrefix(state.Name, NamePrefix))
	return object
}

// Take notes in the state of an object, if it has one, that another one has its external resource from now on.
func (s *Store) Take(ctx context.Context, from types.UID, by Owner) error {
	r := s.recordOf(from)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := s.load(ctx, from, r); err != nil {
		return err
	}
	switch {
	case r.state == nil && r.lost != nil: // one that is restored must not count again
		return s.save(ctx, r.lost.object, r.lost.kind, r, &State{Place: r.lost.Place, Name: r.lost.name, TakenBy: by})
	case r.state == nil:
		return nil
	}
	taken := *r.state
	taken.TakenBy = by
	secret, before, wasDirty := r.stored, r.state, r.dirty
	later, isUnstored := s.unstored.Load(from)
	if isUnstored {
		secret = later.(*corev1.Secret)
	}
	if secret == nil { // in a plan
		r.state = &taken
		return nil
	}
	err := s.save(ctx, objectOf(secret), schema.ParseGroupResource(secret.Labels[LabelKeyKind]), r, &taken)
	if err != nil { // what is not stored does not count: this process may end before another attempt
		r.state, r.dirty = before, wasDirty
		s.unstored.Delete(from)
		if isUnstored {
			s.unstored.Store(from, later)
		}
	}
	return err
}

// Own is Save for the state of a resource that no other object has taken.
func (s *Store) Own(ctx context.Context, of client.Object, kind schema.GroupResource, state *State) error {
	r := s.recordOf(of.GetUID())
	r.mu.Lock()
	defer r.mu.Unlock()
	saved := *state
	saved.TakenBy = Owner{}
	return s.save(ctx, of, kind, r, &saved)
}
