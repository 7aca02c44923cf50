// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"crypto/sha256"
	"fmt"
	"reflect"
	"slices"
	"time"

	"golang.org/x/oauth2"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/internal/cli/personas"
	"github.com/bowline-dev/bowline/internal/cli/team"
	"github.com/bowline-dev/bowline/pkg/manifests"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/providers/terraform/controller"
)

// The controllers act as a service account with the rights of provider.CommonRules and of each provider's rules, and no others.
const (
	SystemNamespace    = "bowline-system"
	ControllersAccount = "bowline-controllers"
	FieldManager       = "bowline"
)

// annotationApplied has a hash of what was applied, which tells that a later version no longer has a field.
const annotationApplied = "bowline.dev/applied"

// applyIdentities writes those objects that are absent or differ.
func applyIdentities(ctx context.Context, cfg *rest.Config, objects []*unstructured.Unstructured) error {
	mapper := meta.NewDefaultRESTMapper(nil) // a fixed mapping saves a discovery
	for _, o := range objects {
		scope := meta.RESTScopeRoot
		if o.GetNamespace() != "" {
			scope = meta.RESTScopeNamespace
		}
		mapper.Add(o.GroupVersionKind(), scope)
	}
	c, err := client.New(cfg, client.Options{Mapper: mapper})
	if err != nil {
		return fmt.Errorf("creating client: %w", err)
	}
	for _, o := range objects {
		o = o.DeepCopy()
		content, err := o.MarshalJSON()
		if err != nil {
			return fmt.Errorf("encoding %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		annotations := o.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[annotationApplied] = fmt.Sprintf("%x", sha256.Sum256(content))
		o.SetAnnotations(annotations)
		installed := &unstructured.Unstructured{}
		installed.SetGroupVersionKind(o.GroupVersionKind())
		if err := c.Get(ctx, client.ObjectKeyFromObject(o), installed); err == nil && contains(installed.Object, o.Object) {
			continue
		} else if ref, bound := o.Object["roleRef"]; err == nil && bound && !contains(installed.Object["roleRef"], ref) {
			if err := c.Delete(ctx, installed); err != nil { // it cannot be changed
				return fmt.Errorf("deleting %s %s of another role: %w", o.GetKind(), o.GetName(), err)
			}
		}
		err = c.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(FieldManager), client.ForceOwnership)
		if err != nil {
			return fmt.Errorf("applying %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

// contains is true if whole has every field of part, with the same value.
func contains(whole, part any) bool {
	wanted, isMap := part.(map[string]any)
	if !isMap {
		return reflect.DeepEqual(whole, part)
	}
	fields, ok := whole.(map[string]any)
	for name, value := range wanted {
		ok = ok && contains(fields[name], value)
	}
	return ok
}

// Identities returns the namespaces, accounts, roles and bindings of the controllers and of people.
func Identities(from []provider.Provider, definitions []*apiextensionsv1.CustomResourceDefinition) ([]*unstructured.Unstructured, error) {
	rules := provider.CommonRules()
	for _, p := range from {
		own, err := p.Rules()
		if err != nil {
			return nil, err
		}
		rules = append(rules, own...)
	}
	objects := manifests.Account(SystemNamespace, ControllersAccount, rules)
	if slices.ContainsFunc(from, func(p provider.Provider) bool { return p.Extend != nil }) {
		objects = append(objects, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: controller.RoleName}},
			&rbacv1.ClusterRoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: controller.RoleName},
				Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: SystemNamespace, Name: ControllersAccount}},
				RoleRef:    manifests.RoleRef("ClusterRole", controller.RoleName),
			})
	}
	for _, role := range personas.Roles(definitions...) {
		objects = append(objects, &role)
	}
	objects = append(objects,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team.Namespace}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: personas.Browse},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: team.Group}},
			RoleRef:    manifests.RoleRef("ClusterRole", personas.Browse),
		})
	return manifests.Bare(objects...)
}

const tokenLife = time.Hour

type tokenSource struct{ client kubernetes.Interface }

// Token returns a new token. It expires after half of its life for the client, which keeps it if the next request fails.
func (s tokenSource) Token() (*oauth2.Token, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(tokenLife.Seconds()))}}
	response, err := s.client.CoreV1().ServiceAccounts(SystemNamespace).CreateToken(ctx, ControllersAccount, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("requesting the controllers' token: %w", err)
	}
	half := time.Until(response.Status.ExpirationTimestamp.Time) / 2
	// Round drops the monotonic clock, which stops while the machine sleeps.
	return &oauth2.Token{AccessToken: response.Status.Token, Expiry: time.Now().Round(0).Add(half)}, nil
}

// controllersAccess returns access to the administrator's server with tokens instead of the administrator's certificate.
func controllersAccess(admin *rest.Config, tokens oauth2.TokenSource) *rest.Config {
	cfg := &rest.Config{
		Host:            admin.Host,
		TLSClientConfig: rest.TLSClientConfig{CAData: admin.CAData, CAFile: admin.CAFile, ServerName: admin.ServerName},
		UserAgent:       ControllersAccount,
		QPS:             -1, // the controllers limit their own calls
	}
	cfg.Wrap(transport.ResettableTokenSourceWrapTransport(transport.NewCachedTokenSource(tokens)))
	return cfg
}
