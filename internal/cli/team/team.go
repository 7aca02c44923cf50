// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package team grants teams access to a control plane, and revokes it.
//
// A team is a service account in a namespace that no team can access, with a role in one or several namespaces. Its token expires.
// Revoking deletes the role bindings and the account, which invalidates all its tokens.
//
// The accounts of all teams are in one namespace, Namespace. In the team's own namespace, an editor could create tokens that never
// expire, or impersonate the team; in bowline-system, an administrator of teams could create tokens of the controllers.
package team

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// Namespace holds the service accounts of all teams, and nothing else.
	Namespace = "bowline-teams"
	// Group contains the accounts of all teams.
	Group = "system:serviceaccounts:" + Namespace

	labelTeam           = "bowline.dev/team"           // on accounts and bindings: the name of the team
	annotationNamespace = "bowline.dev/team-namespace" // on accounts: the namespaces of the team, separated by commas
	annotationTokenEnds = "bowline.dev/token-ends"     // on accounts: expiry of the last token, RFC 3339

	fieldManager = "bowline"

	minDuration = 10 * time.Minute // the minimum of Kubernetes
	// MaxDuration is the limit of the life of a token.
	MaxDuration = 90 * 24 * time.Hour
)

// Roles returns the roles that a team can have in its namespace. Package personas defines them.
func Roles() []string { return []string{"edit", "view", "admin"} }

// A Team has access to its namespaces.
type Team struct {
	Name       string    `json:"name"`
	Namespace  string    `json:"namespace"`          // the first, that of its kubeconfig
	Namespaces []string  `json:"namespaces"`         // all, in the order of the request
	Role       string    `json:"role"`               // one of Roles, or empty if the team has lost a binding
	Since      time.Time `json:"since"`              // creation of the account
	TokenEnds  time.Time `json:"tokenEnds,omitzero"` // expiry of the last token; zero without one
}

// A Request describes a team to create.
type Request struct {
	Name       string        // lower case letters, digits and hyphens
	Namespaces []string      // created if they are missing; one at least
	Role       string        // one of Roles
	Duration   time.Duration // life of its token, from 10 minutes to MaxDuration
	Claims     *int64        // how many claims and targets of each kind a namespace may have, 0 for any number; nil: see ensureQuota
}

// Validate returns every mistake in the request.
func (r Request) Validate() error {
	var errs []error
	for _, problem := range validation.IsDNS1123Label(r.Name) {
		errs = append(errs, fmt.Errorf("team %q: %s", r.Name, problem))
	}
	for _, namespace := range r.Namespaces {
		for _, problem := range validation.IsDNS1123Label(namespace) {
			errs = append(errs, fmt.Errorf("namespace %q: %s", namespace, problem))
		}
		errs = append(errs, validateNamespace(namespace))
	}
	if r.Claims != nil && *r.Claims < 0 {
		errs = append(errs, fmt.Errorf("%d claims are not possible; 0 is any number", *r.Claims))
	}
	if !slices.Contains(Roles(), r.Role) {
		errs = append(errs, fmt.Errorf("unknown role %q; there are %s", r.Role, strings.Join(Roles(), ", ")))
	}
	return errors.Join(append(errs, validateDuration(r.Duration))...)
}

func validateNamespace(name string) error {
	if strings.HasPrefix(name, "kube-") || strings.HasPrefix(name, "bowline-") {
		return fmt.Errorf("namespace %q belongs to the system; choose a namespace of its own for the team", name)
	}
	if name == metav1.NamespaceDefault {
		return fmt.Errorf("namespace %q has the events of all cluster-scoped objects, such as managed resources, which the team "+
			"could read; choose a namespace of its own for the team", name)
	}
	return nil
}

func validateDuration(d time.Duration) error {
	if d < minDuration || d > MaxDuration {
		return fmt.Errorf("a token can be valid from 10m to %.0fh, not %s; it can be renewed at any time", MaxDuration.Hours(), d)
	}
	return nil
}

// A Grant is a team with a token, which expires at Team.TokenEnds.
type Grant struct {
	Team
	Token   string
	Created []string // namespaces that did not exist before
}

// An UnknownError reports that a team does not exist.
type UnknownError struct {
	Name  string
	Known []string // the existing teams
}

