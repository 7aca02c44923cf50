// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package outside asks the external systems about objects, for commands. It has the reconcilers of this program without their controllers, and
// the credentials of the ProviderConfigs, and writes nothing.
package outside

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/claim"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

const (
	atOnce        = 16 // objects
	progressEvery = 5 * time.Second
	callTimeout   = 20 * time.Second // of all calls for an object: a person waits
	// enough failures in a row show that an external system is out of reach: each further one may last as long as a call may take.
	enough = 3
	// A call over a limit is repeated when the limit permits, each object so often.
	attempts   = 20
	firstPause = time.Second
)

// Systems are the external systems of all managed kinds of some providers.
type Systems struct {
	kinds    map[schema.GroupKind]kind
	live     client.Reader
	progress io.Writer
	stop     context.CancelCauseFunc
	stopped  chan struct{}

	mu         sync.Mutex
	done       int
	outOfReach map[config]*OutOfReach
}

type kind struct {
	provider   string
	version    schema.GroupVersion
	object     resource.Managed // an empty one
	reconciler *managed.Reconciler
}

// A config is a ProviderConfig as objects of a provider name it.
type config struct{ provider, namespace, kind, name string }

// An Object is a managed resource as the controllers see it.
type Object struct {
	resource.Managed

	Path       string // namespace/name, or name
	Reconciler *managed.Reconciler

	kind     schema.GroupKind
	provider string
}

// OutOfReach is an external system that did not respond.
type OutOfReach struct {
	Kind    schema.GroupKind // of the first object
	Objects []string         // for which nothing is known: their paths, sorted
	Why     error            // the first error

	failures int // since the last response
}

// Discover returns the providers with those whose kinds are known at run time only, as an API server declares them. What is missing on this
// machine is in missing.
func Discover(ctx context.Context, cfg *rest.Config, providers []provider.Provider) (all []provider.Provider, missing []error, err error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, nil, fmt.Errorf("registering Kubernetes types: %w", err)
	}
	for _, p := range providers {
		if err := p.AddToScheme(scheme); err != nil {
			return nil, nil, fmt.Errorf("registering the types of provider %s: %w", p.Name, err)
		}
	}
	live, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return nil, nil, fmt.Errorf("creating client: %w", err)
	}
	all = slices.Clone(providers)
	for _, p := range providers {
		if p.Discover != nil {
			found, failed := p.Discover(ctx, live, scheme)
			all, missing = append(all, found...), append(missing, failed...)
		}
	}
	return all, missing, nil
}

// Connect prepares to ask the external systems until the context ends, or Close. It calls stop with the error if reading objects fails later.
// Progress of long work is written to a writer.
func Connect(ctx context.Context, stop context.CancelCauseFunc, cfg *rest.Config, progress io.Writer, providers []provider.Provider) (*Systems, error) {
	ctrl.SetLogger(logr.Discard()) // what fails is returned
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("registering Kubernetes types: %w", err)
	}
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.WarningHandlerWithContext = -1, rest.NoWarnings{}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme, Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Cache: managed.CacheOptions(), NewCache: claim.NewCache,
	})
	if err != nil {
		return nil, fmt.Errorf("preparing to read objects: %w", err)
	}
	s := &Systems{
		kinds: map[schema.GroupKind]kind{}, live: mgr.GetAPIReader(), progress: progress, stop: stop, stopped: make(chan struct{}),
		outOfReach: map[config]*OutOfReach{},
	}
	for _, of := range providers {
		reconcilers, err := of.Reconcilers(mgr)
		if err != nil {
			return nil, err
		}
		for _, k := range of.Kinds {
			gvk, err := apiutil.GVKForObject(k.Object, scheme)
			if err != nil {
				return nil, err
			}
			s.kinds[gvk.GroupKind()] = kind{of.Name, gvk.GroupVersion(), k.Object, reconcilers[gvk.GroupKind()]}
		}
	}
	go func() {
		defer close(s.stopped)
		stop(mgr.Start(ctx))
	}()
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		return nil, fmt.Errorf("reading objects: %w", context.Cause(ctx))
	}
	return s, nil
}

// Close ends the connections, and the processes of providers.
func (s *Systems) Close() {
	s.stop(nil)
	<-s.stopped
}

