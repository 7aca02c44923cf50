// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package team

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// List returns all teams, sorted by name.
func (a *Accounts) List(ctx context.Context) ([]Team, error) {
	accounts, err := a.kube.CoreV1().ServiceAccounts(Namespace).List(ctx, metav1.ListOptions{LabelSelector: labelTeam})
	if err != nil {
		return nil, fmt.Errorf("listing service accounts: %w", err)
	}
	bindings, err := a.bindings(ctx, labelTeam)
	if err != nil {
		return nil, err
	}
	teams := make([]Team, 0, len(accounts.Items))
	for _, account := range accounts.Items {
		t := Team{Name: account.Name, Namespace: account.Annotations[annotationNamespace], Since: account.CreationTimestamp.Time}
		if ends, err := time.Parse(time.RFC3339, account.Annotations[annotationTokenEnds]); err == nil {
			t.TokenEnds = ends
		}
		for _, b := range bindings {
			if b.Namespace == t.Namespace && b.Name == bindingName(t.Name) && slices.Contains(b.Subjects, subject(t.Name)) {
				t.Role = roleOf(b.RoleRef.Name)
			}
		}
		teams = append(teams, t)
	}
	slices.SortFunc(teams, func(x, y Team) int { return strings.Compare(x.Name, y.Name) })
	return teams, nil
}

// Revoke ends all access of a team, and returns the team. It deletes the bindings first, which disables all tokens. It returns other
// bindings of the account, as kind and name: they would hold for a new team of the same name. The error is an UnknownError if there
// is no such team.
func (a *Accounts) Revoke(ctx context.Context, name string) (t Team, others []string, err error) {
	bindings, err := a.bindings(ctx, labelTeam+"="+name)
	if err != nil {
		return Team{}, nil, err
	}
	if t, err = a.get(ctx, name); err != nil && len(bindings) == 0 {
		return Team{}, nil, err
	}
	for _, b := range bindings {
		err := a.kube.RbacV1().RoleBindings(b.Namespace).Delete(ctx, b.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return Team{}, nil, fmt.Errorf("deleting role binding %s/%s: %w", b.Namespace, b.Name, err)
		}
		t.Name, t.Namespace = name, b.Namespace
	}
	err = a.kube.CoreV1().ServiceAccounts(Namespace).Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return Team{}, nil, fmt.Errorf("deleting service account %s/%s: %w", Namespace, name, err)
	}
	others, err = a.boundByOthers(ctx, name)
	return t, others, err
}

// boundByOthers returns all bindings of a team's account.
func (a *Accounts) boundByOthers(ctx context.Context, name string) ([]string, error) {
	var found []string
	inNamespaces, err := a.kube.RbacV1().RoleBindings(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing role bindings: %w", err)
	}
	for _, b := range inNamespaces.Items {
		if slices.Contains(b.Subjects, subject(name)) {
			found = append(found, fmt.Sprintf("rolebinding %s -n %s", b.Name, b.Namespace))
		}
	}
	everywhere, err := a.kube.RbacV1().ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing cluster role bindings: %w", err)
	}
	for _, b := range everywhere.Items {
		if slices.Contains(b.Subjects, subject(name)) {
			found = append(found, "clusterrolebinding "+b.Name)
		}
	}
	return found, nil
}

// bindings returns the bindings of teams.
func (a *Accounts) bindings(ctx context.Context, selector string) ([]rbacv1.RoleBinding, error) {
	all, err := a.kube.RbacV1().RoleBindings(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("listing role bindings: %w", err)
	}
	return slices.DeleteFunc(all.Items, func(b rbacv1.RoleBinding) bool { return b.Name != bindingName(b.Labels[labelTeam]) }), nil
}

func bindingName(team string) string { return "bowline-team-" + team }

func subject(team string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: Namespace, Name: team}
}

