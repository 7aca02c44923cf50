// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package providerconfig keeps ProviderConfigs and their credentials from being deleted while they are in use, and reports
// in condition Ready whether they can be used (N12, K60).
//
//	r := providerconfig.NewReconciler(mgr, v1.ProviderConfigGroupVersionKind,
//		providerconfig.WithUsers(v1.BucketGroupVersionKind, v1.TopicGroupVersionKind),
//		providerconfig.WithSecrets(secrets))
//	return r.SetupWithManager(mgr)
//
// Watches count the users of each ProviderConfig; from the first user on, it and its Secret carry a finalizer. Counts are
// enough to protect, but not to release: when the count is zero or the ProviderConfig is deleted, the API server is asked for
// users of every kind whose definition carries the label bowline.dev/provider-config with the group of the ProviderConfig,
// also of kinds that other processes serve. The finalizers stay if it cannot answer (N29). Each kind of ProviderConfig needs one
// Reconciler, in one process.
//
// A pass may stop between any two writes, each of which is guarded by a resource version. A ProviderConfig records the Secrets
// that it protects before it protects them, and until it has released them. A Secret records each ProviderConfig that protects
// it, since there can be several, of several providers. Removal by force, without the finalizers, leaves that record behind; it is
// removed at once, or when the process starts.
package providerconfig

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/clients"
	"github.com/bowline-dev/bowline/pkg/clients/credentials"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

const (
	// Finalizer protects a ProviderConfig in use (N12).
	Finalizer = "in-use.crossplane.io"
	// SecretFinalizer protects the Secret of a ProviderConfig in use (N29). It differs from Finalizer because the API server
	// demands a slash in finalizers of built-in kinds.
	SecretFinalizer = "in-use.crossplane.io/provider-config"
)

// LabelProviderConfig is a label of the definitions of all kinds whose objects use ProviderConfigs. Its value is the group of
// those ProviderConfigs (N29).
const LabelProviderConfig = "bowline.dev/provider-config"

const (
	defaultPollInterval = 10 * time.Second
	countInterval       = time.Second // between writes of the number of users alone
)

// A Reconciler protects the ProviderConfigs of one kind and counts their users.
type Reconciler struct {
	client  client.Client
	live    client.Reader // past the cache, for decisions that must be certain
	secrets *credentials.Secrets
	clients Clients // may be nil
	kind    schema.GroupVersionKind
	counter *counter
	owns    func(client.Object) bool

	recorder event.Recorder
	log      logr.Logger

	pollInterval time.Duration

	growing    sync.Mutex
	users      []schema.GroupVersionKind
	cache      cache.Cache
	controller controller.Controller // once it is set up

	states sync.Map // of *state by types.NamespacedName
}

// state is what is remembered of a ProviderConfig between passes. It only saves requests, and the wait for the next start where a
// ProviderConfig is removed by force.
type state struct {
	uid     types.UID
	secrets []types.NamespacedName // that it protects

	reported time.Time // last status write
	checked  check     // last one that found users, or failed
}

// A check for users, and what it was made for.
type check struct {
	at      time.Time
	deleted bool
	unused  bool // according to the watches
}

// An Option changes one thing about a Reconciler.
type Option func(*Reconciler)

// WithUsers adds kinds whose objects use the ProviderConfigs. Those in the manager's scheme must satisfy
// resource.ProviderConfigReferencer; others have no Go type (resource/unstructured). Objects of other kinds are not counted in status.users and do not bring the finalizer, but
// keep it from being removed.
func WithUsers(kinds ...schema.GroupVersionKind) Option {
	return func(r *Reconciler) { r.users = append(r.users, kinds...) }
}

// AddUser adds a kind as WithUsers does, to a Reconciler that is set up, also while its manager runs.
func (r *Reconciler) AddUser(kind schema.GroupVersionKind) error {
	r.growing.Lock()
	defer r.growing.Unlock()
	if slices.Contains(r.users, kind) {
		return nil
	}
	r.users = append(r.users, kind)
	return r.controller.Watch(source.Kind(r.cache, unstructured.Example(r.client.Scheme(), kind), r.counter.handler()))
}

