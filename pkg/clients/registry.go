// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/clients/credentials"
	"github.com/bowline-dev/bowline/pkg/clients/limits"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/redact"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
	"github.com/bowline-dev/bowline/pkg/telemetry"
)

// A ConfigKind is a kind of ProviderConfig.
type ConfigKind struct {
	Object     resource.ProviderConfig // an empty one
	Kind       schema.GroupVersionKind
	Namespaced bool
}

// A Registry holds the clients, limits and credentials of the ProviderConfigs of a provider in one manager.
type Registry struct {
	mgr     ctrl.Manager
	client  client.Client // reads from the cache
	configs []ConfigKind
	groupOf func(schema.GroupKind) string
	secrets *credentials.Secrets
	limits  *limits.Registry
	metrics *telemetry.Metrics
	brake   brake
	ctx     context.Context // ends with the manager

	declared sync.Map // *declaration by limits.Key

	mu      sync.Mutex
	pools   map[any]pool // by Factory
	stopped bool

	listening sync.RWMutex // of its own, since clients may make calls while mu is held
	listeners []listener
}

// A listener is called about the health of the ProviderConfigs of a kind.
type listener struct {
	kind       schema.GroupKind
	onlyFaults bool // that begin or end
	changed    func(types.NamespacedName)
}

type pool interface {
	failure(key limits.Key, from limits.Version) error
	forget(key limits.Key)
	stop(ctx context.Context)
}

// stopTime is how long the end of the manager waits for clients that stop. It is less than the manager waits.
const stopTime = 25 * time.Second

// NewRegistry returns a registry for the given kinds of ProviderConfigs. groupOf returns the group of the ProviderConfigs that
// objects of a managed kind use (N29). The options are for the credentials: without any, no variable or file of the process is offered.
// All clients are closed when the manager stops.
func NewRegistry(mgr ctrl.Manager, configs []ConfigKind, groupOf func(managed schema.GroupKind) string,
	o ...credentials.Option) (*Registry, error) {
	secrets, failed := credentials.NewSecrets(mgr, o...)
	counters, err := telemetry.NewMetrics(metrics.Registry)
	if err := errors.Join(failed, err); err != nil {
		return nil, err
	}
	running, cancel := context.WithCancel(context.Background())
	r := &Registry{
		mgr: mgr, client: unstructured.ClientOf(mgr), configs: configs, groupOf: groupOf, secrets: secrets, limits: limits.NewRegistry(),
		metrics: counters, ctx: running, pools: map[any]pool{},
	}
	r.limits.OnChange = r.healthChanged
	secrets.OnServed(r.retry)
	return r, mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		cancel()
		r.mu.Lock()
		r.stopped = true
		pools := maps.Clone(r.pools)
		r.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer cancel()
		var stopping sync.WaitGroup
		for _, p := range pools {
			stopping.Go(func() { p.stop(ctx) })
		}
		stopping.Wait()
		return nil
	}))
}

// healthChanged calls the listeners of a ProviderConfig, within a call of the external system: they must not block.
func (r *Registry) healthChanged(config limits.Key, fault bool) {
	r.listening.RLock()
	defer r.listening.RUnlock()
	for _, l := range r.listeners {
		if l.kind == (schema.GroupKind{Group: config.Group, Kind: config.Kind}) && (fault || !l.onlyFaults) {
			l.changed(types.NamespacedName{Namespace: config.Namespace, Name: config.Name})
		}
	}
}

// panicked logs and counts a panic of a Factory's function, under the kind of the ProviderConfig. The cause may contain credentials.
func (r *Registry) panicked(config limits.Key, call string) {
	kind := schema.GroupKind{Group: config.Group, Kind: config.Kind}
	r.metrics.Panicked(strings.ToLower(kind.String()))
	r.mgr.GetLogger().Error(nil, "The provider's code panicked", "call", call, "config", config.String(), "stack", string(debug.Stack()))
}

// Secrets reads the Secrets with credentials.
func (r *Registry) Secrets() *credentials.Secrets { return r.secrets }

func (r *Registry) pool(factory any, create func() pool) pool {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, ok := r.pools[factory]
	if !ok {
		p = create()
		r.pools[factory] = p
		if r.stopped {
			p.stop(r.ctx)
		}
	}
	return p
}

