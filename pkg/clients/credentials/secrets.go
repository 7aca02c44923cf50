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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

const (
	// patience is how long a reader waits for the watch on a Secret to be established.
	patience = 10 * time.Second
	// idle is how long a Secret is watched that nobody asks for. Every object is looked at each hour, so those that some
	// configuration in use names are asked for within.
	idle = 2 * time.Hour
)

// Secrets reads credentials. It reads Secrets by name, each through a watch of its own. It is safe for concurrent use.
type Secrets struct {
	client    client.WithWatch
	variables []string // that ProviderConfigs may name
	folders   []string // whose files ProviderConfigs may name
	now       func() time.Time

	running   sync.WaitGroup // of the watches
	mu        sync.Mutex
	life      context.Context // of the watches; ends with the manager
	watched   map[types.NamespacedName]*watched
	swept     time.Time
	listeners []func(types.NamespacedName)
}

// watched is a Secret that is being watched.
type watched struct {
	informer toolscache.SharedIndexInformer
	asked    time.Time // for the last time
	end      context.CancelFunc
}

// An Option changes one thing about Secrets.
type Option func(*Secrets)

// WithVariables lets ProviderConfigs read these environment variables of the process: whoever may write a ProviderConfig
// may then send their values anywhere. Default: none.
func WithVariables(names ...string) Option {
	return func(s *Secrets) { s.variables = append(s.variables, names...) }
}

// WithFolders lets ProviderConfigs read all files in these folders of the process and below, given by absolute paths:
// whoever may write a ProviderConfig may then send their content anywhere. Default: none.
func WithFolders(paths ...string) Option {
	return func(s *Secrets) { s.folders = append(s.folders, paths...) }
}

// WithClock sets by which time Secrets that nobody asks for any more are told. Default: time.Now.
func WithClock(now func() time.Time) Option {
	return func(s *Secrets) { s.now = now }
}

// NewSecrets returns a reader whose watches end with the manager.
func NewSecrets(mgr manager.Manager, o ...Option) (*Secrets, error) {
	c, err := client.NewWithWatch(mgr.GetConfig(), client.Options{
		Scheme:     mgr.GetScheme(),
		Mapper:     mgr.GetRESTMapper(),
		HTTPClient: mgr.GetHTTPClient(),
	})
	if err != nil {
		return nil, fmt.Errorf("making a client for secrets: %w", err)
	}
	life, end := context.WithCancel(context.Background())
	s := &Secrets{client: c, now: time.Now, life: life, watched: map[types.NamespacedName]*watched{}}
	for _, apply := range o {
		apply(s)
	}
	return s, mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		s.mu.Lock()
		end() // from here on no watch begins
		s.mu.Unlock()
		s.running.Wait()
		return nil
	}))
}

// Get returns the Secret as last seen by its watch. Callers must not change it.
func (s *Secrets) Get(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	informer, err := s.watch(key)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if !toolscache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, fmt.Errorf("secret %s: the API server does not answer, or refuses to let this secret be watched", key)
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

// OnChange calls back with the key of every watched Secret that appears, changes or goes away. A Secret is watched from the
// first time that somebody asks for it until nobody has for two hours.
func (s *Secrets) OnChange(call func(types.NamespacedName)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(s.listeners, call)
}

func (s *Secrets) watch(key types.NamespacedName) (toolscache.SharedIndexInformer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.Err() != nil {
		return nil, fmt.Errorf("watching secret %s: the manager has ended", key)
	}
	now := s.now()
	s.sweep(now)
	if w := s.watched[key]; w != nil {
		w.asked = now
		return w.informer, nil
	}
	informer := toolscache.NewSharedIndexInformer(s.listWatch(key), &corev1.Secret{}, 0, toolscache.Indexers{})
	changed := func(any) { s.tell(key) }
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
	life, end := context.WithCancel(s.life)
	s.watched[key] = &watched{informer: informer, asked: now, end: end}
	s.running.Go(func() { informer.RunWithContext(life) })
	return informer, nil
}

// sweep ends the watches of Secrets that nobody asks for any more, such as those of configurations that are gone.
func (s *Secrets) sweep(now time.Time) {
	if now.Sub(s.swept) < idle/2 {
		return
	}
	s.swept = now
	for key, w := range s.watched {
		if now.Sub(w.asked) >= idle {
			w.end()
			delete(s.watched, key)
		}
	}
}

func (s *Secrets) tell(key types.NamespacedName) {
	s.mu.Lock()
	listeners := s.listeners
	s.mu.Unlock()
	for _, call := range listeners {
		call(key)
	}
}

// listWatch lists and watches one Secret.
func (s *Secrets) listWatch(key types.NamespacedName) *toolscache.ListWatch {
	options := func(o metav1.ListOptions) *client.ListOptions {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, key.Name).String()
		return &client.ListOptions{Namespace: key.Namespace, Raw: &o}
	}
	return &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list := &corev1.SecretList{}
			return list, s.client.List(ctx, list, options(o))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return s.client.Watch(ctx, &corev1.SecretList{}, options(o))
		},
	}
}
