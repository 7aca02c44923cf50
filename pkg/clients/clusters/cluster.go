// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/bowline-dev/bowline/pkg/clients/limits"
	"github.com/bowline-dev/bowline/pkg/failure"
)

// LabelKeyWorkload is on everything that Bowline has in a cluster for applications. Its value is the UID of the
// KubernetesApplicationResource, or LabelCopy for copies of Secrets, which several of these may share.
const (
	LabelKeyWorkload = "bowline.dev/workload"
	LabelCopy        = "copy"
)

// callTimeout bounds each request but watches.
const callTimeout = 10 * time.Second

// A Cluster is the API server of a target. It is safe for concurrent use.
type Cluster struct {
	// Namespace of namespaced objects that name none.
	Namespace string

	mapper meta.RESTMapper
	client dynamic.Interface
	raw    rest.Interface
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
	config.GroupVersion = &schema.GroupVersion{}
	raw, err := rest.UnversionedRESTClientForConfigAndClient(config, transport)
	if err != nil {
		return unusable(err)
	}
	dynamicClient, err := dynamic.NewForConfigAndClient(config, transport)
	if err != nil {
		return unusable(err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, &bounded)
	if err != nil {
		return unusable(err)
	}
	return &Cluster{Namespace: namespace, mapper: mapper, client: dynamicClient, raw: raw,
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

// Find returns the object of a kind and name. Where a namespaced kind comes without a namespace, it is that of the cluster; where a
// cluster-scoped one has one, that is removed. It fails with a NoMatch error, see meta.IsNoMatchError, for a kind that the cluster does
// not have.
func (c *Cluster) Find(kind schema.GroupVersionKind, namespace, name string) (Object, error) {
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
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

// ApplyOptions are the options of Apply.
type ApplyOptions struct {
	Owner  string // of the fields
	Force  bool   // take fields over from other owners
	DryRun bool   // store nothing
}

// Apply applies an object on the server's side, and reports whether that created it.
func (c *Cluster) Apply(ctx context.Context, o Object, desired *unstructured.Unstructured, by ApplyOptions) (live *unstructured.Unstructured, created bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	body, err := json.Marshal(desired.Object)
	if err != nil {
		return nil, false, fmt.Errorf("writing the object as JSON: %w", err)
	}
	request := c.raw.Patch(types.ApplyPatchType).AbsPath(path(o)...).Param("fieldManager", by.Owner).Body(body)
	if by.Force {
		request.Param("force", "true")
	}
	if by.DryRun {
		request.Param("dryRun", metav1.DryRunAll)
	}
	code, live := 0, &unstructured.Unstructured{}
	result := request.Do(ctx).StatusCode(&code)
	if err := result.Error(); err != nil { // which Raw does not decode
		return nil, false, classify(err)
	}
	answer, err := result.Raw()
	if err == nil {
		err = live.UnmarshalJSON(answer)
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading the answer: %w", err)
	}
	live.SetManagedFields(nil)
	return live, code == http.StatusCreated, nil
}

func path(o Object) []string {
	segments := []string{"apis", o.Group, o.Version}
	if o.Group == "" {
		segments = []string{"api", o.Version}
	}
	if o.Namespace != "" {
		segments = append(segments, "namespaces", o.Namespace)
	}
	return append(segments, o.Resource, o.Name)
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
	messageLate        = "the controllers were about to be replaced by others, which go on"
	messageThrottled   = "the cluster of the target accepts no further calls at the moment; this is retried later"
)

// classify gives an error of the cluster a reason and a message.
func classify(err error) error {
	status := apierrors.APIStatus(nil)
	notSent, paused := errors.AsType[*limits.NotSentError](err)
	switch {
	case err == nil, meta.IsNoMatchError(err):
		return err
	case failure.Of(err).Reason == failure.CallTooLate:
		return failure.ForTeam(failure.CallTooLate, messageLate, err)
	case paused && notSent.Reason == failure.ExternalSystemRefused, apierrors.IsUnauthorized(err):
		return failure.ForTeam(failure.ExternalSystemRefused, messageRefused, err)
	case paused && notSent.Reason == failure.ExternalSystemThrottled, apierrors.IsTooManyRequests(err):
		return failure.ForTeam(failure.ExternalSystemThrottled, messageThrottled, err)
	case !errors.As(err, &status):
		return failure.ForTeam(failure.Of(failure.Unreachable(err)).Reason, messageUnreachable, err)
	case apierrors.IsInternalError(err), apierrors.IsServiceUnavailable(err), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		return failure.ForTeam(failure.ExternalCallFailed, "the cluster answers: "+status.Status().Message, err)
	default:
		return failure.Terminal(failure.ForTeam(failure.InvalidSettings, "the cluster answers: "+status.Status().Message, err))
	}
}