// WithSecrets sets the watches of the Secrets with credentials. Default: none; Secrets are then read in each pass.
func WithSecrets(s *credentials.Secrets) Option { return func(r *Reconciler) { r.secrets = s } }

// Clients know whether a ProviderConfig can be used. *clients.Registry is one.
type Clients interface {
	// Check returns why it cannot; called is false before the first call by this process.
	Check(ctx context.Context, config resource.ProviderConfig, of schema.GroupVersionKind) (called bool, err error)
	// OnChange calls back when calls revealed something new.
	OnChange(of schema.GroupVersionKind, callback func(types.NamespacedName))
}

// WithClients sets the source of condition Ready of ProviderConfigs that are not deleted. Default: none is written.
func WithClients(c Clients) Option { return func(r *Reconciler) { r.clients = c } }

// WithShard sets which ProviderConfigs this process reconciles. Default: all.
func WithShard(owns func(config client.Object) bool) Option {
	return func(r *Reconciler) { r.owns = owns }
}

// WithPollInterval sets how often a deleted ProviderConfig is checked for users that no watch reports. Default: 10 seconds.
func WithPollInterval(d time.Duration) Option { return func(r *Reconciler) { r.pollInterval = d } }

// WithRecorder sets the recorder of events. Default: the API server's events, source providerconfig/<controller name>.
func WithRecorder(er event.Recorder) Option { return func(r *Reconciler) { r.recorder = er } }

// NewReconciler returns a reconciler for ProviderConfigs of the given kind. One in the manager's scheme must satisfy
// resource.ProviderConfig; another has no Go type (resource/unstructured).
func NewReconciler(mgr manager.Manager, of schema.GroupVersionKind, o ...Option) *Reconciler {
	name := strings.ToLower(of.GroupKind().String())
	r := &Reconciler{
		client:       unstructured.ClientOf(mgr),
		live:         mgr.GetAPIReader(),
		kind:         of,
		counter:      &counter{kind: of.Kind, counts: map[types.NamespacedName]int64{}},
		recorder:     event.NewAPIRecorder(mgr.GetClient(), mgr.GetAPIReader(), "providerconfig/"+name),
		log:          mgr.GetLogger().WithValues("controller", name),
		pollInterval: defaultPollInterval,
		owns:         func(client.Object) bool { return true },
	}
	_ = r.newConfig() // panic early
	for _, apply := range o {
		apply(r)
	}
	return r
}

// newConfig returns an empty ProviderConfig. It panics for a kind whose Go type is none of ProviderConfigs.
func (r *Reconciler) newConfig() resource.ProviderConfig {
	if !r.client.Scheme().Recognizes(r.kind) {
		return unstructured.NewProviderConfig(r.kind)
	}
	return objects.MustNew[resource.ProviderConfig](r.client.Scheme(), r.kind)
}

// A pass is one reconcile of one ProviderConfig.
type pass struct {
	config resource.ProviderConfig
	key    types.NamespacedName
	users  int64 // according to the watches
	state  *state
	ready  xpv1.Condition // to report; without a type it stays as it is
}

// Reconcile protects a ProviderConfig in use and releases one that is not (N12).
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	config := r.newConfig()
	missing := r.client.Get(ctx, req.NamespacedName, config)
	if client.IgnoreNotFound(missing) != nil {
		return reconcile.Result{}, missing
	}
	if missing == nil && !r.owns(config) {
		return reconcile.Result{}, nil
	}
	loaded, _ := r.states.LoadOrStore(req.NamespacedName, &state{})
	known := loaded.(*state)
	if known.uid != config.GetUID() { // a ProviderConfig was removed; by force if it still protects something
		if err := r.releaseSecrets(ctx, known.uid, known.secrets); err != nil {
			return reconcile.Result{}, err
		}
		*known = state{uid: config.GetUID()}
	}
	if missing != nil {
		r.states.Delete(req.NamespacedName)
		return reconcile.Result{}, nil
	}
	p := &pass{config: config, key: req.NamespacedName, users: r.counter.count(req.NamespacedName), state: known}
	return r.settle(ctx, p, flow.Run(ctx, p, r.lifecycle(p)...))
}

