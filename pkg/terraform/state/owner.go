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
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/failure"
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

// Other returns another object than one that has an external resource, or creates it, and does not only observe it. It is zero for none. since is
// when its first state was stored. The resource is known by any of the names, which are compared with the external name, the id and the import id
// in the states of all kinds of the type: several TerraformProviders may serve it.
func (s *Store) Other(ctx context.Context, than types.UID, at Place, names ...string) (o Owner, since time.Time, err error) {
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	for i, name := range names {
		names[i] = labelOf(at.Type, name)
	}
	for _, key := range []string{LabelKeyName, LabelKeyID} {
		named, err := labels.NewRequirement(key, selection.In, names)
		if err != nil { // there is no name
			return o, since, nil
		}
		all := &corev1.SecretList{}
		by := client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*named)}
		if err := s.live.List(ctx, all, client.InNamespace(s.namespace), by); err != nil {
			return o, since, failure.With(failure.InternalError, fmt.Errorf("listing states: %w", err))
		}
		for _, secret := range all.Items {
			uid := strings.TrimPrefix(secret.Name, NamePrefix)
			elsewhere := string(secret.Data[keySystem]) != at.System && string(secret.Data[keyConfig]) != at.Config
			if uid == string(than) || elsewhere || secret.Data[keyObserved] != nil || secret.Data[keyTakenBy] != nil {
				continue
			}
			if exists, err := s.exists(ctx, &secret, uid); exists || err != nil {
				o = Owner{secret.Annotations[AnnotationKeyKind] + " " + strings.TrimPrefix(secret.Annotations[AnnotationKeyObject], "/"), uid}
				return o, secret.CreationTimestamp.Time, err
			}
		}
	}
	return o, since, nil
}

// Since is when the first state of an object was stored, zero for one that this store does not know.
func (s *Store) Since(of types.UID) time.Time {
	r := s.recordOf(of)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stored == nil {
		return time.Time{}
	}
	return r.stored.CreationTimestamp.Time
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
func (s *Store) exists(ctx context.Context, state *corev1.Secret, uid string) (bool, error) {
	object := objectOf(state)
	err := s.live.Get(ctx, client.ObjectKeyFromObject(object), object)
	if err != nil && !apierrors.IsNotFound(err) {
		return false, failure.With(failure.InternalError, fmt.Errorf("looking for the object of a state: %w", err))
	}
	return err == nil && string(object.UID) == uid, nil
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
	if err := s.load(ctx, from, r); err != nil || r.state == nil {
		return err
	}
	taken := *r.state
	taken.TakenBy = by
	if r.stored == nil { // an earlier Save failed: Flush stores the mark, too
		r.state = &taken
		return nil
	}
	return s.save(ctx, objectOf(r.stored), schema.ParseGroupResource(r.stored.Labels[LabelKeyKind]), r, &taken)
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
