// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package secretscope restricts a manager to the Secrets of some namespaces, so that its account needs no rights on others.
package secretscope

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// askPeriod is how often the API server is asked about namespaces that may not be used yet.
const askPeriod = 30 * time.Second

// A Scope is the namespaces whose Secrets a manager uses. A nil Scope is all namespaces.
type Scope struct {
	usable  []string
	refused []string // of those that were chosen; the account may not list Secrets there
	client  kubernetes.Interface
}

// New returns a scope of the chosen namespaces, without any nil. Those in which the account may not use Secrets are left out, since a watch that is refused would
// delay all controllers for ever: such as those of a namespace that was deleted, with the rights in it.
func New(ctx context.Context, config *rest.Config, namespaces ...string) (*Scope, error) {
	if len(namespaces) == 0 {
		return nil, nil
	}
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating client: %w", err)
	}
	s := &Scope{client: c}
	for _, namespace := range namespaces {
		if len(validation.IsDNS1123Label(namespace)) > 0 {
			return nil, fmt.Errorf("--secret-namespaces: %q is not the name of a namespace", namespace)
		}
		may, err := s.may(ctx, namespace)
		switch {
		case err != nil:
			return nil, err
		case may:
			s.usable = append(s.usable, namespace)
		default:
			s.refused = append(s.refused, namespace)
		}
	}
	if len(s.usable) == 0 {
		return nil, fmt.Errorf("the account may not list Secrets in any of the namespaces %s: create a Role there", strings.Join(namespaces, ", "))
	}
	return s, nil
}

// may asks the API server whether Secrets of a namespace can be listed.
func (s *Scope) may(ctx context.Context, namespace string) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "list", Resource: "secrets"},
	}}
	review, err := s.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("asking for the rights on Secrets in namespace %s: %w", namespace, err)
	}
	return review.Status.Allowed, nil
}

// Limit makes a manager watch and read Secrets in these namespaces only. Secrets must be among the cache's ByObject.
func (s *Scope) Limit(o *ctrl.Options) {
	if s == nil {
		return
	}
	for object, by := range o.Cache.ByObject {
		if _, ok := object.(*corev1.Secret); ok {
			by.Namespaces = map[string]cache.Config{}
			for _, namespace := range s.usable {
				by.Namespaces[namespace] = cache.Config{FieldSelector: by.Field}
			}
			o.Cache.ByObject[object] = by
		}
	}
	newClient := o.NewClient
	if newClient == nil {
		newClient = client.New
	}
	o.NewClient = func(config *rest.Config, options client.Options) (client.Client, error) {
		c, err := newClient(config, options)
		if err != nil {
			return nil, err
		}
		return limitedClient{c, limited{c, c.Scheme(), s.usable}}, nil
	}
}

// Reader limits a reader in the same way. A list of Secrets of all namespaces is one of the namespaces in scope, in one page.
func (s *Scope) Reader(r client.Reader, scheme *runtime.Scheme) client.Reader {
	if s == nil {
		return r
	}
	return limited{r, scheme, s.usable}
}

// AddTo reports the namespaces that may not be used in the log and the readiness of a manager. The process ends once one of them may be used,
// to be started again with it.
func (s *Scope) AddTo(mgr manager.Manager) error {
	if s == nil || len(s.refused) == 0 {
		return nil
	}
	refusal := fmt.Errorf("the account may not list Secrets in the namespaces %s (--secret-namespaces): create them with a Role for it, or leave "+
		"them out", strings.Join(s.refused, ", "))
	mgr.GetLogger().Error(refusal, "Secrets of some namespaces are not used")
	return errors.Join(
		mgr.AddReadyzCheck("secret-namespaces", func(*http.Request) error { return refusal }),
		mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
			return wait.PollUntilContextCancel(ctx, askPeriod, false, func(ctx context.Context) (bool, error) {
				for _, namespace := range s.refused {
					if may, err := s.may(ctx, namespace); err == nil && may {
						return false, fmt.Errorf("secrets in namespace %s may be used now: start again", namespace)
					}
				}
				return false, nil
			})
		})))
}

// A limitedClient writes everywhere, as far as its account may.
type limitedClient struct {
	client.Client
	reader limited
}

func (c limitedClient) Get(ctx context.Context, key client.ObjectKey, into client.Object, o ...client.GetOption) error {
	return c.reader.Get(ctx, key, into, o...)
}

func (c limitedClient) List(ctx context.Context, into client.ObjectList, o ...client.ListOption) error {
	return c.reader.List(ctx, into, o...)
}

type limited struct {
	client.Reader
	scheme     *runtime.Scheme
	namespaces []string
}

// isSecret is true for Secrets and lists of them, typed or not.
func (r limited) isSecret(o runtime.Object) bool {
	kind, err := apiutil.GVKForObject(o, r.scheme)
	return err == nil && kind.Group == "" && strings.TrimSuffix(kind.Kind, "List") == "Secret"
}

// Get reads an object, but no Secret out of scope.
func (r limited) Get(ctx context.Context, key client.ObjectKey, into client.Object, o ...client.GetOption) error {
	if r.isSecret(into) && !slices.Contains(r.namespaces, key.Namespace) {
		return r.refusal(key.Namespace, key.Name)
	}
	return r.Reader.Get(ctx, key, into, o...)
}

// List reads objects, but no Secrets out of scope.
func (r limited) List(ctx context.Context, into client.ObjectList, o ...client.ListOption) error {
	options := client.ListOptions{}
	options.ApplyOptions(o)
	switch {
	case !r.isSecret(into):
	case options.Namespace == "":
		return r.listAll(ctx, into, options)
	case !slices.Contains(r.namespaces, options.Namespace):
		return r.refusal(options.Namespace, "")
	}
	return r.Reader.List(ctx, into, o...)
}

func (r limited) listAll(ctx context.Context, into client.ObjectList, options client.ListOptions) error {
	var all []runtime.Object
	options.Limit, options.Continue = 0, ""
	for _, options.Namespace = range r.namespaces {
		if err := r.Reader.List(ctx, into, &options); err != nil {
			return err
		}
		items, err := meta.ExtractList(into)
		if err != nil {
			return err
		}
		all = append(all, items...)
	}
	return meta.SetList(into, all)
}

func (r limited) refusal(namespace, name string) error {
	return apierrors.NewForbidden(corev1.Resource("secrets"), name, fmt.Errorf(
		"the controllers may use Secrets in the namespaces %s only, not in %s (--secret-namespaces)", strings.Join(r.namespaces, ", "), namespace))
}
