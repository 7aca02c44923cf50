// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/kinds"
	"github.com/bowline-dev/bowline/pkg/provider"
)

// The rules of a provider are exactly what its controllers need.
func TestRules(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.events = nil // they are written by the API, too
	p := newProvider(s.journal.factory(0))
	rules, err := p.Rules()
	if err != nil {
		t.Fatal(err)
	}
	rules = append(rules, provider.CommonRules()...)
	user := s.Namespace
	grant(t, user, rules)
	journal := &journal{}
	rc := fault.Intercept(s.Config, journal.answer)
	rc.Impersonate = rest.ImpersonationConfig{UserName: user}
	s.startAs(rc, p)
	s.live()
	used, refused := journal.read()
	failIf(t, "nothing is refused (N12, N29, N30)", len(refused) > 0, "refused: %q", refused)
	t.Run("nothing more is allowed (N12, N29, N30)", func(t *testing.T) {
		seldom := []string{
			"get depot.test.bowline.dev/items", "get depot.m.test.bowline.dev/items", // where a cache was found to be behind
			"get /events", "patch /events", // where a thing happens again
			"watch apiextensions.k8s.io/customresourcedefinitions", // while a kind that is referred to is not installed
			// By servers that do not begin a watch with what there is.
			"list depot.m.test.bowline.dev/clusterproviderconfigs", "list depot.m.test.bowline.dev/providerconfigs",
			"list depot.test.bowline.dev/providerconfigs", "list /secrets",
		}
		var more []string
		for _, access := range accesses(rules) {
			if !slices.Contains(used, access) && !slices.Contains(seldom, access) {
				more = append(more, access)
			}
		}
		if len(more) > 0 {
			t.Errorf("never done: %q", more)
		}
	})
	t.Run("rules of kinds and configurations (N12)", func(t *testing.T) {
		rules, err := p.Rules()
		if err != nil {
			t.Fatal(err)
		}
		want := []rbacv1.PolicyRule{
			{APIGroups: []string{"depot.m.test.bowline.dev"}, Resources: []string{"clusterproviderconfigs", "providerconfigs"},
				Verbs: []string{"get", "list", "watch", "patch"}},
			{APIGroups: []string{"depot.m.test.bowline.dev"}, Resources: []string{"clusterproviderconfigs/status", "providerconfigs/status"},
				Verbs: []string{"patch"}},
			{APIGroups: []string{"depot.test.bowline.dev"}, Resources: []string{"providerconfigs"}, Verbs: []string{"get", "list", "watch", "patch"}},
			{APIGroups: []string{"depot.test.bowline.dev"}, Resources: []string{"providerconfigs/status"}, Verbs: []string{"patch"}},
			{APIGroups: []string{"depot.m.test.bowline.dev"}, Resources: []string{"items"}, Verbs: []string{"get", "list", "watch", "patch"}},
			{APIGroups: []string{"depot.m.test.bowline.dev"}, Resources: []string{"items/status"}, Verbs: []string{"patch"}},
			{APIGroups: []string{"depot.test.bowline.dev"}, Resources: []string{"items"}, Verbs: []string{"get", "list", "watch", "patch"}},
			{APIGroups: []string{"depot.test.bowline.dev"}, Resources: []string{"items/status"}, Verbs: []string{"patch"}},
		}
		if diff := cmp.Diff(want, rules); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// live creates, changes and deletes objects of all kinds.
func (s *stage) live() {
	cluster := &kinds.ClusterProviderConfig{Config: kinds.Config{ObjectMeta: s.Meta("", s.Prefix+"cluster"), Spec: s.spec("key")}}
	config := &kinds.ProviderConfig{Config: kinds.Config{ObjectMeta: s.Meta("", s.Prefix+"config"), Spec: s.spec("key")}}
	team := s.teamConfig("team")
	byTeam, byCluster := s.teamItem("by-team", "team"), s.teamItem("by-cluster", cluster.Name)
	byCluster.Spec.ProviderConfigReference.Kind = xpv1.ClusterProviderConfigKind
	byTeam.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Name: "connection"}
	byConfig := &kinds.Item{Stock: kinds.Stock{ObjectMeta: s.Meta("", s.Prefix+"by-config")}}
	byConfig.Spec.ProviderConfigReference = &xpv1.ProviderConfigReference{Name: config.Name}
	s.Create(cluster, config, team, byTeam, byCluster, byConfig)
	s.settled(byTeam, byCluster, byConfig)
	s.Change(byTeam, func() { byTeam.Spec.ForProvider.Size = 2 }) // and so the connection secret
	s.settled(byTeam)
	s.Delete(byTeam, byCluster, byConfig, cluster, config, team)
	s.Eventually(s.t, "all are deleted", func(ctx context.Context) error {
		for _, o := range []client.Object{byTeam, byCluster, byConfig, cluster, config, team} {
			err := s.Client.Get(ctx, client.ObjectKeyFromObject(o), o)
			if err == nil {
				return fmt.Errorf("%T %s exists", o, o.GetName())
			}
			if client.IgnoreNotFound(err) != nil {
				return err
			}
		}
		return nil
	})
}

// grant gives a user the permissions while the test runs. It returns when they are in force.
func grant(t *testing.T, user string, rules []rbacv1.PolicyRule) {
	t.Helper()
	env := controlplanetest.New(t,
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: rules},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: user},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		})
	env.InForce(t, user, "", rules[0])
}

// accesses are what rules allow, as a journal writes it.
func accesses(rules []rbacv1.PolicyRule) (all []string) {
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					all = append(all, verb+" "+group+"/"+resource)
				}
			}
		}
	}
	return all
}

// A journal records the requests to an API server: "verb group/resource".
type journal struct {
	mu            sync.Mutex
	used, refused []string
}

func (j *journal) read() (used, refused []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.used), slices.Clone(j.refused)
}

// answer writes the journal.
func (j *journal) answer(req *http.Request, next http.RoundTripper) (*http.Response, error) {
	resp, err := next.RoundTrip(req)
	if access := accessOf(req); access != "" && err == nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.used = append(j.used, access)
		if resp.StatusCode == http.StatusForbidden {
			j.refused = append(j.refused, access)
		}
	}
	return resp, err
}

// accessOf names a request as rules do; empty for discovery.
func accessOf(req *http.Request) string {
	parts, group := strings.Split(strings.Trim(req.URL.Path, "/"), "/"), ""
	if parts[0] == "apis" && len(parts) > 1 {
		parts, group = parts[1:], parts[1]
	}
	if len(parts) < 3 {
		return ""
	}
	parts = parts[2:] // without "api" or group, and version
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	resource, verb := parts[0], strings.ToLower(req.Method)
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	switch {
	case verb == "post":
		verb = "create"
	case verb == "get" && len(parts) == 1 && req.URL.Query().Get("watch") != "":
		verb = "watch"
	case verb == "get" && len(parts) == 1:
		verb = "list"
	}
	return verb + " " + group + "/" + resource
}