// forget drops all knowledge of a ProviderConfig that was deleted.
func (r *Registry) forget(key limits.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.pools {
		p.forget(key)
	}
	r.limits.Forget(key)
	r.brake.forget(key)
	r.declared.Delete(key)
}

// find reads the ProviderConfig that an object uses, and its credentials, from caches (R227 to R229, R231, R232, N2).
func (r *Registry) find(ctx context.Context, mg resource.Managed) (*config, error) {
	kind, object, err := r.read(ctx, mg)
	if err != nil {
		return nil, failure.With(failure.ProviderConfigUnavailable, err)
	}
	c, err := r.resolve(ctx, kind, object)
	return c, failure.With(failure.ProviderConfigUnavailable, err)
}

// read returns the ProviderConfig that an object uses, from the cache: it must not be changed.
func (r *Registry) read(ctx context.Context, mg resource.Managed) (schema.GroupVersionKind, client.Object, error) {
	kind, err := r.kindFor(mg)
	if err != nil {
		return kind.Kind, nil, err
	}
	key := types.NamespacedName{Name: resource.ProviderConfigName(mg)}
	if kind.Namespaced {
		key.Namespace = mg.GetNamespace()
	}
	object := kind.Object.DeepCopyObject().(client.Object)
	if err := r.client.Get(ctx, key, object, client.UnsafeDisableDeepCopy); err != nil {
		return kind.Kind, nil, fmt.Errorf("cannot get %s %q: %w", kind.Kind.Kind, key.Name, err)
	}
	return kind.Kind, object, nil
}

// Labels returns the labels of the ProviderConfig that an object uses: none if there is none.
func (r *Registry) Labels(ctx context.Context, mg resource.Managed) (map[string]string, error) {
	_, object, err := r.read(ctx, mg)
	if object == nil {
		return nil, client.IgnoreNotFound(err)
	}
	return object.GetLabels(), nil
}

// resolve reads what a ProviderConfig refers to.
func (r *Registry) resolve(ctx context.Context, kind schema.GroupVersionKind, object client.Object) (*config, error) {
	name := fmt.Sprintf("%s %q", kind.Kind, object.GetName())
	key := keyOf(kind, client.ObjectKeyFromObject(object))
	declared, err := r.declarationOf(key, object)
	if err != nil {
		return nil, fmt.Errorf("cannot use %s: %w", name, err)
	}
	c := &config{declaration: declared, name: name, key: key}
	if c.Credential, err = r.secrets.Extract(ctx, object.GetNamespace(), c.Credentials); err != nil {
		return nil, fmt.Errorf("cannot get credentials of %s: %w", name, err)
	}
	if c.inputs, c.deleted, err = r.secrets.Inputs(ctx, object.GetNamespace(), declared.spec); err != nil {
		return nil, fmt.Errorf("cannot get settings of %s: %w", name, err)
	}
	c.version = c.hash()
	return c, nil
}

// declarationOf reads the spec of a ProviderConfig once for all passes that find it unchanged.
func (r *Registry) declarationOf(key limits.Key, object client.Object) (*declaration, error) {
	known, ok := r.declared.Load(key)
	if d, _ := known.(*declaration); ok && d.uid == object.GetUID() && d.resourceVersion == object.GetResourceVersion() {
		return d, nil
	}
	d, err := &declaration{uid: object.GetUID(), resourceVersion: object.GetResourceVersion()}, error(nil)
	if d.ProviderSpec, d.spec, err = credentials.SpecOf(object); err != nil {
		return nil, err
	}
	if err := credentials.CheckEndpoint(d.spec); err != nil {
		return nil, err
	}
	r.declared.Store(key, d)
	return d, nil
}

// retry ends the pause of calls of the ProviderConfigs whose credentials belong to a server that is ready again. Changed credentials need
// none: their calls have a circuit of their own.
func (r *Registry) retry(secret types.NamespacedName) {
	r.eachUser(secret, func(config limits.Key) { r.limits.Retry(config) })
}

