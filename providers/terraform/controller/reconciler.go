// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller serves resource types of Terraform providers, as TerraformProviders declare.
package controller

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kube "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/telemetry"
	"github.com/bowline-dev/bowline/pkg/terraform/external"
	"github.com/bowline-dev/bowline/pkg/terraform/journal"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/pkg/terraform/mirror"
	"github.com/bowline-dev/bowline/pkg/terraform/plugin"
	"github.com/bowline-dev/bowline/pkg/terraform/processes"
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

// served is what this process serves of one TerraformProvider.
type served struct {
	source *processes.Source
	bridge *external.Bridge
	setup  *provider.Setup
	serves bool   // all kinds that there were, if only to say that there is no binary
	of     string // what status was made of
	status v1alpha1.TerraformProviderStatus
	wrong  error   // about settings without an effect, beside which the types are served
	failed attempt // the last one to read the schemas; empty after one that succeeded
}

// An attempt is one that failed.
type attempt struct {
	of    string // as in served
	err   error
	pause time.Duration
	next  time.Time // when the pause is over
}

// New returns a reconciler whose kinds have the options of a provider's.
func New(s *provider.Setup, o Options) (*Reconciler, error) {
	mgr := s.Manager()
	r := &Reconciler{Options: o, client: mgr.GetClient(), live: mgr.GetAPIReader(), setup: s, serving: map[string]*served{},
		store:   state.NewStore(mgr.GetClient(), mgr.GetAPIReader(), o.Namespace),
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
	switch {
	case err != nil:
		return reconcile.Result{}, err
	case of.DeletionTimestamp != nil && users == "":
		controllerutil.RemoveFinalizer(of, Finalizer)
		return reconcile.Result{}, client.IgnoreNotFound(r.client.Patch(ctx, of, client.MergeFrom(before)))
	}
	status, err := r.serve(ctx, of) // also while it is being deleted: its objects need it
	if users != "" {
		err = errors.Join(fmt.Errorf("deletion waits for objects of its kinds, such as %s: delete them first", users), err)
	}
	if err != nil {
		ready = xpv1.Unavailable().WithMessage(err.Error())
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

// user names an object of a kind, as the API server has it now: empty if there is none.
func (r *Reconciler) user(ctx context.Context, of string, kind v1alpha1.ServedKind) (string, error) {
	for _, scope := range []apiextensionsv1.ResourceScope{apiextensionsv1.ClusterScoped, apiextensionsv1.NamespaceScoped} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: kinds.Group(of, scope), Version: kinds.Version, Kind: kind.Kind + "List"})
		err := r.live.List(ctx, list, client.Limit(1))
		if err != nil && !apimeta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
			return "", fmt.Errorf("looking for objects of kind %s: %w", kind.Kind, err)
		}
		if len(list.Items) > 0 {
			return kind.Kind + " " + strings.TrimPrefix(client.ObjectKeyFromObject(&list.Items[0]).String(), "/"), nil
		}
	}
	return "", nil
}

// serve has this process serve the resource types, and returns what there is then: a status without a binary if it cannot. What it served before
// it goes on to serve then; if it served nothing yet, the kinds that are installed are served without a process, so that objects say that nothing
// keeps them as declared.
func (r *Reconciler) serve(ctx context.Context, tp *v1alpha1.TerraformProvider) (v1alpha1.TerraformProviderStatus, error) {
	now := r.serving[tp.Name]
	if now == nil {
		source := &processes.Source{Journal: r.journal, Leaves: journal.Outlives(), Metrics: r.metrics.Terraform(tp.Name),
			Log:     r.setup.Manager().GetLogger().WithValues("terraformprovider", tp.Name),
			Changed: func() { r.changed.enqueue(tp.Name) }}
		now = &served{source: source, bridge: external.NewBridge(tp.Name, source, r.store, r.setup.Manager().GetScheme())}
		r.serving[tp.Name] = now
	}
	status, err := r.serveBinary(ctx, tp, now)
	if err != nil && !now.serves {
		err = errors.Join(err, r.serveInstalled(ctx, tp, now))
	}
	return status, err
}

