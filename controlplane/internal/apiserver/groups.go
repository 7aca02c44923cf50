// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	validatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-helpers/auth/rbac/reconciliation"
	openapi "k8s.io/kube-openapi/pkg/common"
	controlplaneapiserver "k8s.io/kubernetes/pkg/controlplane/apiserver"
	generatedopenapi "k8s.io/kubernetes/pkg/generated/openapi"
	"k8s.io/kubernetes/pkg/kubeapiserver/options"
	admissionrest "k8s.io/kubernetes/pkg/registry/admissionregistration/rest"
	authenticationrest "k8s.io/kubernetes/pkg/registry/authentication/rest"
	authorizationrest "k8s.io/kubernetes/pkg/registry/authorization/rest"
	coordinationrest "k8s.io/kubernetes/pkg/registry/coordination/rest"
	eventsrest "k8s.io/kubernetes/pkg/registry/events/rest"
	rbacrest "k8s.io/kubernetes/pkg/registry/rbac/rest"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	// Each group registers its types when it is linked.
	_ "k8s.io/kubernetes/pkg/apis/admission/install"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apiserverinternal/install"
	_ "k8s.io/kubernetes/pkg/apis/authentication/install"
	_ "k8s.io/kubernetes/pkg/apis/authorization/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/events/install"
	_ "k8s.io/kubernetes/pkg/apis/flowcontrol/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/storagemigration/install"
)

// storageProviders returns what serves the built-in groups, in the order of discovery.
func storageProviders(c controlplaneapiserver.CompletedConfig, d discovery.DiscoveryInterface) []controlplaneapiserver.RESTStorageProvider {
	return []controlplaneapiserver.RESTStorageProvider{
		c.NewCoreGenericConfig(),
		authenticationrest.RESTStorageProvider{Authenticator: c.Generic.Authentication.Authenticator, APIAudiences: c.Generic.Authentication.APIAudiences},
		authorizationrest.RESTStorageProvider{Authorizer: c.Generic.Authorization.Authorizer, RuleResolver: c.Generic.RuleResolver},
		coordinationrest.RESTStorageProvider{},
		rbacrest.RESTStorageProvider{Authorizer: c.Generic.Authorization.Authorizer},
		admissionrest.RESTStorageProvider{Authorizer: c.Generic.Authorization.Authorizer, DiscoveryClient: d},
		eventsrest.RESTStorageProvider{TTL: c.EventTTL},
	}
}

// admissionOff returns the admission plugins that stay off: all but the five that concern objects of any kind.
func admissionOff() sets.Set[string] {
	return sets.New(options.AllOrderedPlugins...).Delete(
		lifecycle.PluginName,
		mutatingwebhook.PluginName,
		validatingwebhook.PluginName,
		validatingpolicy.PluginName,
		resourcequota.PluginName,
	)
}

// openAPIDefinitions returns the schemas of the served groups; those of some twenty others would only take memory.
func openAPIDefinitions(ref openapi.ReferenceCallback) map[string]openapi.OpenAPIDefinition {
	all := generatedopenapi.GetOpenAPIDefinitions(ref)
	maps.DeleteFunc(all, func(name string, _ openapi.OpenAPIDefinition) bool {
		name, ok := strings.CutPrefix(name, "io.k8s.api.") // such as io.k8s.api.apps.v1.Deployment
		group, _, _ := strings.Cut(name, ".")
		return ok && !slices.Contains([]string{
			"admission", "admissionregistration", "authentication", "authorization", "coordination", "core", "events", "rbac",
		}, group)
	})
	return all
}

// bootstrap creates the system's namespaces and the default cluster roles with their bindings, or corrects them.
func bootstrap(ctx context.Context, client kubernetes.Interface) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic} {
		g.Go(func() error {
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
			_, err := client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{})
			if err != nil && !apierrors.IsAlreadyExists(err) {
				return fmt.Errorf("creating namespace %s: %w", name, err)
			}
			return nil
		})
	}
	roles := defaultRoles()
	for _, role := range roles {
		g.Go(func() error { return reconcileRole(ctx, client, role) })
	}
	for _, binding := range bootstrappolicy.ClusterRoleBindings() {
		if slices.ContainsFunc(roles, func(r rbacv1.ClusterRole) bool { return r.Name == binding.RoleRef.Name }) {
			g.Go(func() error { return reconcileBinding(client, binding) })
		}
	}
	return g.Wait()
}

// defaultRoles are the cluster roles of Kubernetes that apply without pods and nodes.
func defaultRoles() []rbacv1.ClusterRole {
	roles := slices.DeleteFunc(bootstrappolicy.ClusterRoles(), func(r rbacv1.ClusterRole) bool { return !isDefaultRole(r.Name) })
	for i := range roles {
		roles[i].Rules = append(roles[i].Rules, aggregatedRules(&roles[i], roles)...)
	}
	return roles
}

func isDefaultRole(name string) bool {
	switch name {
	case "system:basic-user", "system:discovery", "system:public-info-viewer", "system:monitoring", "system:auth-delegator",
		"system:service-account-issuer-discovery":
		return true
	}
	return !strings.HasPrefix(name, "system:") || strings.HasPrefix(name, "system:aggregate-to-")
}

// aggregatedRules returns the rules of an aggregated role, so that it works before the aggregation controller runs.
func aggregatedRules(role *rbacv1.ClusterRole, all []rbacv1.ClusterRole) []rbacv1.PolicyRule {
	if role.AggregationRule == nil {
		return nil
	}
	var rules []rbacv1.PolicyRule
	for i := range all {
		for j := range role.AggregationRule.ClusterRoleSelectors {
			selector, err := metav1.LabelSelectorAsSelector(&role.AggregationRule.ClusterRoleSelectors[j])
			if err == nil && all[i].Name != role.Name && selector.Matches(labels.Set(all[i].Labels)) {
				rules = append(rules, all[i].Rules...)
				rules = append(rules, aggregatedRules(&all[i], all)...)
			}
		}
	}
	return rules
}

func reconcileRole(ctx context.Context, client kubernetes.Interface, role rbacv1.ClusterRole) error {
	if role.AggregationRule != nil { // reconciling would drop the rules
		_, err := client.RbacV1().ClusterRoles().Create(ctx, &role, metav1.CreateOptions{})
		if err == nil || !apierrors.IsAlreadyExists(err) {
			return err
		}
		role.Rules = nil
	}
	o := reconciliation.ReconcileRoleOptions{
		Role:    reconciliation.ClusterRoleRuleOwner{ClusterRole: &role},
		Client:  reconciliation.ClusterRoleModifier{Client: client.RbacV1().ClusterRoles()},
		Confirm: true,
	}
	if _, err := o.Run(); err != nil {
		return fmt.Errorf("reconciling cluster role %s: %w", role.Name, err)
	}
	return nil
}

func reconcileBinding(client kubernetes.Interface, binding rbacv1.ClusterRoleBinding) error {
	o := reconciliation.ReconcileRoleBindingOptions{
		RoleBinding: reconciliation.ClusterRoleBindingAdapter{ClusterRoleBinding: &binding},
		Client:      reconciliation.ClusterRoleBindingClientAdapter{Client: client.RbacV1().ClusterRoleBindings()},
		Confirm:     true,
	}
	if _, err := o.Run(); err != nil {
		return fmt.Errorf("reconciling cluster role binding %s: %w", binding.Name, err)
	}
	return nil
}