func (e *UnknownError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("there is no team %q, and no other", e.Name)
	}
	return fmt.Sprintf("there is no team %q; there are %s", e.Name, strings.Join(e.Known, ", "))
}

// Accounts manages the teams of one control plane. All methods need the rights of an administrator.
type Accounts struct{ client client.Client }

// NewAccounts returns the accounts.
func NewAccounts(cfg *rest.Config) (*Accounts, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1 // for one person; the server limits its load itself
	scheme := runtime.NewScheme()
	err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme))
	c, clientErr := client.New(cfg, client.Options{Scheme: scheme})
	if err := errors.Join(err, clientErr); err != nil {
		return nil, fmt.Errorf("creating client: %w", err)
	}
	return &Accounts{client.WithFieldOwner(c, fieldManager)}, nil
}

// Create creates a team and a token. An existing team gets the role and the further namespaces of the request, and a new token. It
// refuses namespaces of the system or with events or credentials of the platform, which the team could read.
func (a *Accounts) Create(ctx context.Context, r Request) (Grant, error) {
	err := r.Validate()
	for _, check := range []func(context.Context, Request) error{a.checkRole, a.checkNamespaces, a.checkAccount} {
		if err == nil {
			err = check(ctx, r)
		}
	}
	if err != nil {
		return Grant{}, err
	}
	var created []string
	for _, namespace := range r.Namespaces {
		isNew, err := a.ensure(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
		if err == nil {
			err = a.ensureQuota(ctx, namespace, r)
		}
		if err != nil {
			return Grant{}, err
		}
		if isNew {
			created = append(created, namespace)
		}
	}
	if err := a.ensureAccount(ctx, r); err != nil {
		return Grant{}, err
	}
	for _, namespace := range r.Namespaces {
		if err := a.ensureBinding(ctx, namespace, r); err != nil {
			return Grant{}, err
		}
	}
	t, err := a.get(ctx, r.Name)
	if err != nil {
		return Grant{}, err
	}
	grant, err := a.grant(ctx, t, r.Duration)
	grant.Created = created
	return grant, err
}

// ensureAccount creates the account of a team, and records its namespaces there.
func (a *Accounts) ensureAccount(ctx context.Context, r Request) error {
	account, all := accountOf(r.Name), map[string]string{annotationNamespace: strings.Join(r.Namespaces, ",")}
	account.Labels, account.Annotations = map[string]string{labelTeam: r.Name}, all
	account.AutomountServiceAccountToken = new(false) // no pod acts as a team
	if _, err := a.ensure(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}); err != nil {
		return err
	}
	if created, err := a.ensure(ctx, account); created || err != nil {
		return err
	}
	account = accountOf(r.Name)
	patch := client.MergeFrom(account.DeepCopy())
	account.Annotations = all
	if err := a.client.Patch(ctx, account, patch); err != nil {
		return fmt.Errorf("recording the namespaces of team %s: %w", r.Name, err)
	}
	return nil
}

// Renew creates another token for a team. Older tokens stay valid until they expire; to invalidate them, revoke the team. It refuses the
// namespaces that Create refuses, since the team may be older than their content. It may return an UnknownError.
func (a *Accounts) Renew(ctx context.Context, name string, d time.Duration) (Grant, error) {
	if err := validateDuration(d); err != nil {
		return Grant{}, err
	}
	t, err := a.get(ctx, name)
	if err != nil {
		return Grant{}, err
	}
	for _, namespace := range t.Namespaces {
		if err := validateNamespace(namespace); err != nil {
			return Grant{}, err
		}
	}
	if err := a.checkNamespaces(ctx, Request{Namespaces: t.Namespaces}); err != nil {
		return Grant{}, err
	}
	return a.grant(ctx, t, d)
}

// grant creates a token, and records its expiry on the account: the server does not list tokens.
func (a *Accounts) grant(ctx context.Context, t Team, d time.Duration) (Grant, error) {
	if t.Role == "" {
		return Grant{}, fmt.Errorf("team %q has lost its role in %s, so a token would lack rights; create the team again",
			t.Name, In(t.Namespaces))
	}
	account := accountOf(t.Name)
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(d.Seconds()))}}
	if err := a.client.SubResource("token").Create(ctx, account, token); err != nil {
		return Grant{}, fmt.Errorf("creating a token of team %s: %w", t.Name, err)
	}
	t.TokenEnds = token.Status.ExpirationTimestamp.UTC()
	patch := client.MergeFrom(account.DeepCopy())
	account.Annotations = map[string]string{annotationTokenEnds: t.TokenEnds.Format(time.RFC3339)}
	if err := a.client.Patch(ctx, account, patch); err != nil {
		return Grant{}, fmt.Errorf("recording the expiry of the token of team %s: %w", t.Name, err)
	}
	return Grant{Team: t, Token: token.Status.Token}, nil
}