func (r *Reconciler) serveBinary(ctx context.Context, tp *v1alpha1.TerraformProvider, now *served) (status v1alpha1.TerraformProviderStatus, err error) {
	found, err := r.find(tp.Spec, r.downloads)
	if err != nil {
		return status, err
	}
	if err := check(found.path, tp.Spec.Checksums, r.hashes.of); err != nil {
		if found.path == now.status.Binary {
			now.use(nil) // else its processes would be started again from what nobody allows
		}
		return status, err
	}
	info, err := os.Stat(found.path)
	if err != nil {
		return status, err
	}
	of := fmt.Sprint(found, info.ModTime(), info.Size(), tp.Spec.Types)
	for _, settings := range tp.Spec.TypeSettings {
		of += fmt.Sprint(settings.Type, typeSettingsOf(tp, settings.Type))
	}
	if now.of == of {
		return now.status, now.wrong
	}
	schemas, protocol, err := now.read(ctx, of, found.path, tp.Spec.Types)
	if err != nil {
		return status, err
	}
	if status, err = r.install(ctx, tp, now, schemas); err != nil {
		return status, err
	}
	now.use(&processes.Binary{Path: found.path, Schemas: schemas})
	status.Binary, status.Version, status.Protocol, status.Available = found.path, found.version, protocol, len(schemas.Types)
	now.of, now.status, now.wrong = of, status, checkSettings(tp, schemas)
	return status, now.wrong
}

// use has processes start from a binary, or none.
func (s *served) use(binary *processes.Binary) {
	if binary != nil || s.of != "" {
		s.source.Use(binary)
	}
	s.of = ""
}

// abandon ends the processes of a TerraformProvider that is gone. Objects that exist nevertheless say so.
func (r *Reconciler) abandon(name string) {
	if now := r.serving[name]; now != nil {
		now.use(nil)
		now.source.Metrics.Forget()
	}
}

// serveInstalled serves the kinds that the TerraformProvider had before this process started, as the API server has them.
func (r *Reconciler) serveInstalled(ctx context.Context, tp *v1alpha1.TerraformProvider, now *served) error {
	if len(tp.Status.Kinds) == 0 {
		return nil
	}
	var rows []provider.Kind
	var definitions []*apiextensionsv1.CustomResourceDefinition
	for _, kind := range tp.Status.Kinds {
		both, err := r.installed(ctx, kinds.DefinitionNames(tp.Name, kind.Type)...)
		if err != nil {
			return err
		}
		rows, definitions = append(rows, now.bridge.ServeInstalled(kind.Type, both)...), append(definitions, both...)
	}
	configs, err := r.installed(ctx, kinds.ConfigDefinitionNames(tp.Name)...)
	if err != nil {
		return err
	}
	if err := r.grant(ctx, tp.Name, definitions); err != nil {
		return err
	}
	return r.begin(now, now.bridge.ProviderOf(configs), rows, definitions)
}

// begin has the controllers serve kinds, with those of the configurations before the first.
func (r *Reconciler) begin(now *served, p provider.Provider, rows []provider.Kind, definitions []*apiextensionsv1.CustomResourceDefinition) (err error) {
	if now.setup == nil {
		if now.setup, err = p.Setup(r.setup.Manager(), r.setup.Options()...); err != nil {
			return err
		}
	}
	err = now.setup.Serve(rows, definitions)
	now.serves = now.serves || err == nil
	return err
}

