// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/telemetry"
)

const (
	defaultTimeout       = time.Minute
	defaultPollInterval  = time.Minute
	defaultCreationGrace = 30 * time.Second
	defaultInputInterval = 10 * time.Minute
)

// A ReconcilerOption changes one thing about a Reconciler.
type ReconcilerOption func(*Reconciler)

// WithExternalConnecter sets the connecter, which returns clients of the external system (A52).
func WithExternalConnecter(c ExternalConnecter) ReconcilerOption {
	return func(r *Reconciler) { r.connecter = c }
}

// WithTypedExternalConnecter is WithExternalConnecter for a connecter of one Go type.
func WithTypedExternalConnecter[T resource.Managed](c TypedExternalConnecter[T]) ReconcilerOption {
	return WithExternalConnecter(typedConnecter[T]{c})
}

// WithNewManaged sets the constructor of empty objects, for kinds without a Go type (resource/unstructured). Default: the scheme.
func WithNewManaged(empty func() resource.Managed) ReconcilerOption {
	return func(r *Reconciler) { r.newManaged = empty }
}

// WithClient sets the client that reads and writes objects. Default: the manager's, which reads those without a Go type from the cache,
// too.
func WithClient(c client.Client) ReconcilerOption { return func(r *Reconciler) { r.client = c } }

// WithDefaultName sets how to choose an external name for an object without one. The choice must always be the same for the same
// object. Default: its metadata.name (R63).
func WithDefaultName(choose func(mg resource.Managed) string) ReconcilerOption {
	return func(r *Reconciler) { r.defaultName = choose }
}

// WithVendorNames is for kinds whose names the external system chooses: Create sets them (R65, R66). A creation of such a kind without
// a recorded result needs manual intervention (N5).
func WithVendorNames() ReconcilerOption { return WithDefaultName(nil) }

// WithLabels is for kinds whose external resources carry ownership labels. For others, the status proves which one is an object's own,
// which may cost a request (N54).
func WithLabels() ReconcilerOption { return func(r *Reconciler) { r.labels = true } }

// WithTimeout bounds a pass up to the observation, then what follows it, and so every call (R47, N70). Default: 1 minute.
func WithTimeout(d time.Duration) ReconcilerOption { return func(r *Reconciler) { r.timeout = d } }

// WithPollInterval sets how often a settled object's external resource is observed (R224). Each object's share of a
// tenth more or less spreads the polls. Default: 1 minute.
func WithPollInterval(d time.Duration) ReconcilerOption {
	return func(r *Reconciler) { r.pollInterval = d }
}

// WithCreationGracePeriod sets how long after a creation the external system may still not show the new resource
// (R88, R89). It ends at the first observation that sees it (N20). Default: 30 seconds.
func WithCreationGracePeriod(d time.Duration) ReconcilerOption {
	return func(r *Reconciler) { r.creationGrace = d }
}

// WithConsistencyWindow sets how long after the beginning of an interrupted creation a TypedCreateFinder that finds nothing proves
// nothing, because the creation may be in progress or lookups stale (N26). Create is called within half of it (N87). Default: 30 seconds, at least the grace period.
func WithConsistencyWindow(d time.Duration) ReconcilerOption {
	return func(r *Reconciler) { r.consistency = d }
}

// WithParameters adds the rules of the parameters of the kind, above all which fields are sensitive, so that
// a Plan does not show their values. Default: fields whose names sound like a secret are not shown.
func WithParameters(rules parameters.Rules) ReconcilerOption {
	return func(r *Reconciler) { r.parameters = rules }
}

// WithSecretInputInterval sets how often Secrets that objects refer to are read without a request, and so how long a changed one
// may take to reach the external system (N30). Default: 10 minutes.
func WithSecretInputInterval(d time.Duration) ReconcilerOption {
	return func(r *Reconciler) { r.inputInterval = d }
}

// An Initializer prepares an object before each pass that is not a deletion: it sets what its kind needs, and writes that itself.
type Initializer interface {
	Initialize(ctx context.Context, mg resource.Managed) error
}

// An InitializerFn is an Initializer.
type InitializerFn func(ctx context.Context, mg resource.Managed) error

// Initialize satisfies Initializer.
func (f InitializerFn) Initialize(ctx context.Context, mg resource.Managed) error { return f(ctx, mg) }

// WithInitializers adds initializers, which run in order. An error ends the pass, as any other of the provider.
func WithInitializers(i ...Initializer) ReconcilerOption {
	return func(r *Reconciler) { r.initializers = append(r.initializers, i...) }
}

