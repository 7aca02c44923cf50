// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package team

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/cli/personas"
)

// Namespace holds the service accounts of all teams, and nothing else.
const Namespace = "bowline-teams"

// Group contains the accounts of all teams.
const Group = "system:serviceaccounts:" + Namespace

const (
	labelTeam           = "bowline.dev/team"           // on accounts and bindings: the name of the team
	annotationNamespace = "bowline.dev/team-namespace" // on accounts: the namespace of the team
	annotationTokenEnds = "bowline.dev/token-ends"     // on accounts: expiry of the last token, RFC 3339

	fieldManager = "bowline"
)

// Limits of the life of a token.
const (
	MinDuration = 10 * time.Minute // the minimum of Kubernetes
	MaxDuration = 90 * 24 * time.Hour
)

// Roles returns the roles that a team can have in its namespace. Package personas defines them.
func Roles() []string { return []string{"edit", "view", "admin"} }

// A Team has access to one namespace.
type Team struct {
	Name      string    `json:"name"`
	Namespace string    `json:"namespace"`
	Role      string    `json:"role"`               // one of Roles, or empty if the team has lost its binding
	Since     time.Time `json:"since"`              // creation of the account
	TokenEnds time.Time `json:"tokenEnds,omitzero"` // expiry of the last token; zero without one
}

// A Request describes a team to create.
type Request struct {
	Name      string        // lower case letters, digits and hyphens
	Namespace string        // created if it is missing
	Role      string        // one of Roles
	Duration  time.Duration // life of its token, from MinDuration to MaxDuration
}

// Validate returns every mistake in the request.
func (r Request) Validate() error {
	var errs []error
	for _, problem := range validation.IsDNS1123Label(r.Name) {
		errs = append(errs, fmt.Errorf("team %q: %s", r.Name, problem))
	}
	for _, problem := range validation.IsDNS1123Label(r.Namespace) {
		errs = append(errs, fmt.Errorf("namespace %q: %s", r.Namespace, problem))
	}
	errs = append(errs, validateNamespace(r.Namespace))
	if !slices.Contains(Roles(), r.Role) {
		errs = append(errs, fmt.Errorf("unknown role %q; there are %s", r.Role, strings.Join(Roles(), ", ")))
	}
	return errors.Join(append(errs, validateDuration(r.Duration))...)
}

// validateNamespace refuses namespaces that cannot be a team's.
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
	if d < MinDuration || d > MaxDuration {
		return fmt.Errorf("a token can be valid from 10m to %.0fh, not %s; it can be renewed at any time", MaxDuration.Hours(), d)
	}
	return nil
}

// A Grant is a team with a token, which expires at Team.TokenEnds.
type Grant struct {
	Team
	Token            string
	CreatedNamespace bool // the namespace did not exist before
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
type Accounts struct {
	kube    kubernetes.Interface
	dynamic dynamic.Interface
}

// NewAccounts returns the accounts. It sends no request.
func NewAccounts(cfg *rest.Config) (*Accounts, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1 // for one person; the server limits its load itself
	kube, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("creating client: %w", err)
	}
	objects, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("creating client: %w", err)
	}
	return &Accounts{kube: kube, dynamic: objects}, nil
}

// Create creates a team and a token. An existing team gets the role of the request and a new token, and keeps its namespace. It refuses
// namespaces of the system, namespace default, which has the events of cluster-scoped objects, and namespaces with credentials of the
// platform: the team could read them.
func (a *Accounts) Create(ctx context.Context, r Request) (Grant, error) {
	if err := r.Validate(); err != nil {
		return Grant{}, err
	}
	if err := a.checkRole(ctx, roleName(r.Role)); err != nil {
		return Grant{}, err
	}
	if err := a.checkNamespace(ctx, r.Namespace); err != nil {
		return Grant{}, err
	}
	if err := a.checkAccount(ctx, r); err != nil {
		return Grant{}, err
	}
	created, err := a.ensureNamespace(ctx, r.Namespace)
	if err != nil {
		return Grant{}, err
	}
	if _, err := a.ensureNamespace(ctx, Namespace); err != nil {
		return Grant{}, err
	}
	if err := a.ensureAccount(ctx, r); err != nil {
		return Grant{}, err
	}
	if err := a.ensureBinding(ctx, r); err != nil {
		return Grant{}, err
	}
	t, err := a.get(ctx, r.Name)
	if err != nil {
		return Grant{}, err
	}
	grant, err := a.grant(ctx, t, r.Duration)
	grant.CreatedNamespace = created
	return grant, err
}

// Renew creates another token for a team. Older tokens stay valid until they expire; to invalidate them, revoke the team. It refuses the
// namespaces that Create refuses, since the team may be older than their content. The error is an UnknownError if there is no such
// team.
func (a *Accounts) Renew(ctx context.Context, name string, d time.Duration) (Grant, error) {
	if err := validateDuration(d); err != nil {
		return Grant{}, err
	}
	t, err := a.get(ctx, name)
	if err != nil {
		return Grant{}, err
	}
	if err := validateNamespace(t.Namespace); err != nil {
		return Grant{}, err
	}
	if err := a.checkNamespace(ctx, t.Namespace); err != nil {
		return Grant{}, err
	}
	return a.grant(ctx, t, d)
}

// grant creates a token for a team.
func (a *Accounts) grant(ctx context.Context, t Team, d time.Duration) (Grant, error) {
	if t.Role == "" {
		return Grant{}, fmt.Errorf("team %q has lost its role in namespace %q, so a token would have no rights; create the team again",
			t.Name, t.Namespace)
	}
	token, ends, err := a.newToken(ctx, t.Name, d)
	if err != nil {
		return Grant{}, err
	}
	t.TokenEnds = ends
	return Grant{Team: t, Token: token}, nil
}

// get returns one team.
func (a *Accounts) get(ctx context.Context, name string) (Team, error) {
	all, err := a.List(ctx)
	if err != nil {
		return Team{}, err
	}
	names := make([]string, 0, len(all))
	for _, t := range all {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return Team{}, &UnknownError{Name: name, Known: names}
}

// roleName is the cluster role of a role.
func roleName(role string) string { return "bowline-" + role }

// roleOf is one of Roles, or empty for another cluster role.
func roleOf(clusterRole string) string {
	switch clusterRole {
	case personas.Edit, personas.View, personas.Admin:
		return strings.TrimPrefix(clusterRole, "bowline-")
	}
	return ""
}
