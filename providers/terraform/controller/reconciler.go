// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller serves resource types of Terraform providers, as TerraformProviders declare.
package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
	"github.com/bowline-dev/bowline/pkg/telemetry"
	"github.com/bowline-dev/bowline/pkg/terraform/journal"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/pkg/terraform/mirror"
	"github.com/bowline-dev/bowline/pkg/terraform/plugin"
	"github.com/bowline-dev/bowline/pkg/terraform/state"
	"github.com/bowline-dev/bowline/providers/terraform/apis/v1alpha1"
)

// lookInterval is how often the folders are looked at without an event, for another binary of a provider.
const lookInterval = time.Minute

// startTimeout bounds how long a provider may take until it can be asked for its schemas, and readTimeout how long it may take to return them.
// All other TerraformProviders wait meanwhile.
const (
	startTimeout = 20 * time.Second
	readTimeout  = time.Minute
)

// mostPause is the longest pause before a binary that failed is started again without a change. The first is lookInterval; each is twice the last.
const mostPause = 10 * time.Minute

// usersInterval is how often a TerraformProvider under deletion looks for objects of its kinds.
const usersInterval = 2 * time.Second

// conflictDelay is how long the cache gets to follow a write.
const conflictDelay = 200 * time.Millisecond

// Finalizer keeps a TerraformProvider while there are objects of its kinds, which nothing would delete without it.
const Finalizer = "tf.bowline.dev/in-use"

// Options are what the machine of the controllers decides.
type Options struct {
	// Folders have the binaries of providers. Nothing else is run.
	Folders []string
	// Mirror is asked for packages that no folder has. Default: none, and nothing is downloaded.
	Mirror mirror.Config
	// Journal is the folder of the notes about changes. Default: none, and a kill during a change may need a person.
	Journal string
	// Namespace has the Secrets with states.
	Namespace string
}

// A Reconciler serves the resource types of TerraformProviders.
type Reconciler struct {
	Options
	client    client.Client
	live      client.Reader
	setup     *provider.Setup // of the provider that has the TerraformProviders
	store     *state.Store
	journal   *journal.Journal
	downloads *mirror.Downloads // nil for none

	events  event.Recorder
	metrics *telemetry.Metrics
	changed changes // of processes
	hashes  hashes

	serving map[string]*served // by the name of the TerraformProvider, for one reconcile at a time
}

// New returns a reconciler whose kinds have the options of a provider's.
func New(s *provider.Setup, o Options) (*Reconciler, error) {
	mgr := s.Manager()
	r := &Reconciler{Options: o, client: mgr.GetClient(), live: mgr.GetAPIReader(), setup: s, serving: map[string]*served{},
		store:   state.NewStore(unstructured.ClientOf(mgr), mgr.GetAPIReader(), o.Namespace),
		changed: changes{started: make(chan struct{})}, hashes: hashes{},
		events: event.NewAPIRecorder(mgr.GetClient(), mgr.GetAPIReader(), "terraform")}
	var failed, err error
	if r.metrics, failed = telemetry.NewMetrics(metrics.Registry); failed == nil && o.Journal != "" {
		r.journal, failed = journal.Open(o.Journal)
	}
	if o.Mirror.URL != "" {
		r.downloads, err = mirror.New(o.Mirror)
	}
	return r, errors.Join(failed, err)
}

// Start adds the controller, one reconcile at a time: a process of a large provider takes much memory.
func (r *Reconciler) Start() error {
	err := r.setup.Controller(v1alpha1.TerraformProviderGroupVersionKind, 1).
		For(&v1alpha1.TerraformProvider{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(r.changed.source()).
		Complete(r)
	if err != nil {
		return err
	}
	mgr := r.setup.Manager()
	if r.downloads != nil {
		err = mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
			<-ctx.Done()
			r.downloads.Stop()
			return nil
		}))
	}
	return errors.Join(err, mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		if err := plugin.RemoveLeftFolders(); err != nil {
			mgr.GetLogger().Info("Cannot remove what providers left in the folder for temporary files", "error", err.Error())
		}
		return r.store.Sweep(ctx, mgr.GetLogger(), r.journal.Discard)
	})))
}

// ReasonServedInPart is the reason of condition Ready while a binary of the provider is in use, and something about the spec is wrong or
// unfinished: the kinds in the status are served.
const ReasonServedInPart xpv1.ConditionReason = "ServedInPart"

