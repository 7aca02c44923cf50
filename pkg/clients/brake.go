// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/clients/credentials"
	"github.com/bowline-dev/bowline/pkg/clients/limits"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

const (
	defaultDeletions = 50 // per window
	deletionWindow   = time.Minute
	// allShare is how many namespaces may delete as many as each of them may. One alone thus never pauses the deletions of others.
	allShare = 2
)

// ReasonMassDeletion is the reason of condition DeletionsPaused of a ProviderConfig, and of an event.
const ReasonMassDeletion event.Reason = "MassDeletion"

// A brake counts the external deletions of each ProviderConfig. The counts are those of this process, the pause is stored.
type brake struct {
	mu    sync.Mutex
	begun map[limits.Key]map[types.UID]deletion
}

type deletion struct {
	at        time.Time
	namespace string
}

// over is what has too many deletions.
type over struct{ namespace, all bool }

// take counts the deletion of an object, once, unless there were too many within the window and since deletions were resumed: of its
// namespace, or of all.
func (b *brake) take(key limits.Key, object types.UID, namespace string, config metav1.Object, most int) over {
	if b.begun == nil {
		b.begun = map[limits.Key]map[types.UID]deletion{}
	}
	if b.begun[key] == nil {
		b.begun[key] = map[types.UID]deletion{}
	}
	now, sameNamespace := time.Now(), 0
	for uid, d := range b.begun[key] {
		switch {
		case now.Sub(d.at) >= deletionWindow || d.at.Before(meta.GetDeletionsResumed(config, d.namespace)):
			delete(b.begun[key], uid)
		case d.namespace == namespace:
			sameNamespace++
		}
	}
	if _, counted := b.begun[key][object]; counted { // its time stays that of the first attempt
		return over{}
	}
	o := over{namespace: sameNamespace >= most, all: len(b.begun[key]) >= allShare*most}
	if o == (over{}) {
		b.begun[key][object] = deletion{at: now, namespace: namespace}
	}
	return o
}

// forget drops the counts of a ProviderConfig that was deleted.
func (b *brake) forget(key limits.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.begun, key)
}

// AllowDeletion decides whether the external resource of an object may be deleted now. If the deletions of its namespace, or of its
// claim's, are paused in its ProviderConfig it returns a message. It pauses them, in the status of the ProviderConfig, when too many
// are deleted within a minute, and those of all namespaces when too many are deleted in all. What was deleted before a person resumed
// deletions is not counted (N39).
func (r *Registry) AllowDeletion(ctx context.Context, mg resource.Managed) (paused string, err error) {
	if len(r.configs) == 0 {
		return "", nil
	}
	kind, err := r.kindFor(mg)
	if err != nil {
		return "", err
	}
	name, namespace := types.NamespacedName{Name: resource.ProviderConfigName(mg)}, ""
	if kind.Namespaced {
		name.Namespace = mg.GetNamespace()
	}
	config := kind.Object.DeepCopyObject().(resource.ProviderConfig)
	if err := r.client.Get(ctx, name, config); err != nil {
		return "", fmt.Errorf("reading %s %q: %w", kind.Kind.Kind, name.Name, err)
	}
	if isShared(config) {
		namespace = resource.NamespaceOf(mg)
	}
	spec, _, err := credentials.SpecOf(config)
	most, requested := mostDeletions(spec), mg.GetDeletionTimestamp()
	if requested == nil { // it is about to be replaced, and is not ready since then
		requested = &metav1.Time{Time: mg.GetCondition(xpv1.TypeReady).LastTransitionTime.Time}
	}
	if err != nil || most == 0 || !requested.After(meta.GetDeletionsResumed(config, namespace)) {
		return "", err
	}
	r.brake.mu.Lock() // also for the write, which one of many objects makes
	defer r.brake.mu.Unlock()
	pause := PauseOf(config)
	if !pause.Of(namespace) {
		o := r.brake.take(keyOf(kind.Kind, name), mg.GetUID(), namespace, config, most)
		if o == (over{}) {
			return "", nil
		}
		if pause, err = r.pauseDeletions(ctx, kind, config, namespace, o.all); err != nil {
			return "", err
		}
	}
	where, resume := "", Argument(kind.Kind.GroupKind().String(), name)
	if !pause.All {
		where = " " + whereIs(namespace)
		if namespace != "" {
			resume += " -n " + namespace
		}
	}
	ignored := strings.Join(append([]string{""}, meta.IgnoredAnnotations(config)...), ". ")
	return fmt.Sprintf("Deletion is paused because more than %d external resources of %s %s were to be deleted within a minute%s. To resume "+
		"all deletions%s: bowline resume-deletions %s%s", limitOf(config, pause.All), kind.Kind.Kind,
		strings.TrimPrefix(name.String(), "/"), where, where, resume, ignored), nil
}

// mostDeletions is how many external resources of a namespace may be deleted within a minute, 0 for any number.
func mostDeletions(spec xpv1.ProviderSpec) int {
	return int(ptr.Deref(ptr.Deref(spec.Limits, xpv1.CallLimits{}).DeletionsPerMinute, defaultDeletions))
}

// isShared is true for a ProviderConfig whose users may be in several namespaces, and that can list those whose deletions are paused.
func isShared(config resource.ProviderConfig) bool {
	_, lists := config.(resource.DeletionPauser)
	return lists && config.GetNamespace() == ""
}

// limitOf is how many that are of a namespace, or of all that share a ProviderConfig.
func limitOf(config resource.ProviderConfig, all bool) int {
	spec, _, _ := credentials.SpecOf(config) // which was read before
	if all && isShared(config) {
		return allShare * mostDeletions(spec)
	}
	return mostDeletions(spec)
}

// pauseDeletions stores the pause of a namespace, or of all. If the cache is behind, the ProviderConfig shows it already.
func (r *Registry) pauseDeletions(ctx context.Context, kind ConfigKind, config resource.ProviderConfig, namespace string, all bool) (Pause, error) {
	now := kind.Object.DeepCopyObject().(resource.ProviderConfig)
	if err := r.mgr.GetAPIReader().Get(ctx, client.ObjectKeyFromObject(config), now); err != nil {
		return Pause{}, err
	}
	pause := PauseOf(now)
	if pause.Of(namespace) {
		return pause, nil
	}
	if all = all || pause.All || !isShared(now); all {
		pause = Pause{All: true}
	} else {
		pause.Namespaces = append(pause.Namespaces, xpv1.PausedNamespace{Namespace: namespace, Since: metav1.Now()})
	}
	condition := xpv1.DeletionsPaused(pause.message(now, kind.Kind))
	if _, err := objects.PatchStatus(ctx, r.client, now, func(c resource.ProviderConfig) {
		c.SetConditions(xpv1.Condition{Type: condition.Type}, condition) // its time is that of this pause
		if list, ok := c.(resource.DeletionPauser); ok {
			list.SetPausedDeletions(pause.Namespaces)
		}
	}); err != nil {
		return Pause{}, fmt.Errorf("pausing deletions: %w", err)
	}
	recorder := event.NewAPIRecorder(r.client, r.mgr.GetAPIReader(), "deletions/"+strings.ToLower(kind.Kind.GroupKind().String()))
	flow.Emit(ctx, recorder, r.mgr.GetLogger(), now, event.Warning(ReasonMassDeletion, errors.New(condition.Message)))
	r.mgr.GetLogger().Info("Deletions are paused", "config", client.ObjectKeyFromObject(config), "message", condition.Message)
	return pause, nil
}