// lifecycle is the order of everything. Read it first.
func (r *Reconciler) lifecycle(p *pass) []flow.Step[*pass] {
	deleted, protected := meta.WasDeleted(p.config), meta.FinalizerExists(p.config, Finalizer)
	switch {
	case p.users > 0 && !deleted:
		return []flow.Step[*pass]{r.protect}
	case !protected && len(protectedSecrets(p.config)) == 0:
		return nil
	case !protected && deleted: // the finalizer was removed by hand and cannot be added again
		return []flow.Step[*pass]{r.release}
	default:
		return []flow.Step[*pass]{r.checkUsers, r.release}
	}
}

func (r *Reconciler) protect(ctx context.Context, p *pass) flow.Outcome {
	return flow.Written("", client.IgnoreNotFound(r.protectAll(ctx, p)))
}

// checkUsers ends the pass if the ProviderConfig has users, or may have some. A check is repeated after the poll interval, or
// when there is another reason for it.
func (r *Reconciler) checkUsers(ctx context.Context, p *pass) flow.Outcome {
	now := check{at: time.Now(), deleted: meta.WasDeleted(p.config), unused: p.users == 0}
	last := p.state.checked
	if rest := last.at.Add(r.pollInterval).Sub(now.at); rest > 0 && now.deleted == last.deleted && now.unused == last.unused {
		return flow.Await(rest, "")
	}
	found, err := r.findUsers(ctx, p.key)
	if err == nil && found.total == 0 {
		return flow.Next()
	}
	p.state.checked = now
	if err != nil {
		r.log.Info("Cannot find out whether a configuration is in use", "object", p.key, "error", err.Error())
		if now.deleted {
			p.notReady(ReasonUsersUnknown, "It cannot be deleted because it is unknown whether it is in use: "+err.Error())
		}
		return flow.Await(r.pollInterval, "")
	}
	if now.deleted {
		p.notReady(ReasonInUse, fmt.Sprintf("It stays because it is in use by %s. Delete them, or let them name another one.", found))
	}
	if o := r.protect(ctx, p); o.End != flow.Continue {
		return o
	}
	if !now.deleted { // the deletion will bring it back
		return flow.Await(0, "")
	}
	return flow.Await(r.pollInterval, "")
}

func (r *Reconciler) release(ctx context.Context, p *pass) flow.Outcome {
	deleted := meta.WasDeleted(p.config)
	o := flow.Written("", client.IgnoreNotFound(r.releaseAll(ctx, p)))
	switch {
	case o.End == flow.Continue && deleted:
		return flow.Vanished()
	case o.Err != nil && o.End != flow.Conflict && deleted:
		p.notReady(ReasonCannotRelease, "It is no longer in use, but a finalizer cannot be removed: "+o.Err.Error())
		return flow.Await(r.pollInterval, "")
	default:
		return o
	}
}

// Reasons of condition Ready, where it is False, and of an event: why a deleted ProviderConfig still exists, and why one cannot be
// used. Those of package failure about the external system are others.
const (
	ReasonInUse         = "InUse"         // objects use it: the message names some of them
	ReasonUsersUnknown  = "UsersUnknown"  // it is unknown whether objects use it
	ReasonCannotRelease = "CannotRelease" // no object uses it, but a finalizer cannot be removed
	ReasonUnusable      = "Unusable"      // by what it declares
)