// checkRole refuses a missing role: Kubernetes would accept the binding, and the team would have no rights.
func (a *Accounts) checkRole(ctx context.Context, name string) error {
	_, err := a.kube.RbacV1().ClusterRoles().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("cluster role %s does not exist; install the roles with: bowline rbac | kubectl apply -f -", name)
	}
	if err != nil {
		return fmt.Errorf("reading cluster role %s: %w", name, err)
	}
	return nil
}

// checkAccount refuses an account that is not a team's, and a team with another namespace.
func (a *Accounts) checkAccount(ctx context.Context, r Request) error {
	account, err := a.kube.CoreV1().ServiceAccounts(Namespace).Get(ctx, r.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading service account %s/%s: %w", Namespace, r.Name, err)
	}
	if account.Labels[labelTeam] != r.Name {
		return fmt.Errorf("service account %s/%s exists and is not a team's; choose another name for the team", Namespace, r.Name)
	}
	if elsewhere := account.Annotations[annotationNamespace]; elsewhere != r.Namespace {
		return fmt.Errorf("team %q has namespace %q; choose another name for the team in %q, or revoke this one first",
			r.Name, elsewhere, r.Namespace)
	}
	return nil
}

func (a *Accounts) ensureNamespace(ctx context.Context, name string) (created bool, err error) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err = a.kube.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{FieldManager: fieldManager})
	if apierrors.IsAlreadyExists(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("creating namespace %s: %w", name, err)
	}
	return true, nil
}

func (a *Accounts) ensureAccount(ctx context.Context, r Request) error {
	account := &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: Namespace, Name: r.Name,
			Labels:      map[string]string{labelTeam: r.Name},
			Annotations: map[string]string{annotationNamespace: r.Namespace},
		},
		AutomountServiceAccountToken: ptr.To(false), // no pod acts as a team
	}
	_, err := a.kube.CoreV1().ServiceAccounts(Namespace).Create(ctx, account, metav1.CreateOptions{FieldManager: fieldManager})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating service account %s/%s: %w", Namespace, r.Name, err)
	}
	return nil
}

// ensureBinding replaces a binding with another role: the role of a binding is immutable.
func (a *Accounts) ensureBinding(ctx context.Context, r Request) error {
	want := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: r.Namespace, Name: bindingName(r.Name), Labels: map[string]string{labelTeam: r.Name},
		},
		Subjects: []rbacv1.Subject{subject(r.Name)},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: roleName(r.Role)},
	}
	bindings := a.kube.RbacV1().RoleBindings(r.Namespace)
	have, err := bindings.Get(ctx, want.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return fmt.Errorf("reading role binding %s/%s: %w", r.Namespace, want.Name, err)
	case have.RoleRef == want.RoleRef && slices.Equal(have.Subjects, want.Subjects) && have.Labels[labelTeam] == r.Name:
		return nil
	default:
		if err := bindings.Delete(ctx, want.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("replacing role binding %s/%s: %w", r.Namespace, want.Name, err)
		}
	}
	if _, err := bindings.Create(ctx, want, metav1.CreateOptions{FieldManager: fieldManager}); err != nil {
		return fmt.Errorf("creating role binding %s/%s: %w", r.Namespace, want.Name, err)
	}
	return nil
}

// newToken creates a token and records its expiry on the account: the server does not list tokens.
func (a *Accounts) newToken(ctx context.Context, name string, d time.Duration) (string, time.Time, error) {
	accounts := a.kube.CoreV1().ServiceAccounts(Namespace)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(d.Seconds()))}}
	answer, err := accounts.CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return "", time.Time{}, fmt.Errorf("creating a token of team %s: %w", name, err)
	}
	ends := answer.Status.ExpirationTimestamp.UTC()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"annotations": map[string]string{annotationTokenEnds: ends.Format(time.RFC3339)},
	}})
	if err != nil {
		return "", time.Time{}, fmt.Errorf("encoding the expiry of the token: %w", err)
	}
	_, err = accounts.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
	if err != nil {
		return "", time.Time{}, fmt.Errorf("recording the expiry of the token of team %s: %w", name, err)
	}
	return answer.Status.Token, ends, nil
}