// Reconcile serves what a TerraformProvider declares, and reports it.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	of := &v1alpha1.TerraformProvider{}
	if err := r.client.Get(ctx, req.NamespacedName, of); err != nil {
		if apierrors.IsNotFound(err) {
			r.abandon(req.Name)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	before := of.DeepCopy()
	if of.DeletionTimestamp == nil && controllerutil.AddFinalizer(of, Finalizer) {
		return reconcile.Result{RequeueAfter: time.Millisecond}, client.IgnoreNotFound(r.client.Patch(ctx, of, client.MergeFrom(before)))
	}
	ready := xpv1.Available()
	users, err := r.users(ctx, of)
	var wanted wish
	if err == nil {
		wanted, err = r.wishOf(ctx, of)
	}
	switch {
	case err != nil:
		return reconcile.Result{}, err
	case of.DeletionTimestamp != nil && users == "":
		controllerutil.RemoveFinalizer(of, Finalizer)
		return reconcile.Result{}, client.IgnoreNotFound(r.client.Patch(ctx, of, client.MergeFrom(before)))
	}
	status, err := r.serve(ctx, wanted) // also while it is being deleted: its objects need it
	if users != "" {
		waits := fmt.Errorf("deletion waits for objects of its kinds, such as %s: delete them first", users)
		if err != nil {
			waits = fmt.Errorf("%w; %w", waits, err)
		}
		err = waits
	}
	if err != nil {
		ready = xpv1.Unavailable().WithMessage(err.Error())
	}
	if err != nil && status.Binary != "" {
		ready.Reason = ReasonServedInPart
	}
	if status.Binary != "" { // else it goes on as it was
		status.Conditions = of.Status.Conditions
		of.Status = status
	}
	ready.ObservedGeneration = of.Generation
	if former := of.GetCondition(xpv1.TypeReady); former.Status == ready.Status && former.Reason == ready.Reason {
		ready.LastTransitionTime = former.LastTransitionTime
	}
	of.SetConditions(ready)
	unsteady, news := r.withProcesses(of, before.Status)
	if !equality.Semantic.DeepEqual(before.Status, of.Status) {
		err := r.client.Status().Patch(ctx, of, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		if apierrors.IsConflict(err) { // processes change more quickly than the cache
			return reconcile.Result{RequeueAfter: conflictDelay}, nil
		}
		if err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
	}
	if news {
		r.emit(ctx, of, unsteady)
	}
	if of.DeletionTimestamp != nil {
		return reconcile.Result{RequeueAfter: usersInterval}, nil
	}
	if wait, ok := errors.AsType[*mirror.WaitError](err); ok {
		return reconcile.Result{RequeueAfter: min(wait.After, lookInterval)}, nil
	}
	return reconcile.Result{RequeueAfter: lookInterval}, nil
}

// users names an object of the kinds of a TerraformProvider under deletion: empty if there is none.
func (r *Reconciler) users(ctx context.Context, of *v1alpha1.TerraformProvider) (string, error) {
	if of.DeletionTimestamp == nil {
		return "", nil
	}
	for _, kind := range of.Status.Kinds {
		if user, err := r.user(ctx, of.Name, kind); user != "" || err != nil {
			return user, err
		}
	}
	return "", nil
}

// user names an object of a kind, as the API server has it now: empty if there is none. An API server that has just started may not know a
// kind yet: there are no objects only where there is no definition either.
func (r *Reconciler) user(ctx context.Context, of string, kind v1alpha1.ServedKind) (string, error) {
	definitions := kinds.DefinitionNames(of, kind.Type)
	for i, scope := range []apiextensionsv1.ResourceScope{apiextensionsv1.ClusterScoped, apiextensionsv1.NamespaceScoped} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: kinds.Group(of, scope), Version: kinds.Version, Kind: kind.Kind + "List"})
		err := r.live.List(ctx, list, client.Limit(1))
		if apimeta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
			if _, absent := r.installed(ctx, definitions[i]); apierrors.IsNotFound(absent) {
				continue
			}
		}
		if err != nil {
			return "", fmt.Errorf("looking for objects of kind %s: %w", kind.Kind, err)
		}
		if len(list.Items) > 0 {
			return kind.Kind + " " + strings.TrimPrefix(client.ObjectKeyFromObject(&list.Items[0]).String(), "/"), nil
		}
	}
	return "", nil
}