// installed returns definitions by their names, as the API server has them.
func (r *Reconciler) installed(ctx context.Context, names ...string) (all []*apiextensionsv1.CustomResourceDefinition, err error) {
	for _, name := range names {
		read, d := &kube.Unstructured{}, &apiextensionsv1.CustomResourceDefinition{}
		read.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		if err := r.live.Get(ctx, client.ObjectKey{Name: name}, read); err != nil {
			return nil, fmt.Errorf("reading the definition %s: %w", name, err)
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(read.Object, d); err != nil {
			return nil, fmt.Errorf("decoding the definition %s: %w", name, err)
		}
		all = append(all, d)
	}
	return all, nil
}

// read is read, which it does not do again for what failed before the pause after that is over.
func (s *served) read(ctx context.Context, of, binary string, patterns []string) (*plugin.Schemas, int, error) {
	same := s.failed.of == of
	if same && time.Now().Before(s.failed.next) {
		return nil, 0, s.failed.err
	}
	schemas, protocol, err := read(ctx, binary, patterns)
	if err == nil {
		s.failed = attempt{}
		return schemas, protocol, nil
	}
	pause := lookInterval
	if same {
		pause = min(2*s.failed.pause, mostPause)
	}
	s.failed = attempt{of: of, err: err, pause: pause, next: time.Now().Add(pause)}
	return nil, 0, err
}

// read asks a process of the provider for the schemas of the types that some patterns match.
func read(ctx context.Context, binary string, patterns []string) (*plugin.Schemas, int, error) {
	process, err := plugin.Start(ctx, plugin.Command{Path: binary, Timeout: startTimeout})
	if err != nil {
		return nil, 0, err
	}
	defer process.Close()
	defer debug.FreeOSMemory() // the schemas of a large provider are more than all that this process needs otherwise
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	used := map[string]bool{}
	schemas, err := process.Schemas(ctx, func(name string) (any bool) {
		for _, pattern := range patterns {
			if matches, _ := path.Match(pattern, name); matches {
				used[pattern], any = true, true
			}
		}
		return any
	})
	if err != nil {
		return nil, 0, fmt.Errorf("reading the schemas of the provider: %w", err)
	}
	for _, pattern := range patterns {
		if !used[pattern] {
			return nil, 0, fmt.Errorf("the provider has no resource type %s, in spec.types, but %s", pattern, some(schemas.Types))
		}
	}
	return schemas, process.Version, nil
}

// some names a few types in a message.
func some(types []string) string {
	const most = 10
	if more := len(types) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(types[:most], ", "), more)
	}
	return strings.Join(types, ", ")
}

// install applies the definitions, and has the controllers serve their kinds.
func (r *Reconciler) install(ctx context.Context, tp *v1alpha1.TerraformProvider, now *served, schemas *plugin.Schemas) (
	status v1alpha1.TerraformProviderStatus, err error) {
	p, err := now.bridge.Provider(schemas)
	if err != nil {
		return status, err
	}
	var rows []provider.Kind
	var definitions []*apiextensionsv1.CustomResourceDefinition
	var wrong []error
	for _, name := range schemas.Types {
		of := schemas.Resources[name]
		if of == nil {
			continue
		}
		both, defined, err := now.bridge.Serve(schemas.Resource(name), typeSettingsOf(tp, name))
		if err != nil {
			wrong = append(wrong, fmt.Errorf("resource type %s: %w", name, err))
			continue
		}
		rows, definitions = append(rows, both...), append(definitions, defined...)
		status.Kinds = addServed(status.Kinds, name, defined[0].Spec.Names.Kind, of)
	}
	if len(wrong) > 0 { // the others have theirs
		return status, fmt.Errorf("%w; until that is corrected its former settings count, and no further types are served", errors.Join(wrong...))
	}
	for _, former := range tp.Status.Kinds {
		if slices.ContainsFunc(status.Kinds, func(k v1alpha1.ServedKind) bool { return k.Type == former.Type && k.Kind == former.Kind }) {
			continue
		}
		user, err := r.user(ctx, tp.Name, former)
		if err != nil {
			return status, err
		}
		if user != "" {
			return status, fmt.Errorf("resource type %s is served until its objects are deleted, such as %s: add it to spec.types again", former.Type, user)
		}
	}
	if err := r.grant(ctx, tp.Name, definitions); err != nil {
		return status, err
	}
	report, err := crd.Apply(ctx, r.setup.Manager().GetConfig(), slices.Concat(p.Defined, definitions)...)
	if err == nil && len(report.Skipped) > 0 {
		err = errors.New(report.String())
	}
	if err != nil {
		return status, err
	}
	return status, r.begin(now, p, rows, definitions)
}