func (a *Accounts) get(ctx context.Context, name string) (Team, error) {
	all, err := a.List(ctx)
	if err != nil {
		return Team{}, err
	}
	unknown := &UnknownError{Name: name}
	for _, t := range all {
		if t.Name == name {
			return t, nil
		}
		unknown.Known = append(unknown.Known, t.Name)
	}
	return Team{}, unknown
}

// List returns all teams, sorted by name.
func (a *Accounts) List(ctx context.Context) ([]Team, error) {
	var accounts corev1.ServiceAccountList
	if err := a.client.List(ctx, &accounts, client.InNamespace(Namespace), client.HasLabels{labelTeam}); err != nil {
		return nil, fmt.Errorf("listing service accounts: %w", err)
	}
	bindings, err := a.bindings(ctx, client.HasLabels{labelTeam})
	if err != nil {
		return nil, err
	}
	teams := make([]Team, 0, len(accounts.Items))
	for _, account := range accounts.Items {
		t := Team{Name: account.Name, Namespaces: namespacesOf(account), Since: account.CreationTimestamp.Time}
		t.Namespace = t.Namespaces[0]
		t.TokenEnds, _ = time.Parse(time.RFC3339, account.Annotations[annotationTokenEnds]) // zero without one
		bound := map[string]string{}                                                        // role by namespace
		for _, b := range bindings {
			if b.Name == bindingName(t.Name) && slices.Contains(b.Subjects, subject(t.Name)) {
				bound[b.Namespace] = roleOf(b.RoleRef.Name)
			}
		}
		t.Role = bound[t.Namespace]
		if slices.ContainsFunc(t.Namespaces, func(n string) bool { return bound[n] != t.Role }) {
			t.Role = ""
		}
		teams = append(teams, t)
	}
	slices.SortFunc(teams, func(x, y Team) int { return strings.Compare(x.Name, y.Name) })
	return teams, nil
}

// Revoke ends all access of a team, and returns the team. It deletes the bindings first, which disables all tokens. It returns other
// bindings of the account, which would hold for a new team of the same name. It may return an UnknownError.
func (a *Accounts) Revoke(ctx context.Context, name string) (t Team, others []string, err error) {
	bindings, err := a.bindings(ctx, client.MatchingLabels{labelTeam: name})
	if err != nil {
		return Team{}, nil, err
	}
	if t, err = a.get(ctx, name); err != nil && len(bindings) == 0 {
		return Team{}, nil, err
	}
	for _, b := range bindings {
		if err := a.client.Delete(ctx, &b); client.IgnoreNotFound(err) != nil {
			return Team{}, nil, fmt.Errorf("deleting role binding %s/%s: %w", b.Namespace, b.Name, err)
		}
		if t.Name = name; !slices.Contains(t.Namespaces, b.Namespace) {
			t.Namespaces = append(t.Namespaces, b.Namespace)
		}
	}
	if err := a.client.Delete(ctx, accountOf(name)); client.IgnoreNotFound(err) != nil {
		return Team{}, nil, fmt.Errorf("deleting service account %s/%s: %w", Namespace, name, err)
	}
	others, err = a.boundByOthers(ctx, name)
	return t, others, err
}

func (a *Accounts) boundByOthers(ctx context.Context, name string) (found []string, err error) {
	var inNamespaces rbacv1.RoleBindingList
	var everywhere rbacv1.ClusterRoleBindingList
	if err := errors.Join(a.client.List(ctx, &inNamespaces), a.client.List(ctx, &everywhere)); err != nil {
		return nil, fmt.Errorf("listing bindings: %w", err)
	}
	for _, b := range inNamespaces.Items {
		if slices.Contains(b.Subjects, subject(name)) {
			found = append(found, fmt.Sprintf("rolebinding %s -n %s", b.Name, b.Namespace))
		}
	}
	for _, b := range everywhere.Items {
		if slices.Contains(b.Subjects, subject(name)) {
			found = append(found, "clusterrolebinding "+b.Name)
		}
	}
	return found, nil
}

