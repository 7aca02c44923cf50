// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package providerconfig

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bowline-dev/bowline/pkg/clients/credentials"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

const (
	// Finalizer keeps a ProviderConfig while it has users (N12).
	Finalizer = "in-use.crossplane.io"
	// SecretFinalizer keeps a Secret while a ProviderConfig in use names it (N29). It is not the same as Finalizer because
	// the API server takes only names with a slash for the finalizers of its own kinds.
	SecretFinalizer = "in-use.crossplane.io/provider-config"
)

// LabelProviderConfig is carried by the definitions of all kinds whose objects use ProviderConfigs. Its value is the
// group of those ProviderConfigs (N29).
const LabelProviderConfig = "bowline.dev/provider-config"

const (
	defaultPollInterval  = 10 * time.Second
	defaultCountInterval = time.Second
	conflictDelay        = 100 * time.Millisecond
)

// A Reconciler protects the configurations of one kind and shows how many users they have.
type Reconciler struct {
	client  client.Client
	live    client.Reader // past the cache, for what must be certain
	secrets *credentials.Secrets
	kind    schema.GroupVersionKind
	users   []schema.GroupVersionKind
	ledger  *ledger

	recorder event.Recorder
	log      logr.Logger

	pollInterval  time.Duration
	countInterval time.Duration
	now           func() time.Time

	mu      sync.Mutex
	records map[types.NamespacedName]*record
}

// record is what is remembered of one configuration from pass to pass. Without it passes do more than they need.
type record struct {
	counted time.Time // when the number of users was last written
	judged  judgement // the last one by which the configuration stayed
}

// An Option changes one thing about a Reconciler.
type Option func(*Reconciler)

// WithUsers adds kinds whose objects use the configurations. They must be in the manager's scheme, and their objects
// should satisfy resource.ProviderConfigReferencer. Objects of other kinds do not count in status.users and do not bring
// the finalizer, but are looked for before it goes.
func WithUsers(kinds ...schema.GroupVersionKind) Option {
	return func(r *Reconciler) { r.users = append(r.users, kinds...) }
}

// WithSecrets sets who watches the Secrets that hold credentials. Default: nobody; they are then read in each pass.
func WithSecrets(s *credentials.Secrets) Option {
	return func(r *Reconciler) { r.secrets = s }
}

// WithPollInterval sets how often the users of a deleted configuration are looked for that no watch tells of. Default:
// 10 seconds.
func WithPollInterval(d time.Duration) Option {
	return func(r *Reconciler) { r.pollInterval = d }
}

// WithRecorder sets who records events. Default: the API server's events, source providerconfig/<controller name>.
func WithRecorder(er event.Recorder) Option {
	return func(r *Reconciler) { r.recorder = er }
}

// WithLogger sets the logger. Default: the manager's.
func WithLogger(l logr.Logger) Option {
	return func(r *Reconciler) { r.log = l }
}

// WithClock sets where the time comes from. Default: time.Now.
func WithClock(now func() time.Time) Option {
	return func(r *Reconciler) { r.now = now }
}

// NewReconciler returns a reconciler for configurations of the given kind, which must be in the manager's scheme and
// satisfy resource.ProviderConfig.
func NewReconciler(mgr manager.Manager, of schema.GroupVersionKind, o ...Option) *Reconciler {
	name := controllerName(of)
	r := &Reconciler{
		client:        mgr.GetClient(),
		live:          mgr.GetAPIReader(),
		kind:          of,
		ledger:        newLedger(of.Kind),
		recorder:      event.NewAPIRecorder(mgr.GetClient(), mgr.GetAPIReader(), "providerconfig/"+name),
		log:           mgr.GetLogger().WithValues("controller", name),
		pollInterval:  defaultPollInterval,
		countInterval: defaultCountInterval,
		now:           time.Now,
		records:       map[types.NamespacedName]*record{},
	}
	_ = objects.MustNew[resource.ProviderConfig](r.client.Scheme(), of) // a kind that the scheme lacks is to be seen at once
	for _, apply := range o {
		apply(r)
	}
	return r
}

func controllerName(of schema.GroupVersionKind) string {
	return strings.ToLower(of.GroupKind().String())
}

// pass is what one pass knows.
type pass struct {
	config  resource.ProviderConfig
	key     types.NamespacedName
	users   int64 // as the watches count them
	deleted bool
	record  *record
}

// Reconcile protects one configuration while it is in use, and lets it go when it is not (N12).
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	config := objects.MustNew[resource.ProviderConfig](r.client.Scheme(), r.kind)
	if err := r.client.Get(ctx, req.NamespacedName, config); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	p := &pass{
		config:  config,
		key:     req.NamespacedName,
		users:   r.ledger.count(req.NamespacedName),
		deleted: meta.WasDeleted(config),
		record:  r.recordOf(req.NamespacedName),
	}
	return r.settle(ctx, p, r.protect(ctx, p))
}

// protect holds the configuration and its Secret, or lets them go.
func (r *Reconciler) protect(ctx context.Context, p *pass) outcome {
	guarded := meta.FinalizerExists(p.config, Finalizer)
	switch {
	case p.users > 0 && !p.deleted:
		return outcome{err: r.hold(ctx, p)}
	case !guarded && len(heldBy(p.config)) == 0:
		return outcome{}
	case !guarded && p.deleted: // somebody took the finalizer away, and none can be added now
		return p.released(r.release(ctx, p), r.pollInterval)
	}
	now := judgement{at: r.now(), deleted: p.deleted, unused: p.users == 0}
	if rest := now.rest(p.record.judged, r.pollInterval); rest > 0 {
		return outcome{after: rest}
	}
	found, err := r.judge(ctx, p.key)
	switch {
	case err != nil:
		p.record.judged = now
		r.log.Info("Cannot find out whether a configuration is in use", "object", p.key, "error", err.Error())
		return p.unknown(err, r.pollInterval)
	case found.total > 0:
		p.record.judged = now
		return p.inUse(found, r.hold(ctx, p), r.pollInterval)
	default:
		return p.released(r.release(ctx, p), r.pollInterval)
	}
}

// A judgement is when the API server was asked about users, and why.
type judgement struct {
	at      time.Time
	deleted bool
	unused  bool // as the watches count
}

// rest returns for how long an earlier judgement still stands: not at all if the reason to judge is another.
func (j judgement) rest(earlier judgement, interval time.Duration) time.Duration {
	if j.deleted != earlier.deleted || j.unused != earlier.unused {
		return 0
	}
	return earlier.at.Add(interval).Sub(j.at)
}

func (r *Reconciler) recordOf(key types.NamespacedName) *record {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.records[key] == nil {
		r.records[key] = &record{}
	}
	return r.records[key]
}

func (r *Reconciler) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.records, key)
}