// An ObjectFinalizer does what has to be done with an object besides its finalizer.
type ObjectFinalizer interface {
	// AddFinalizer is called before each pass that is not a deletion, after the initializers. It may write to the object. A finalizer
	// of its own that it adds delays the deletion of the external resource, like any other (N37).
	AddFinalizer(ctx context.Context, mg resource.Managed) error
	// RemoveFinalizer is called once the external resource is deleted or orphaned, before the reconciler's finalizer is removed.
	RemoveFinalizer(ctx context.Context, mg resource.Managed) error
}

// WithFinalizer sets an ObjectFinalizer.
func WithFinalizer(f ObjectFinalizer) ReconcilerOption {
	return func(r *Reconciler) { r.finalizer = f }
}

// WithReferences shares known references with the reconcilers of other kinds, so that objects are deleted in order. Default: each
// reconciler knows those of its own kind only, which is enough to resolve them.
func WithReferences(shared *References) ReconcilerOption {
	return func(r *Reconciler) { r.references = shared }
}

// WithBackgroundOperations makes Create, Update and Delete run in the background, for external systems whose calls take
// longer than a pass may (R197). Each call gets the given time. Conditions AsyncOperation and LastAsyncOperation show its
// progress. Of what a call sets on the object the external name is kept, and of the status what Observe does not set afterwards.
// Default: calls are made within the pass.
func WithBackgroundOperations(timeout time.Duration) ReconcilerOption {
	return func(r *Reconciler) { r.callTimeout = timeout }
}

// WithManagementPolicies sets whether objects may restrict what is done to their external resources (R115). Default: true.
func WithManagementPolicies(supported bool) ReconcilerOption {
	return func(r *Reconciler) { r.policies = supported }
}

// WithRecreatePolicy sets the policy for lost resources of objects without one of their own (N38). Default: RecreateAlways.
func WithRecreatePolicy(p xpv1.RecreatePolicy) ReconcilerOption {
	return func(r *Reconciler) { r.recreatePolicy = p }
}

// A DeletionBrake decides whether an external resource may be deleted now. It returns a message if not: the object is then reconciled
// when it is woken, and at the poll.
type DeletionBrake interface {
	AllowDeletion(ctx context.Context, mg resource.Managed) (paused string, err error)
}

// WithDeletionBrake sets what pauses mass deletions (N39). Default: none. *clients.Registry is one.
func WithDeletionBrake(b DeletionBrake) ReconcilerOption { return func(r *Reconciler) { r.brake = b } }

// WithBackoff sets the time until the first repetition after an error, which doubles with every further error up to
// most. Default: 1 second and 1 minute.
func WithBackoff(first, most time.Duration) ReconcilerOption {
	return func(r *Reconciler) { r.backoff = backoff{first: first, most: most} }
}

// WithRecorder sets the recorder of events. Default: the API server's events, source managed/<controller name> (R203).
func WithRecorder(er event.Recorder) ReconcilerOption { return func(r *Reconciler) { r.recorder = er } }

// WithMetrics sets the metrics. Default: controller-runtime's registry, which its managers serve.
func WithMetrics(m *telemetry.Metrics) ReconcilerOption {
	return func(r *Reconciler) { r.instruments.metrics = m }
}

// WithTracerProvider sets where spans of each pass and of each call to the external system are recorded. Default:
// OpenTelemetry's global provider, which records nothing unless the program sets another.
func WithTracerProvider(p trace.TracerProvider) ReconcilerOption {
	return func(r *Reconciler) { r.instruments.spans = p }
}

// WithLogger sets the logger. Default: the manager's.
func WithLogger(l logr.Logger) ReconcilerOption { return func(r *Reconciler) { r.log = l } }

// WithClock sets the clock. Default: time.Now.
func WithClock(now func() time.Time) ReconcilerOption { return func(r *Reconciler) { r.now = now } }

// WithRandom sets the source of jitter: numbers in [0, 1). Default: math/rand.
func WithRandom(random func() float64) ReconcilerOption {
	return func(r *Reconciler) { r.random = random }
}

type noConnecter struct{}

func (noConnecter) Connect(context.Context, resource.Managed) (ExternalClient, error) {
	return nil, errors.New("this controller was set up without an external connecter")
}

// resync is how often every object is reconciled although nothing changed, also one that needs manual intervention (R223).
const resync = time.Hour

// CacheOptions returns options for a manager's cache that hold what the reconciler reads and no more: of all Secrets
// only connection Secrets, and no managed fields. Objects are reconciled every hour although nothing changed.
func CacheOptions() cache.Options {
	period := resync
	return cache.Options{
		SyncPeriod:       &period,
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: {Field: fields.OneTermEqualSelector("type", string(xpv1.SecretTypeConnection))},
		},
	}
}
