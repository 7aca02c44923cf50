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
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/failure"
)

// An Owner is an object that has an external resource, in messages and by its UID.
type Owner struct{ Object, UID string }

// LockOwners lets one pass at a time check by Other who has a resource of a type, and save the answer, until unlock. A mutex suffices: one
// process alone reconciles the objects of Terraform kinds. Providers must not be called meanwhile.
func (s *Store) LockOwners(resourceType string) (unlock func()) {
	lock, _ := s.owners.LoadOrStore(resourceType, &sync.Mutex{})
	lock.(*sync.Mutex).Lock()
	return lock.(*sync.Mutex).Unlock
}

// Other returns another object than one that has an external resource of a type in an external system, and does not only observe it. It is
// zero for none. The resource is known by any of the names, which are compared with the external name and the id in the states of all kinds of
// that type: several TerraformProviders may serve it.
func (s *Store) Other(ctx context.Context, than types.UID, resourceType, system string, names ...string) (Owner, error) {
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	for i, name := range names {
		names[i] = labelOf(resourceType, name)
	}
	for _, key := range []string{LabelKeyName, LabelKeyID} {
		named, err := labels.NewRequirement(key, selection.In, names)
		if err != nil { // there is no name
			return Owner{}, nil
		}
		all := &corev1.SecretList{}
		by := client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*named)}
		if err := s.live.List(ctx, all, client.InNamespace(s.namespace), by); err != nil {
			return Owner{}, failure.With(failure.InternalError, fmt.Errorf("listing states: %w", err))
		}
		for _, secret := range all.Items {
			uid, elsewhere := strings.TrimPrefix(secret.Name, NamePrefix), string(secret.Data[keySystem]) != system
			if uid == string(than) || elsewhere || secret.Data[keyObserved] != nil || secret.Data[keyTakenBy] != nil {
				continue
			}
			if exists, err := s.exists(ctx, &secret, uid); exists || err != nil {
				return Owner{secret.Annotations[AnnotationKeyKind] + " " + strings.TrimPrefix(secret.Annotations[AnnotationKeyObject], "/"), uid}, err
			}
		}
	}
	return Owner{}, nil
}

// names are the labels by which Other finds the state of what exists: for its external name, and for its attribute id.
func (s *State) names() map[string]string {
	attributes := struct{ ID any }{}
	_ = json.Unmarshal(s.Value, &attributes) // what is no object has no id
	id, _ := attributes.ID.(string)
	names := map[string]string{}
	for key, name := range map[string]string{LabelKeyName: s.Name, LabelKeyID: id} {
		if name != "" && !s.Empty() {
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