// eachUser calls do for the ProviderConfigs whose credentials are in a Secret or file.
func (r *Registry) eachUser(secret types.NamespacedName, do func(limits.Key)) {
	for _, kind := range r.configs {
		configs, err := credentials.Users(r.ctx, r.client, kind.Kind, secret)
		if err != nil {
			r.mgr.GetLogger().Error(err, "Cannot find the provider configurations of a Secret", "secret", secret)
		}
		for _, config := range configs {
			do(keyOf(kind.Kind, client.ObjectKeyFromObject(config)))
		}
	}
}

// OnChange adds a callback for ProviderConfigs of a kind about which calls revealed something new, see Check.
func (r *Registry) OnChange(kind schema.GroupVersionKind, callback func(types.NamespacedName)) {
	r.listen(listener{kind: kind.GroupKind(), changed: callback})
}

func (r *Registry) listen(l listener) {
	r.listening.Lock()
	defer r.listening.Unlock()
	r.listeners = append(r.listeners, l)
}

// Check returns why a ProviderConfig cannot be used: by what it declares, because no client can be created, and by what the external
// system answered to the calls of this process, of which called is false before the first.
func (r *Registry) Check(ctx context.Context, config resource.ProviderConfig, of schema.GroupVersionKind) (called bool, err error) {
	c, err := r.resolve(ctx, of, config)
	if err != nil {
		return false, err
	}
	if c.Deleted {
		c.deleted = "credentials.secretRef"
	}
	if c.deleted != "" { // users go on with it: where their namespace is deleted, they need it to be deleted
		return false, fmt.Errorf("a Secret is being deleted and exists only as long as %s is in use: name another one in spec.%s", c.name, c.deleted)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.pools {
		if err := p.failure(c.key, c.version); err != nil {
			return true, c.cannotCreate(err)
		}
	}
	return r.limits.Check(c.key, c.version)
}

// kindFor returns the kind of ProviderConfig that an object uses (N2).
func (r *Registry) kindFor(mg resource.Managed) (ConfigKind, error) {
	gvk, err := apiutil.GVKForObject(mg, r.mgr.GetScheme())
	if err != nil {
		return ConfigKind{}, fmt.Errorf("finding the kind of the object: %w", err)
	}
	group, kind := r.groupOf(gvk.GroupKind()), resource.ProviderConfigKind(mg)
	for _, c := range r.configs {
		if c.Kind.Group == group && c.Kind.Kind == kind {
			return c, nil
		}
	}
	return ConfigKind{}, fmt.Errorf("kind %s has no provider configurations of kind %q: set spec.providerConfigRef.kind to %s or %s",
		gvk.GroupKind(), kind, xpv1.ProviderConfigKind, xpv1.ClusterProviderConfigKind)
}

func keyOf(kind schema.GroupVersionKind, name types.NamespacedName) limits.Key {
	return limits.Key{Group: kind.Group, Kind: kind.Kind, Namespace: name.Namespace, Name: name.Name}
}

// A declaration is the spec of one version of a ProviderConfig. All passes share it: it must not change.
type declaration struct {
	uid             types.UID
	resourceVersion string
	xpv1.ProviderSpec
	spec []byte // as JSON
}

// A config is everything that a client is created from.
type config struct {
	*declaration
	credentials.Credential

	inputs  map[string][]byte // of fields that refer to Secrets, by path
	deleted string            // path of one whose Secret is being deleted; empty for none
	name    string            // in messages
	key     limits.Key
	version limits.Version
}

// cannotCreate describes why there is no client.
func (c *config) cannotCreate(err error) error {
	return failure.Redact(fmt.Errorf("cannot create client of %s: %w", c.name, err), c.secretValues()...)
}

// pollInterval of the users of the ProviderConfig; zero if it sets none.
func (c *config) pollInterval() time.Duration {
	return ptr.Deref(c.PollInterval, metav1.Duration{}).Duration
}

// adoption returns the rules for users in a namespace, which is empty for cluster-scoped users.
func (c *config) adoption(namespace string) resource.Adoption {
	if c.key.Namespace != "" {
		namespace = ""
	}
	return resource.Adoption{Of: c.name, Policy: c.Adoption, Names: c.AdoptableNames, Namespace: namespace}
}

// hash returns the version of the config, which two objects of one name never share. The generation of an object is no
// substitute: it changes with a deletion, and not with the credentials.
func (c *config) hash() limits.Version {
	h := sha256.New()
	add := func(part []byte) {
		h.Write(binary.AppendUvarint(nil, uint64(len(part))))
		h.Write(part)
	}
	add([]byte(c.uid))
	add(c.spec)
	add(c.Value)
	for _, values := range []map[string][]byte{c.Secret, c.inputs} {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			add([]byte(key))
			add(values[key])
		}
	}
	return limits.Version(h.Sum(nil))
}

