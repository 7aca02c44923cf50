// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package credentials reads the credentials of ProviderConfigs from Secrets, environment variables and files.
//
//	secrets, err := credentials.NewSecrets(mgr)
//	key, err := secrets.Extract(ctx, config.GetNamespace(), config.Spec.Credentials)
//
// Each Secret has a watch of its own, from the first read until it has not been read for two hours. So reads cost no request,
// a rotated credential is noticed at once, and no other Secrets are kept in memory (R232, N30). Variables and files are read
// each time. Errors are classified as failure.ProviderConfigUnavailable.
//
// The connection Secret of a managed resource, or of a claim, may have the credentials of the server that it stands for. Then a change
// is reported, too, when that becomes Ready: calls that failed may succeed from then on. Its kind is watched from the first such Secret
// on, if it is in the manager's scheme.
//
// # Access
//
// A ProviderConfig also contains the address to which its credentials are sent, so its author can obtain everything that it may
// refer to. It may therefore refer only to variables and files that the process offers by WithVariables and WithFolders. A
// namespaced ProviderConfig may refer to Secrets of its namespace only.
package credentials

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	informers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

const (
	// syncTimeout bounds how long a read waits for the watch to be established.
	syncTimeout = 10 * time.Second
	// idle is how long a Secret is watched without being read. Every managed resource is polled within an hour, so Secrets in
	// use are read more often.
	idle = 2 * time.Hour
	// fileInterval is how often files in use are read. Mounted Secrets replace whole folders, which a watch of files would miss.
	fileInterval = 10 * time.Second
)

// Secrets reads credentials, those in Secrets through one watch per Secret. It is safe for concurrent use.
type Secrets struct {
	mgr       manager.Manager
	client    kubernetes.Interface
	variables []string // offered to ProviderConfigs
	folders   []string // whose files are offered to ProviderConfigs
	now       func() time.Time

	running   sync.WaitGroup // of the watches
	mu        sync.Mutex
	ctx       context.Context // of the watches; canceled when the manager stops
	watched   map[types.NamespacedName]*watched
	owners    map[schema.GroupVersionKind]bool // kinds of objects that control Secrets, which are watched
	files     map[string]*file                 // by path
	interval  time.Duration                    // between two reads of a file
	swept     time.Time
	listeners []func(types.NamespacedName)
	served    func(types.NamespacedName) // see OnServed
}

type watched struct {
	informer toolscache.SharedIndexInformer
	lastRead time.Time
	stop     context.CancelFunc
	refused  context.Context // ends if the API server does not allow the watch
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
	cfg := rest.CopyConfig(mgr.GetConfig())
	cfg.QPS = -1 // watches need no limit, and a limit without a burst would be refused
	c, err := kubernetes.NewForConfigAndClient(cfg, mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("creating client for secrets: %w", err)
	}
	watchCtx, cancel := context.WithCancel(context.Background())
	s := &Secrets{mgr: mgr, client: c, now: time.Now, ctx: watchCtx, watched: map[types.NamespacedName]*watched{},
		owners: map[schema.GroupVersionKind]bool{}, served: func(types.NamespacedName) {}, files: map[string]*file{}, interval: fileInterval}
	for _, apply := range o {
		apply(s)
	}
	return s, mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		s.watchFiles(ctx)
		s.mu.Lock()
		cancel() // no watch starts after this
		s.mu.Unlock()
		s.running.Wait()
		return nil
	}))
}

// Get returns the Secret from its watch. Callers must not change it.
func (s *Secrets) Get(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	w, err := s.watch(key)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	defer context.AfterFunc(w.refused, cancel)()
	if !w.informer.HasSynced() && !toolscache.WaitForCacheSync(ctx.Done(), w.informer.HasSynced) {
		if refusal := context.Cause(w.refused); refusal != nil {
			s.forget(key, w) // it may be allowed next time
			return nil, fmt.Errorf("secret %s cannot be watched: %w", key, refusal)
		}
		return nil, fmt.Errorf("secret %s cannot be watched: the API server does not answer", key)
	}
	found, ok, err := w.informer.GetStore().GetByKey(key.String())
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, apierrors.NewNotFound(corev1.Resource("secrets"), key.String())
	}
	return found.(*corev1.Secret), nil
}

// OnServed sets the callback, before those of OnChange, for Secrets of which the managed resource or claim becomes Ready. It must be set
// before the manager starts.
func (s *Secrets) OnServed(callback func(types.NamespacedName)) { s.served = callback }

// OnChange registers a callback for Secrets and files that were read and are created, updated or deleted, and for Secrets of which the
// managed resource or claim becomes Ready. A file has the name of its path, without a namespace.
func (s *Secrets) OnChange(callback func(types.NamespacedName)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(s.listeners, callback)
}

