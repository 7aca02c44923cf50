// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bowline-dev/bowline/pkg/internal/objects"
)

// Secrets that are watched at a time, since each watch is a request that stays open. What waits for another one is reconciled at its poll.
const (
	mostSecrets      = 100
	mostOfANamespace = mostSecrets / 4 // so that one team does not take all
)

// Secrets calls back once a Secret that objects wait for changes. Such Secrets are not in the cache (N30): each has a watch of its own, of
// its metadata, until its first change. The zero value calls nothing back.
type Secrets struct {
	mu      sync.Mutex
	ctx     context.Context // of the controller
	client  client.WithWatch
	waiting map[awaited]map[any]func() // by what waits
}

// An awaited Secret, in the state in which an object found it.
type awaited struct {
	types.NamespacedName
	version string // empty for none, or AnyVersion
}

// AnyVersion is that of a Secret of which only is known that it exists.
const AnyVersion = "*"

// Begin has later calls of Await take effect. Only the first call counts, of several controllers of one manager.
func (s *Secrets) Begin(ctx context.Context, mgr manager.Manager) error {
	c, err := client.NewWithWatch(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return fmt.Errorf("creating a client for the watches of single Secrets: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx != nil {
		return nil
	}
	s.ctx, s.client, s.waiting = ctx, c, map[awaited]map[any]func(){}
	return nil
}

// Await calls wake, which must not block, once the Secret is not in the given version any more, or exists if that is empty. For each who
// waits there is one call.
func (s *Secrets) Await(name types.NamespacedName, version string, who any, wake func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	secret := awaited{name, version}
	known, watched := s.waiting[secret]
	switch {
	case s.ctx == nil:
	case watched:
		known[who] = wake
	case len(s.waiting) < mostSecrets && s.watchedIn(name.Namespace) < mostOfANamespace:
		s.waiting[secret] = map[any]func(){who: wake}
		go s.watch(secret)
	}
}

func (s *Secrets) watchedIn(namespace string) (n int) {
	for secret := range s.waiting {
		if secret.Namespace == namespace {
			n++
		}
	}
	return n
}

// watch calls back what waits for the Secret. If the watch fails, or ends without a change, the objects are reconciled at their poll.
func (s *Secrets) watch(secret awaited) {
	changed := s.changes(secret)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, wake := range s.waiting[secret] {
		if changed {
			wake()
		}
	}
	delete(s.waiting, secret)
}

// changes waits until the Secret is in another state. It is false if that is not known.
func (s *Secrets) changes(secret awaited) bool {
	kind, list := corev1.SchemeGroupVersion.WithKind("Secret"), &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind)
	w, err := s.client.Watch(s.ctx, list, client.InNamespace(secret.Namespace), client.MatchingFields{metav1.ObjectNameField: secret.Name})
	if err != nil {
		return false
	}
	defer w.Stop()
	now := objects.Metadata(kind)
	err = s.client.Get(s.ctx, secret.NamespacedName, now) // it may have changed before the watch began
	other := now.ResourceVersion != secret.version && (secret.version != AnyVersion || now.ResourceVersion == "")
	if client.IgnoreNotFound(err) != nil || other {
		return other && client.IgnoreNotFound(err) == nil
	}
	for e := range w.ResultChan() { // which begins with the Secret, if it exists
		if e.Type == apiwatch.Modified || e.Type == apiwatch.Deleted || e.Type == apiwatch.Added && secret.version == "" {
			return true
		}
	}
	return false
}