// secretValues are the credentials and the other values of their Secret that may be secrets.
func (c *config) secretValues() [][]byte {
	return append(slices.AppendSeq(redact.Details(c.Secret), maps.Values(c.inputs)), c.Value)
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// A watch enqueues the objects of one kind whose ProviderConfig, credentials or external system changed.
type watch struct {
	*Registry
	group string
	users UserLister
}

// A UserLister returns the objects that use a ProviderConfig of the given name, of any kind; those of its namespace, if it has one.
type UserLister func(ctx context.Context, config types.NamespacedName) ([]reconcile.Request, error)

// Watch makes a controller requeue objects when their ProviderConfig, of the given group, or its credentials change, and when the
// external system gets out of reach or is in reach again. also accepts further changes of ProviderConfigs.
func (r *Registry) Watch(b *builder.Builder, group string, users UserLister, also ...predicate.Predicate) {
	w := watch{Registry: r, group: group, users: users}
	b.WatchesRawSource(source.Func(w.listen))
	for _, kind := range r.configs {
		if kind.Kind.Group == group {
			b.Watches(unstructured.Plain(kind.Object), w.configChanges(kind), builder.WithPredicates(
				predicate.Or(append(also, predicate.GenerationChangedPredicate{}, deletionsResumed())...)))
		}
	}
}

// deletionsResumed accepts updates of ProviderConfigs by which a person resumes deletions.
func deletionsResumed() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false }, DeleteFunc: func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			// Also if their values have no effect, which the users report.
			return !maps.Equal(meta.ResumeAnnotations(e.ObjectOld), meta.ResumeAnnotations(e.ObjectNew))
		},
	}
}

func (w watch) configChanges(kind ConfigKind) handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			w.enqueueUsers(ctx, client.ObjectKeyFromObject(e.Object), q)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			w.enqueueUsers(ctx, client.ObjectKeyFromObject(e.ObjectNew), q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			w.forget(keyOf(kind.Kind, client.ObjectKeyFromObject(e.Object)))
			w.enqueueUsers(ctx, client.ObjectKeyFromObject(e.Object), q)
		},
	}
}

// listen has one goroutine list the users of what was reported, each ProviderConfig once however often it was reported meanwhile.
func (w watch) listen(ctx context.Context, q queue) error {
	changed := workqueue.NewTyped[types.NamespacedName]()
	context.AfterFunc(ctx, changed.ShutDown)
	go func() {
		for {
			config, stopped := changed.Get()
			if stopped {
				return
			}
			w.enqueueUsers(ctx, config, q)
			changed.Done(config)
		}
	}()
	for _, kind := range w.configs {
		if kind.Kind.Group == w.group {
			w.Registry.listen(listener{kind: kind.Kind.GroupKind(), onlyFaults: true, changed: changed.Add})
		}
	}
	w.secrets.OnChange(func(secret types.NamespacedName) {
		w.eachUser(secret, func(config limits.Key) {
			if config.Group == w.group {
				changed.Add(types.NamespacedName{Namespace: config.Namespace, Name: config.Name})
			}
		})
	})
	return nil
}

// enqueueUsers enqueues the users of a ProviderConfig, and possibly users of another kind with the same name.
func (w watch) enqueueUsers(ctx context.Context, config types.NamespacedName, q queue) {
	users, err := w.users(ctx, config)
	if err != nil && ctx.Err() == nil {
		w.mgr.GetLogger().Error(err, "Cannot find the users of a provider configuration", "config", config)
	}
	for _, user := range users {
		q.Add(user)
	}
}