// Object returns an object as the controllers see it, false if this program has no kind for it.
func (s *Systems) Object(o *unstructured.Unstructured) (Object, bool, error) {
	of := o.GroupVersionKind().GroupKind()
	k, ok := s.kinds[of]
	if !ok {
		return Object{}, false, nil
	}
	mg, path := k.object.DeepCopyObject().(resource.Managed), inspect.Path(o.GetNamespace(), o.GetName())
	content, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(content, mg)
	}
	if err != nil {
		return Object{}, false, fmt.Errorf("reading %s %s: %w", of, path, err)
	}
	mg.GetObjectKind().SetGroupVersionKind(k.version.WithKind(of.Kind)) // it may have been read in another version
	return Object{mg, path, k.reconciler, of, k.provider}, true, nil
}

// Read reads an object again.
func (s *Systems) Read(ctx context.Context, o Object) error {
	return s.live.Get(ctx, client.ObjectKeyFromObject(o.Managed), o.Managed)
}

// ForEach calls do for all objects, several at a time, and done with each result, one at a time. What is over a limit is repeated. Objects of
// an external system that is out of reach are left out: see NotReached.
func ForEach[T any](ctx context.Context, s *Systems, objects []Object, do func(context.Context, Object) (T, error), done func(Object, T, error)) error {
	defer s.logProgress(ctx)()
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(atOnce)
	for _, o := range objects {
		work.Go(func() error {
			of := config{o.provider, o.GetNamespace(), resource.ProviderConfigKind(o.Managed), resource.ProviderConfigName(o.Managed)}
			if s.isOutOfReach(of, o) {
				return nil
			}
			result, err := within(ctx, o, do)
			s.mu.Lock()
			defer s.mu.Unlock()
			if !s.note(of, o, err) {
				done(o, result, err)
			}
			return context.Cause(ctx)
		})
	}
	return work.Wait()
}

// within repeats what is over a limit, of the ProviderConfig or of the external system.
func within[T any](ctx context.Context, o Object, do func(context.Context, Object) (T, error)) (result T, err error) {
	for range attempts {
		limited, cancel := context.WithTimeout(ctx, callTimeout)
		result, err = do(limited, o)
		cancel()
		if err == nil || failure.Of(err).Reason != failure.ExternalSystemThrottled {
			return result, err
		}
		pause, _ := failure.RetryAfter(err)
		select {
		case <-time.After(cmp.Or(pause, firstPause)):
		case <-ctx.Done():
			return result, context.Cause(ctx)
		}
	}
	return result, err
}

// logProgress tells every few seconds how far the work is, until stop is called.
func (s *Systems) logProgress(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s.mu.Lock()
				fmt.Fprintf(s.progress, "Observing external resources: %d of them so far ...\n", s.done)
				s.mu.Unlock()
			case <-ctx.Done():
				return
			}
		}
	}()
	return cancel
}

// isOutOfReach is true once an external system has not responded several times in a row.
func (s *Systems) isOutOfReach(of config, o Object) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	system := s.outOfReach[of]
	if system == nil || system.failures < enough {
		return false
	}
	system.Objects = append(system.Objects, o.Path)
	return true
}

// note records how a call ended, and reports whether the external system did not respond.
func (s *Systems) note(of config, o Object, err error) bool {
	system := s.outOfReach[of]
	if err == nil || !failure.IsOutOfReach(failure.Of(err).Reason) {
		if system != nil {
			system.failures = 0
		}
		s.done++
		return false
	}
	if system == nil {
		system = &OutOfReach{Kind: o.kind, Why: err}
		s.outOfReach[of] = system
	}
	system.failures++
	system.Objects = append(system.Objects, o.Path)
	return true
}

// NotReached returns the external systems that did not respond.
func (s *Systems) NotReached() []*OutOfReach {
	all := slices.Collect(maps.Values(s.outOfReach))
	for _, system := range all {
		slices.Sort(system.Objects)
	}
	slices.SortFunc(all, func(a, b *OutOfReach) int {
		return cmp.Or(cmp.Compare(a.Kind.String(), b.Kind.String()), cmp.Compare(a.Objects[0], b.Objects[0]))
	})
	return all
}