// forget stops a watch.
func (s *Secrets) forget(key types.NamespacedName, w *watched) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.stop()
	if s.watched[key] == w {
		delete(s.watched, key)
	}
}

func (s *Secrets) watch(key types.NamespacedName) (*watched, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return nil, fmt.Errorf("watching secret %s: %w", key, s.ctx.Err()) // a pass that ends with the manager reports no failure
	}
	now := s.now()
	s.sweep(now)
	if w := s.watched[key]; w != nil {
		w.lastRead = now
		return w, nil
	}
	informer := informers.NewFilteredSecretInformer(s.client, key.Namespace, 0, toolscache.Indexers{}, func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, key.Name).String()
	})
	changed := func(secret any) {
		s.watchOwner(secret)
		s.report(key)
	}
	_, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: changed,
		UpdateFunc: func(before, after any) {
			if before.(*corev1.Secret).ResourceVersion != after.(*corev1.Secret).ResourceVersion {
				changed(after)
			}
		},
		DeleteFunc: func(any) { s.report(key) },
	})
	if err != nil {
		return nil, fmt.Errorf("watching secret %s: %w", key, err)
	}
	w := &watched{informer: informer, lastRead: now}
	var refuse context.CancelCauseFunc
	w.refused, refuse = context.WithCancelCause(context.Background())
	err = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *toolscache.Reflector, err error) {
		if apierrors.IsForbidden(err) {
			refuse(err)
		}
		toolscache.DefaultWatchErrorHandler(ctx, r, err)
	})
	if err != nil {
		return nil, fmt.Errorf("watching secret %s: %w", key, err)
	}
	ctx, stop := context.WithCancel(s.ctx)
	w.stop = stop
	s.watched[key] = w
	s.running.Go(func() { informer.RunWithContext(ctx) })
	return w, nil
}

