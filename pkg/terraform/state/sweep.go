// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// sweepInterval is how often the states of objects that are gone are looked for.
	sweepInterval = 10 * time.Minute
	// grace is how old a state of what exists must be to be deleted with its object: a backup may restore states before objects.
	grace = time.Hour
)

// Sweep deletes the states of objects that are gone, and stores those that a person deleted, now and then, until the context ends: an object
// in a namespace cannot own a Secret of another one. A state whose object cannot be looked up stays, as where its kind is not served. forget
// removes whatever else is known of the object with a UID, before its state; that stays if it is false.
func (s *Store) Sweep(ctx context.Context, log logr.Logger, forget func(uid string) (bool, error)) error {
	every := time.NewTicker(sweepInterval)
	defer every.Stop()
	for {
		if err := s.sweep(ctx, log, forget); err != nil && ctx.Err() == nil {
			log.Info("Cannot look after the states of objects", "error", err.Error())
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *Store) sweep(ctx context.Context, log logr.Logger, forget func(uid string) (bool, error)) error {
	all := &metav1.PartialObjectMetadataList{}
	all.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := s.live.List(ctx, all, client.InNamespace(s.namespace), client.HasLabels{LabelKeyKind}); err != nil {
		return err
	}
	there, failed := map[string]bool{}, error(nil)
	for _, secret := range all.Items {
		there[secret.Name] = true
		uid, isState := strings.CutPrefix(secret.Name, NamePrefix)
		gone, err := s.isGone(ctx, &secret, types.UID(uid))
		if isState && gone {
			var forgotten bool
			if forgotten, err = forget(uid); err == nil && forgotten {
				err = s.Forget(ctx, types.UID(uid))
			}
		}
		failed = errors.Join(failed, err)
	}
	return errors.Join(failed, s.restore(ctx, log, there))
}

// restore stores the states of existing objects whose Secrets are not there any more: nothing else may have the secrets in them. Flush stores
// those that a Save could not.
func (s *Store) restore(ctx context.Context, log logr.Logger, there map[string]bool) (err error) {
	s.known.Range(func(_, known any) bool {
		r := known.(*record)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.stored == nil || r.dirty || there[r.stored.Name] {
			return true
		}
		if exists, look := s.exists(ctx, r.stored); !exists {
			err = errors.Join(err, look)
			return true
		}
		secret := r.stored.DeepCopy()
		secret.ObjectMeta = metav1.ObjectMeta{Namespace: secret.Namespace, Name: secret.Name, Labels: secret.Labels, Annotations: secret.Annotations}
		switch create := s.client.Create(ctx, secret); {
		case create == nil:
			r.stored = secret
			log.Info("Stored the state of an object again, whose Secret was deleted", "secret", secret.Name)
		case !apierrors.IsAlreadyExists(create): // it was stored after all were listed
			err = errors.Join(err, create)
		}
		return true
	})
	return err
}

// isGone is true if the API server has no object with the UID of a state any more.
func (s *Store) isGone(ctx context.Context, secret *metav1.PartialObjectMetadata, uid types.UID) (bool, error) {
	version, kind := secret.Annotations[AnnotationKeyAPIVersion], secret.Annotations[AnnotationKeyKind]
	namespace, name, ok := strings.Cut(secret.Annotations[AnnotationKeyObject], "/")
	if !ok || kind == "" {
		return false, nil
	}
	empty := secret.Labels[LabelKeyEmpty] == "true"
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(schema.FromAPIVersionAndKind(version, kind))
	err := s.live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, object)
	switch {
	case apimeta.IsNoMatchError(err), apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse): // the kind is not served
		return false, nil
	case apierrors.IsNotFound(err):
		return empty || time.Since(secret.CreationTimestamp.Time) > grace, nil
	case err != nil:
		return false, err
	}
	return object.UID != uid && empty, nil // a restored object has another UID, and its state may be wanted
}
