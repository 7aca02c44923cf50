// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/bowline-dev/bowline/pkg/clients/limits"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
)

// LabelKeyWorkload is on everything that Bowline has in a cluster for applications. Its value is the UID of the
// KubernetesApplicationResource, or LabelPrefixCopy and the UID of its namespace for copies of Secrets, which several of these may share.
const (
	LabelKeyWorkload = "bowline.dev/workload"
	LabelPrefixCopy  = "copy-"
)

// callTimeout bounds each request but watches.
const callTimeout = 10 * time.Second

// A Cluster is the API server of a target. It is safe for concurrent use.
type Cluster struct {
	// Namespace of namespaced objects that name none.
	Namespace string

	mapper   meta.RESTMapper
	mappings sync.Map      // *meta.RESTMapping by kind
	finding  chan struct{} // full while the mapper works
	client   dynamic.Interface
	kinds    discovery.ServerResourcesInterface
	watches
}

// open makes no request.
func (c *Clusters) open(kubeconfig []byte, by *limits.Limiter) (*Cluster, error) {
	config, namespace, err := parse(kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // the limiter bounds what is in flight
	config.UserAgent = "bowline"
	config.WarningHandlerWithContext = rest.NoWarnings{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		if c.wrap != nil {
			next = c.wrap(next)
		}
		return by.Transport(next)
	})
	unusable := func(err error) (*Cluster, error) {
		return nil, failure.ForTeam(failure.InvalidSettings, "the kubeconfig of the target cannot be used: its server, certificates or credentials "+
			"are malformed", fmt.Errorf("opening the cluster: %w", err))
	}
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return unusable(err)
	}
	bounded := *transport
	bounded.Timeout = callTimeout
	config = dynamic.ConfigFor(config)
	dynamicClient, err := dynamic.NewForConfigAndClient(config, transport)
	if err != nil {
		return unusable(err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, &bounded)
	if err != nil {
		return unusable(err)
	}
	kinds, err := discovery.NewDiscoveryClientForConfigAndClient(config, &bounded)
	if err != nil {
		return unusable(err)
	}
	return &Cluster{Namespace: namespace, mapper: mapper, finding: make(chan struct{}, 1), client: dynamicClient, kinds: kinds,
		watches: newWatches(dynamicClient, c.log, c.wake)}, nil
}

// An Object identifies an object of a cluster.
type Object struct {
	schema.GroupVersionResource
	Kind      string
	Namespace string // empty for cluster-scoped objects
	Name      string
}

// String names the object for people.
func (o Object) String() string {
	kind := o.Kind
	if o.Group != "" {
		kind += "." + o.Group
	}
	return kind + " " + strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")
}

// findPatience is how long a lookup waits for another one, which a cluster may not answer.
const findPatience = 100 * time.Millisecond

// Find returns the object of a kind and name. Where a namespaced kind comes without a namespace, it is that of the cluster; where a
// cluster-scoped one has one, that is removed. Without a version it is that which the cluster prefers. It fails with a NoMatch error, see
// meta.IsNoMatchError, for a kind that the cluster does not have.
func (c *Cluster) Find(kind schema.GroupVersionKind, namespace, name string) (Object, error) {
	mapping, err := c.mapping(kind)
	if err != nil {
		return Object{}, classify(err)
	}
	o := Object{GroupVersionResource: mapping.Resource, Kind: kind.Kind, Name: name}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if o.Namespace = namespace; namespace == "" {
			o.Namespace = c.Namespace
		}
	}
	return o, nil
}

// mapping asks one kind at a time, since the mapper does, and lets no other pass wait long for an answer.
func (c *Cluster) mapping(kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	if known, ok := c.mappings.Load(kind); ok {
		return known.(*meta.RESTMapping), nil
	}
	select {
	case c.finding <- struct{}{}:
		defer func() { <-c.finding }()
	case <-time.After(findPatience):
		return nil, failure.Throttled(errFinding, time.Second)
	}
	var versions []string
	if kind.Version != "" {
		versions = append(versions, kind.Version)
	}
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), versions...)
	if err == nil {
		c.mappings.Store(kind, mapping)
	}
	return mapping, err
}

// Serves asks whether the cluster has a kind in its version. An API that does not respond, as one behind a service may, is no answer.
func (c *Cluster) Serves(kind schema.GroupVersionKind) (bool, error) {
	all, err := c.kinds.ServerResourcesForGroupVersion(kind.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, classify(err)
	}
	return slices.ContainsFunc(all.APIResources, func(r metav1.APIResource) bool { return r.Kind == kind.Kind }), nil
}

var errFinding = errors.New("the cluster has not answered yet what kinds it has")

func (c *Cluster) resource(o Object) dynamic.ResourceInterface {
	if o.Namespace == "" {
		return c.client.Resource(o.GroupVersionResource)
	}
	return c.client.Resource(o.GroupVersionResource).Namespace(o.Namespace)
}

// Get returns the object from the API server: nil if it does not exist.
func (c *Cluster) Get(ctx context.Context, o Object) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	live, err := c.resource(o).Get(ctx, o.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, classify(err)
	}
	live.SetManagedFields(nil)
	return live, nil
}