func (a *Accounts) bindings(ctx context.Context, selector client.ListOption) ([]rbacv1.RoleBinding, error) {
	var all rbacv1.RoleBindingList
	if err := a.client.List(ctx, &all, selector); err != nil {
		return nil, fmt.Errorf("listing role bindings: %w", err)
	}
	return slices.DeleteFunc(all.Items, func(b rbacv1.RoleBinding) bool { return b.Name != bindingName(b.Labels[labelTeam]) }), nil
}

func bindingName(team string) string { return "bowline-team-" + team }

func subject(team string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: Namespace, Name: team}
}

func accountOf(team string) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: team}}
}

func roleName(role string) string { return "bowline-" + role }

// roleOf is one of Roles, or empty for another cluster role.
func roleOf(clusterRole string) string {
	role, ok := strings.CutPrefix(clusterRole, "bowline-")
	if !ok || !slices.Contains(Roles(), role) {
		return ""
	}
	return role
}

// checkRole refuses a missing role: Kubernetes would accept the binding, and the team would have no rights.
func (a *Accounts) checkRole(ctx context.Context, r Request) error {
	name := roleName(r.Role)
	err := a.client.Get(ctx, client.ObjectKey{Name: name}, &rbacv1.ClusterRole{})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("cluster role %s does not exist; install the roles with: bowline rbac | kubectl apply -f -", name)
	}
	if err != nil {
		return fmt.Errorf("reading cluster role %s: %w", name, err)
	}
	return nil
}

func (a *Accounts) checkAccount(ctx context.Context, r Request) error {
	account := accountOf(r.Name)
	err := a.client.Get(ctx, client.ObjectKeyFromObject(account), account)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading service account %s/%s: %w", Namespace, r.Name, err)
	}
	if account.Labels[labelTeam] != r.Name {
		return fmt.Errorf("service account %s/%s exists and is not a team's; choose another name for the team", Namespace, r.Name)
	}
	lacks := slices.DeleteFunc(namespacesOf(*account), func(n string) bool { return slices.Contains(r.Namespaces, n) })
	if len(lacks) > 0 {
		return fmt.Errorf("team %q also has %s; name all its namespaces, choose another name for a new team, or revoke this one first",
			r.Name, In(lacks))
	}
	return nil
}

func namespacesOf(account corev1.ServiceAccount) []string {
	return strings.Split(account.Annotations[annotationNamespace], ",")
}

// In names namespaces in a sentence.
func In(namespaces []string) string {
	if len(namespaces) == 1 {
		return "namespace " + namespaces[0]
	}
	return "namespaces " + strings.Join(namespaces, ", ")
}

// ensure creates an object unless it exists.
func (a *Accounts) ensure(ctx context.Context, o client.Object) (created bool, err error) {
	err = a.client.Create(ctx, o)
	if apierrors.IsAlreadyExists(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("creating %s: %w", o.GetName(), err)
	}
	return true, nil
}

// ensureBinding replaces a binding with another role: the role of a binding is immutable.
func (a *Accounts) ensureBinding(ctx context.Context, namespace string, r Request) error {
	want, have := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: bindingName(r.Name), Labels: map[string]string{labelTeam: r.Name}},
		Subjects:   []rbacv1.Subject{subject(r.Name)},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: roleName(r.Role)},
	}, &rbacv1.RoleBinding{}
	err := a.client.Get(ctx, client.ObjectKeyFromObject(want), have)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading role binding %s/%s: %w", namespace, want.Name, err)
	}
	if err == nil {
		if have.RoleRef == want.RoleRef && slices.Equal(have.Subjects, want.Subjects) && have.Labels[labelTeam] == r.Name {
			return nil
		}
		if err := a.client.Delete(ctx, have); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("replacing role binding %s/%s: %w", namespace, want.Name, err)
		}
	}
	if err := a.client.Create(ctx, want); err != nil { // one that exists now has another's role
		return fmt.Errorf("creating role binding %s/%s: %w", namespace, want.Name, err)
	}
	return nil
}
