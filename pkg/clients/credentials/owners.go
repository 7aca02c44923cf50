// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// watchOwner watches the kind of the object that controls a Secret, unless it has no condition Ready or is not known here.
func (s *Secrets) watchOwner(secret any) {
	owner := metav1.GetControllerOfNoCopy(secret.(*corev1.Secret))
	if owner == nil {
		return
	}
	kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)
	example, err := s.mgr.GetScheme().New(kind)
	like, ok := example.(conditioned)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || !ok || s.owners[kind] || s.ctx.Err() != nil {
		return
	}
	informer, err := s.mgr.GetCache().GetInformer(s.ctx, like, cache.BlockUntilSynced(false))
	if err == nil {
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{UpdateFunc: func(before, after any) {
			if is, ok := after.(conditioned); ok && isReady(is) && !isReady(before.(conditioned)) {
				s.ready(is.GetUID())
			}
		}})
	}
	if err != nil {
		s.mgr.GetLogger().Error(err, "Cannot watch what credentials belong to; users notice at their next poll that it is ready", "kind", kind.String())
	}
	s.owners[kind] = err == nil
}

type conditioned interface {
	client.Object
	GetCondition(t xpv1.ConditionType) xpv1.Condition
}

func isReady(o conditioned) bool {
	return o.GetCondition(xpv1.TypeReady).Status == corev1.ConditionTrue
}

// ready reports the Secrets that an object controls.
func (s *Secrets) ready(owner types.UID) {
	s.mu.Lock()
	watched := maps.Clone(s.watched)
	s.mu.Unlock()
	for key, w := range watched {
		secret, ok, err := w.informer.GetStore().GetByKey(key.String())
		if err != nil || !ok {
			continue
		}
		if by := metav1.GetControllerOfNoCopy(secret.(*corev1.Secret)); by != nil && by.UID == owner {
			s.served(key)
			s.report(key)
		}
	}
}