func (s *Secrets) report(key types.NamespacedName) {
	s.mu.Lock()
	listeners := s.listeners
	s.mu.Unlock()
	for _, callback := range listeners {
		callback(key)
	}
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

// A Credential is what spec.credentials of a ProviderConfig refers to.
type Credential struct {
	Value   []byte            // in the key, variable or file; nil for a Secret without a key and for sources without a value
	Secret  map[string][]byte // all keys of the Secret; nil for other sources
	Deleted bool              // the Secret is being deleted
}

// Extract returns the credentials of a ProviderConfig in the given namespace, which can only be in a Secret of that namespace; empty
// for a cluster-scoped one (R19, R231, N2).
func (s *Secrets) Extract(ctx context.Context, namespace string, from xpv1.ProviderCredentials) (Credential, error) {
	c, err := s.extract(ctx, namespace, from)
	return c, failure.With(failure.ProviderConfigUnavailable, err)
}

func (s *Secrets) extract(ctx context.Context, namespace string, from xpv1.ProviderCredentials) (c Credential, err error) {
	if err := checkNamespace(namespace, from); err != nil {
		return c, err
	}
	switch from.Source {
	case xpv1.CredentialsSourceSecret:
		if c, err = s.fromSecret(ctx, from.SecretRef); err != nil {
			err = fmt.Errorf("spec.credentials.secretRef: %w", err)
		}
	case xpv1.CredentialsSourceEnvironment:
		c.Value, err = s.fromEnvironment(from.Env)
	case xpv1.CredentialsSourceFilesystem:
		c.Value, err = s.fromFile(from.Fs)
	case xpv1.CredentialsSourceInjectedIdentity, xpv1.CredentialsSourceNone:
	default:
		err = fmt.Errorf("credentials source %q is unknown: use %q", from.Source, xpv1.CredentialsSourceSecret)
	}
	return c, err
}

// checkNamespace keeps a namespaced ProviderConfig from reading anything outside its namespace.
func checkNamespace(namespace string, from xpv1.ProviderCredentials) error {
	if namespace == "" {
		return nil
	}
	switch from.Source {
	case xpv1.CredentialsSourceEnvironment, xpv1.CredentialsSourceFilesystem, xpv1.CredentialsSourceInjectedIdentity:
		return fmt.Errorf("credentials source %q is the controller's own and not for a namespace: use source %q, or a cluster-scoped "+
			"provider configuration", from.Source, xpv1.CredentialsSourceSecret)
	}
	if ref := from.SecretRef; from.Source == xpv1.CredentialsSourceSecret && ref != nil && ref.Namespace != namespace {
		return fmt.Errorf("credentials of a ProviderConfig in namespace %q cannot be in namespace %q: use a secret of its own namespace",
			namespace, ref.Namespace)
	}
	return nil
}

func (s *Secrets) fromSecret(ctx context.Context, ref *xpv1.SecretKeySelector) (c Credential, err error) {
	if ref == nil {
		return c, errors.New("credentials source Secret needs secretRef with namespace, name and key")
	}
	name := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
	secret, err := s.Get(ctx, name)
	switch {
	case apierrors.IsNotFound(err) && s.lacksNamespace(ctx, ref.Namespace):
		return c, fmt.Errorf("namespace %q of secret %s does not exist: create both, or correct the reference", ref.Namespace, name)
	case apierrors.IsNotFound(err):
		return c, fmt.Errorf("secret %s does not exist: create it, or correct the reference", name)
	case err != nil:
		return c, err
	case secret.Type == meta.SecretTypeState:
		return c, fmt.Errorf("secret %s holds the state of an object, to which nothing may refer: name another one", name)
	}
	c = Credential{Value: secret.Data[ref.Key], Secret: secret.Data, Deleted: secret.DeletionTimestamp != nil}
	if ref.Key != "" && len(c.Value) == 0 {
		return c, fmt.Errorf("secret %s has no value for key %q: add it, or correct the reference", name, ref.Key)
	}
	return c, nil
}

// lacksNamespace is true if a namespace certainly does not exist: a provider may lack the right to read namespaces.
func (s *Secrets) lacksNamespace(ctx context.Context, name string) bool {
	_, err := s.client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	return apierrors.IsNotFound(err)
}

func (s *Secrets) fromEnvironment(env *xpv1.EnvSelector) ([]byte, error) {
	if env == nil {
		return nil, errors.New("credentials source Environment needs env with the name of a variable")
	}
	if !slices.Contains(s.variables, env.Name) {
		return nil, fmt.Errorf("environment variable %q is not offered to ProviderConfigs: allow it where the controller is set up, "+
			"by option credentials.WithVariables of the provider", env.Name)
	}
	value := os.Getenv(env.Name)
	if value == "" {
		return nil, fmt.Errorf("environment variable %q of the controller is not set", env.Name)
	}
	return []byte(value), nil
}

// SpecOf returns the spec of a ProviderConfig of any Go type: all of it as JSON, and the part that every one has.
func SpecOf(config client.Object) (common xpv1.ProviderSpec, spec json.RawMessage, err error) {
	content, err := json.Marshal(config)
	if err != nil {
		return common, nil, fmt.Errorf("reading spec: %w", err)
	}
	parsed := struct {
		Spec json.RawMessage `json:"spec"`
	}{json.RawMessage("{}")} // a kind without a Go type may have none
	if err := errors.Join(json.Unmarshal(content, &parsed), json.Unmarshal(parsed.Spec, &common)); err != nil {
		return common, nil, fmt.Errorf("reading spec: %w", err)
	}
	return common, parsed.Spec, nil
}

// CheckEndpoint refuses a spec whose endpoint, a URL or a host name, may contain credentials, since errors and columns show endpoints.
// The schema of a kind refuses more; this is for kinds without such a rule, and for objects that are older than theirs. The error does
// not repeat the endpoint.
func CheckEndpoint(spec json.RawMessage) error {
	var fields map[string]any
	_ = json.Unmarshal(spec, &fields) // which the API server wrote
	if endpoint, ok := fields["endpoint"].(string); ok && strings.ContainsAny(endpoint, "@?#") {
		return failure.New(failure.ProviderConfigUnavailable, "spec.endpoint is more than an address: remove user name, password, query and "+
			"fragment, and put credentials into the Secret that spec.credentials names")
	}
	return nil
}

// fileOf returns the file that spec.credentials of a ProviderConfig refers to, named as by OnChange.
func fileOf(config client.Object) (name types.NamespacedName, ok bool) {
	spec, _, err := SpecOf(config)
	if from := spec.Credentials; err == nil && from.Source == xpv1.CredentialsSourceFilesystem && from.Fs != nil {
		return types.NamespacedName{Name: from.Fs.Path}, config.GetNamespace() == ""
	}
	return name, false
}

// Users returns the ProviderConfigs of a kind whose credentials are in a Secret, or in a file that is named as by OnChange.
func Users(ctx context.Context, c client.Client, kind schema.GroupVersionKind, secret types.NamespacedName) (users []client.Object, err error) {
	all, err := unstructured.List[client.Object](ctx, c, c.Scheme(), unstructured.Example(c.Scheme(), kind))
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", kind.GroupKind(), err)
	}
	for _, config := range all {
		names, _ := SecretsOf(config) // one whose spec cannot be read reports that itself
		if file, is := fileOf(config); slices.Contains(names, secret) || is && file == secret {
			users = append(users, config)
		}
	}
	return users, nil
}
