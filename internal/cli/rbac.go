// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/cli/personas"
	"github.com/bowline-dev/bowline/internal/cli/team"
	"github.com/bowline-dev/bowline/pkg/provider"
)

// The identity of our controllers on the embedded server: a service account that may do what the rules below and the
// providers' own rules list, and nothing else.
const (
	systemNamespace    = "bowline-system"
	controllersAccount = "bowline-controllers"
	fieldManager       = "bowline"
)

func newRBACCmd(providers []provider.Provider, std Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "rbac",
		Short: "Print the roles of the controllers and of people, for a cluster",
		Long: `Prints, as YAML, the service account of the controllers with its rights, and the cluster roles bowline-admin, bowline-edit
and bowline-view, which are aggregated to admin, edit and view of Kubernetes, so that whoever edits a namespace may use
claims in it. Teams made with bowline user may list classes by bowline-browse; bind that to whom else you like.

bowline up applies all of this by itself. A cluster needs it once, and again after an update of Bowline.`,
		Example: `  bowline rbac | kubectl apply --server-side -f -`,
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			definitions, err := provider.Definitions(providers...)
			if err != nil {
				return err
			}
			objects, err := identities(providers, definitions)
			if err != nil {
				return err
			}
			for _, o := range objects {
				content, err := yaml.Marshal(o.Object)
				if err != nil {
					return fmt.Errorf("encoding %s %s: %w", o.GetKind(), o.GetName(), err)
				}
				if _, err := fmt.Fprintf(std.Out, "---\n%s", content); err != nil {
					return fmt.Errorf("writing roles: %w", err)
				}
			}
			return nil
		},
	}
}

// applyIdentities makes namespaces, roles, bindings and the controllers' service account what they should be.
func applyIdentities(ctx context.Context, cfg *rest.Config, objects []*unstructured.Unstructured) error {
	mapper := meta.NewDefaultRESTMapper(nil) // known by heart, which saves the server a discovery
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
		err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(fieldManager), client.ForceOwnership)
		if err != nil {
			return fmt.Errorf("applying %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

// identities are what the controllers, and the people who use them, are and may do, given the definitions of the providers.
func identities(from []provider.Provider, definitions []*apiextensionsv1.CustomResourceDefinition) ([]*unstructured.Unstructured, error) {
	rules := provider.CommonRules()
	for _, p := range from {
		own, err := p.Rules()
		if err != nil {
			return nil, err
		}
		rules = append(rules, own...)
	}
	objects := controllersIdentity(rules)
	for _, role := range personas.Roles(definitions...) {
		objects = append(objects, &role)
	}
	objects = append(objects,
		&corev1.Namespace{TypeMeta: typeMeta(corev1.SchemeGroupVersion, "Namespace"), ObjectMeta: metav1.ObjectMeta{Name: team.Namespace}},
		&rbacv1.ClusterRoleBinding{
			TypeMeta:   typeMeta(rbacv1.SchemeGroupVersion, "ClusterRoleBinding"),
			ObjectMeta: metav1.ObjectMeta{Name: personas.Browse},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: team.Group}},
			RoleRef:    roleRef("ClusterRole", personas.Browse),
		})
	return bare(objects)
}

// controllersIdentity has what the controllers need, in the order in which it can be made.
func controllersIdentity(rules []rbacv1.PolicyRule) []runtime.Object {
	everywhere, here := metav1.ObjectMeta{Name: controllersAccount}, metav1.ObjectMeta{Name: controllersAccount, Namespace: systemNamespace}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: systemNamespace, Name: controllersAccount}}
	leases := []rbacv1.PolicyRule{{ // to elect a leader
		APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"},
		Verbs: []string{"get", "list", "watch", "create", "update", "patch", "delete"},
	}}
	return []runtime.Object{
		&corev1.Namespace{TypeMeta: typeMeta(corev1.SchemeGroupVersion, "Namespace"), ObjectMeta: metav1.ObjectMeta{Name: systemNamespace}},
		&corev1.ServiceAccount{TypeMeta: typeMeta(corev1.SchemeGroupVersion, "ServiceAccount"), ObjectMeta: here},
		&rbacv1.ClusterRole{TypeMeta: typeMeta(rbacv1.SchemeGroupVersion, "ClusterRole"), ObjectMeta: everywhere, Rules: rules},
		&rbacv1.ClusterRoleBinding{TypeMeta: typeMeta(rbacv1.SchemeGroupVersion, "ClusterRoleBinding"), ObjectMeta: everywhere,
			Subjects: subjects, RoleRef: roleRef("ClusterRole", controllersAccount)},
		&rbacv1.Role{TypeMeta: typeMeta(rbacv1.SchemeGroupVersion, "Role"), ObjectMeta: here, Rules: leases},
		&rbacv1.RoleBinding{TypeMeta: typeMeta(rbacv1.SchemeGroupVersion, "RoleBinding"), ObjectMeta: here,
			Subjects: subjects, RoleRef: roleRef("Role", controllersAccount)},
	}
}

func typeMeta(version schema.GroupVersion, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: version.String(), Kind: kind}
}

func roleRef(kind, name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
}

// bare returns the objects with what they say and no more: fields that are the server's would be applied as empty.
func bare(objects []runtime.Object) ([]*unstructured.Unstructured, error) {
	all := make([]*unstructured.Unstructured, 0, len(objects))
	for _, o := range objects {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			return nil, fmt.Errorf("encoding %T: %w", o, err)
		}
		unstructured.RemoveNestedField(content, "status")
		unstructured.RemoveNestedField(content, "spec")
		unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
		all = append(all, &unstructured.Unstructured{Object: content})
	}
	return all, nil
}
