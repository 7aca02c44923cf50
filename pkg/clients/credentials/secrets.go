// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	informers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

const (
	// syncTimeout bounds how long a read waits for the watch to be established.
	syncTimeout = 10 * time.Second
	// idle is how long a Secret is watched without being read. Every managed resource is polled within an hour, so Secrets in
	// use are read more often.
	idle = 2 * time.Hour
)

// Secrets reads credentials, those in Secrets through one watch per Secret. It is safe for concurrent use.
type Secrets struct {
	client    kubernetes.Interface
	variables []string // offered to ProviderConfigs
	folders   []string // whose files are offered to ProviderConfigs
	now       func() time.Time

	running   sync.WaitGroup // of the watches
	mu        sync.Mutex
	ctx       context.Context // of the watches; canceled when the manager stops
	watched   map[types.NamespacedName]*watched
	swept     time.Time
	listeners []func(types.NamespacedName)
}

type watched struct {
	informer toolscache.SharedIndexInformer
	lastRead time.Time
	stop     context.CancelFunc
}

// An Option changes one thing about Secrets.
type Option func(*Secrets)

// WithVariables offers environment variables of the process to ProviderConfigs: their authors can then send the values anywhere.
// Default: none.
func WithVariables(names ...string) Option {
	return func(s *Secrets) { s.variables = append(s.variables, names...) }
}

// WithFolders offers all files below these absolute paths to ProviderConfigs: their authors can then send the content anywhere.
// Default: none.
func WithFolders(paths ...string) Option {
	return func(s *Secrets) { s.folders = append(s.folders, paths...) }
}

// NewSecrets returns a reader whose watches stop with the manager.
func NewSecrets(mgr manager.Manager, o ...Option) (*Secrets, error) {
	c, err := kubernetes.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("creating client for secrets: %w", err)
	}
	watchCtx, cancel := context.WithCancel(context.Background())
	s := &Secrets{client: c, now: time.Now, ctx: watchCtx, watched: map[types.NamespacedName]*watched{}}
	for _, apply := range o {
		apply(s)
	}
	return s, mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		s.mu.Lock()
		cancel() // no watch starts after this
		s.mu.Unlock()
		s.running.Wait()
		return nil
	}))
}

// Get returns the Secret from its watch. Callers must not change it.
func (s *Secrets) Get(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	informer, err := s.watch(key)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	if !toolscache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, fmt.Errorf("secret %s cannot be watched: the API server does not answer, or does not allow it", key)
	}
	found, ok, err := informer.GetStore().GetByKey(key.String())
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, apierrors.NewNotFound(corev1.Resource("secrets"), key.String())
	}
	return found.(*corev1.Secret), nil
}

// OnChange registers a callback for watched Secrets that are created, updated or deleted.
func (s *Secrets) OnChange(callback func(types.NamespacedName)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(s.listeners, callback)
}

func (s *Secrets) watch(key types.NamespacedName) (toolscache.SharedIndexInformer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return nil, fmt.Errorf("watching secret %s: the manager has stopped", key)
	}
	now := s.now()
	s.sweep(now)
	if w := s.watched[key]; w != nil {
		w.lastRead = now
		return w.informer, nil
	}
	informer := informers.NewFilteredSecretInformer(s.client, key.Namespace, 0, toolscache.Indexers{}, func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, key.Name).String()
	})
	changed := func(any) {
		s.mu.Lock()
		listeners := s.listeners
		s.mu.Unlock()
		for _, callback := range listeners {
			callback(key)
		}
	}
	_, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: changed,
		UpdateFunc: func(before, after any) {
			if before.(*corev1.Secret).ResourceVersion != after.(*corev1.Secret).ResourceVersion {
				changed(after)
			}
		},
		DeleteFunc: changed,
	})
	if err != nil {
		return nil, fmt.Errorf("watching secret %s: %w", key, err)
	}
	ctx, stop := context.WithCancel(s.ctx)
	s.watched[key] = &watched{informer: informer, lastRead: now, stop: stop}
	s.running.Go(func() { informer.RunWithContext(ctx) })
	return informer, nil
}

// sweep stops the watches of Secrets that are no longer read, such as those of deleted ProviderConfigs.
func (s *Secrets) sweep(now time.Time) {
	if now.Sub(s.swept) < idle/2 {
		return
	}
	s.swept = now
	for key, w := range s.watched {
		if now.Sub(w.lastRead) >= idle {
			w.stop()
			delete(s.watched, key)
		}
	}
}
