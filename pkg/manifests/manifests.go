// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifests makes what a cluster needs to run controllers, as YAML for kubectl apply --server-side.
package manifests

import (
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"
)

// Account returns a service account with cluster-wide rules and the right to use the leases of its namespace, in the order in which the
// objects can be created. All are named as the account.
func Account(namespace, name string, rules []rbacv1.PolicyRule) []runtime.Object {
	everywhere, here := metav1.ObjectMeta{Name: name}, metav1.ObjectMeta{Name: name, Namespace: namespace}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}}
	leases := []rbacv1.PolicyRule{{ // to elect a leader, and to show that it works
		APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"},
		Verbs: []string{"get", "create", "update", "patch"},
	}}
	return []runtime.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&corev1.ServiceAccount{ObjectMeta: here},
		&rbacv1.ClusterRole{ObjectMeta: everywhere, Rules: rules},
		&rbacv1.ClusterRoleBinding{ObjectMeta: everywhere, Subjects: subjects, RoleRef: RoleRef("ClusterRole", name)},
		&rbacv1.Role{ObjectMeta: here, Rules: leases},
		&rbacv1.RoleBinding{ObjectMeta: here, Subjects: subjects, RoleRef: RoleRef("Role", name)},
	}
}

// RoleRef refers to a Role or ClusterRole.
func RoleRef(kind, name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
}

// Bare converts objects for server-side apply: with kinds, and without fields of others, which would be applied as empty: those of the server, and
// the rules of a role to which its holders add theirs.
func Bare(objects ...runtime.Object) ([]*unstructured.Unstructured, error) {
	all := make([]*unstructured.Unstructured, 0, len(objects))
	for _, o := range objects {
		kind, err := apiutil.GVKForObject(o, clientgoscheme.Scheme)
		if err != nil {
			return nil, err
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			return nil, fmt.Errorf("encoding %T: %w", o, err)
		}
		unstructured.RemoveNestedField(content, "status")
		if content["rules"] == nil {
			delete(content, "rules")
		}
		if spec, ok := content["spec"].(map[string]any); ok && len(spec) == 0 {
			delete(content, "spec")
		}
		unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
		u := &unstructured.Unstructured{Object: content}
		u.SetGroupVersionKind(kind)
		all = append(all, u)
	}
	return all, nil
}

// Write writes objects as YAML documents.
func Write(w io.Writer, objects []*unstructured.Unstructured) error {
	for _, o := range objects {
		content, err := yaml.Marshal(o.Object)
		if err != nil {
			return fmt.Errorf("encoding %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		if _, err := fmt.Fprintf(w, "---\n%s", content); err != nil {
			return fmt.Errorf("writing manifests: %w", err)
		}
	}
	return nil
}