// Create creates an object whose fields belong to an owner, as if that had applied it. It is taken if an object of the name exists.
func (c *Cluster) Create(ctx context.Context, o Object, desired *unstructured.Unstructured, owner string) (live *unstructured.Unstructured, taken bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	live, err = c.resource(o).Create(ctx, desired, metav1.CreateOptions{FieldManager: owner, FieldValidation: metav1.FieldValidationStrict})
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil, true, nil
	case err != nil:
		return nil, false, classify(err)
	}
	live, err = c.upgrade(ctx, o, live, owner)
	return live, false, err
}

// upgrade turns the fields that an owner created into fields that it applied: only those vanish when it no longer declares them.
func (c *Cluster) upgrade(ctx context.Context, o Object, live *unstructured.Unstructured, owner string) (*unstructured.Unstructured, error) {
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(live, sets.New(owner), owner)
	if err == nil && patch != nil {
		live, err = c.resource(o).Patch(ctx, o.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: owner})
	}
	if err != nil {
		return nil, classify(err)
	}
	live.SetManagedFields(nil)
	return live, nil
}

// ApplyOptions are the options of Apply.
type ApplyOptions struct {
	Owner  string // of the fields
	Force  bool   // take fields over from other owners
	DryRun bool   // store nothing
}

// Apply applies an object on the server's side. Fields that the owner created count as applied before.
func (c *Cluster) Apply(ctx context.Context, o Object, desired *unstructured.Unstructured, by ApplyOptions) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	options := metav1.PatchOptions{FieldManager: by.Owner, Force: &by.Force}
	if by.DryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	body, err := json.Marshal(desired.Object)
	if err != nil {
		return nil, fmt.Errorf("writing the object as JSON: %w", err)
	}
	live, err := c.resource(o).Patch(ctx, o.Name, types.ApplyPatchType, body, options)
	if err != nil {
		return nil, classify(err)
	}
	if !by.DryRun && slices.ContainsFunc(live.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == by.Owner && f.Operation == metav1.ManagedFieldsOperationUpdate
	}) { // the process ended after the creation
		if _, err := c.upgrade(ctx, o, live, by.Owner); err != nil {
			return nil, err
		}
		return c.Apply(ctx, o, desired, by)
	}
	live.SetManagedFields(nil)
	return live, nil
}

// Update replaces an object, if it is still in the state from which the desired one was made.
func (c *Cluster) Update(ctx context.Context, o Object, desired *unstructured.Unstructured, owner string) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	live, err := c.resource(o).Update(ctx, desired, metav1.UpdateOptions{FieldManager: owner})
	if err != nil {
		return nil, classify(err)
	}
	live.SetManagedFields(nil)
	return live, nil
}

// Delete begins to delete an object, if it is still the one with this UID. It is gone once Get returns none.
func (c *Cluster) Delete(ctx context.Context, o Object, uid types.UID) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := c.resource(o).Delete(ctx, o.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid},
		PropagationPolicy: new(metav1.DeletePropagationBackground)})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return classify(err)
}

// What teams read of failures. The answer of their cluster to their own object is theirs.
const (
	messageRefused     = "the cluster does not accept the credentials of the target: if it lasts, ask your platform team"
	messageUnreachable = "the cluster of the target cannot be reached at the moment; this is retried: if it lasts, ask your platform team"
	messageLate        = "another process may have taken over meanwhile, and nothing is sent to the cluster; this is retried"
	messageThrottled   = "the cluster of the target accepts no further calls at the moment; this is retried later"
)

// answer is what the cluster answered, for the team.
func answer(status apierrors.APIStatus) string {
	return "the cluster answers: " + objects.Shorten(status.Status().Message, mostAnswer)
}

// mostAnswer is how many bytes of an answer are shown.
const mostAnswer = 512

// classify gives an error of the cluster a reason and a message.
func classify(err error) error {
	status := apierrors.APIStatus(nil)
	notSent, paused := errors.AsType[*limits.NotSentError](err)
	switch {
	case err == nil, meta.IsNoMatchError(err):
		return err
	case errors.Is(err, errFinding):
		return failure.ForTeam(failure.ExternalSystemThrottled, messageUnreachable, err)
	case failure.Of(err).Reason == failure.CallTooLate:
		return failure.ForTeam(failure.CallTooLate, messageLate, err)
	case paused && notSent.Reason == failure.ExternalSystemRefused, apierrors.IsUnauthorized(err):
		return failure.ForTeam(failure.ExternalSystemRefused, messageRefused, err)
	case paused && notSent.Reason == failure.ExternalSystemThrottled, apierrors.IsTooManyRequests(err):
		return failure.ForTeam(failure.ExternalSystemThrottled, messageThrottled, err)
	case !errors.As(err, &status):
		return failure.ForTeam(failure.Of(failure.Unreachable(err)).Reason, messageUnreachable, err)
	case apierrors.IsConflict(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), apierrors.IsInternalError(err), apierrors.IsServiceUnavailable(err), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		return failure.ForTeam(failure.ExternalCallFailed, answer(status), err)
	default:
		return failure.Terminal(failure.ForTeam(failure.InvalidSettings, answer(status), err))
	}
}