// Reasons explains the reasons of condition Ready and of events.
func Reasons() []event.Explanation {
	return []event.Explanation{
		event.Explain(ReasonUnusable, "Clients cannot be created from the configuration, for example because its Secret or key is missing.",
			"Read the message. Reconciliation resumes as soon as the configuration or its Secret changes."),
		event.Explain(ReasonInUse, "Objects use the configuration.", "Delete its users, or let them name another configuration."),
		event.Explain(clients.ReasonMassDeletion, "More external resources were to be deleted within a minute than spec.limits.deletionsPerMinute "+
			"permits. Further deletions of the namespace, or of all, are paused, which condition DeletionsPaused shows.",
			"Check what deletes them, then resume all: bowline resume-deletions, which shows how many wait."),
		event.Explain(ReasonUsersUnknown, "The users of the configuration cannot be listed.",
			"Read the message. Usually a kind is installed that cannot be listed."),
		event.Explain(ReasonCannotRelease, "No object uses the configuration, but its finalizer, or that of its Secret, cannot be removed.",
			"Read the message. Usually the controllers lack a right."),
	}
}

// notReady makes settle report why a ProviderConfig cannot be used, or why it still exists though it was deleted.
func (p *pass) notReady(reason xpv1.ConditionReason, message string) {
	p.ready = xpv1.Unavailable().WithMessage(message).WithObservedGeneration(p.config.GetGeneration())
	p.ready.Reason = reason
}

// checkHealth decides condition Ready of a ProviderConfig that is not being deleted. After a start it is not known what the external
// system answered to earlier calls: while objects use the configuration, the condition stays until their next call.
func (r *Reconciler) checkHealth(ctx context.Context, p *pass) {
	if r.clients == nil || meta.WasDeleted(p.config) {
		return
	}
	called, err := r.clients.Check(ctx, p.config, r.kind)
	switch reason := failure.Of(err).Reason; {
	case err != nil && failure.IsSystemOutOfReach(reason):
		p.notReady(reason, err.Error())
	case err != nil:
		p.notReady(ReasonUnusable, err.Error())
	case called || p.users == 0 || !failure.IsSystemOutOfReach(p.config.GetCondition(xpv1.TypeReady).Reason):
		p.ready = xpv1.Available().WithObservedGeneration(p.config.GetGeneration())
		if !called && p.users == 0 {
			p.ready.Message = "No object uses it, so the external system was not asked whether it accepts the credentials."
		}
	}
}

// settle writes status and event, and chooses when to requeue.
func (r *Reconciler) settle(ctx context.Context, p *pass, o flow.Outcome) (reconcile.Result, error) {
	p.state.secrets = protectedSecrets(p.config)
	if o.End != flow.Conflict && o.End != flow.Gone {
		r.checkHealth(ctx, p)
		delay, err := r.report(ctx, p)
		if client.IgnoreNotFound(err) != nil {
			o = flow.Written("", errors.Join(o.Err, err))
		}
		if delay > 0 && o.Err == nil && (o.After == 0 || delay < o.After) {
			o = flow.Await(delay, "")
		}
	}
	return o.Result(o.After)
}

// report writes the status if it changed, and emits an event if the reason did. The number of users alone is written at most
// once per interval, so that a thousand new users do not cause a thousand writes; delay is how much of it is left.
func (r *Reconciler) report(ctx context.Context, p *pass) (delay time.Duration, err error) {
	before := p.config.GetCondition(xpv1.TypeReady)
	known := p.ready.Type == "" || p.ready.Equal(before)
	if rest := time.Until(p.state.reported.Add(countInterval)); known && rest > 0 && p.config.GetUsers() != p.users {
		return rest, nil
	}
	written, err := flow.Report(ctx, r.client, p.config, func() {
		p.config.SetUsers(p.users)
		if !known {
			p.config.SetConditions(p.ready)
		}
		clients.EndPauses(p.config, r.kind)
	})
	if !written || err != nil {
		return 0, err
	}
	p.state.reported = time.Now()
	if !known && p.ready.Reason != before.Reason && p.ready.Status == corev1.ConditionFalse {
		flow.Emit(ctx, r.recorder, r.log, p.config, event.Warning(event.Reason(p.ready.Reason), errors.New(p.ready.Message)))
	}
	return 0, nil
}
