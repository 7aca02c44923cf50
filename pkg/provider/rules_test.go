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

	"github.com/prometheus/client_golang/prometheus"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/kinds"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/telemetry"
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
	registry := prometheus.NewRegistry()
	requests, err := telemetry.NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var refused []string
	rc := fault.Intercept(s.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		resp, err := requests.WrapTransport(next).RoundTrip(req)
		if err == nil && resp.StatusCode == http.StatusForbidden {
			mu.Lock()
			defer mu.Unlock()
			refused = append(refused, req.Method+" "+req.URL.Path)
		}
		return resp, err
	})
	rc.Impersonate = rest.ImpersonationConfig{UserName: user}
	s.startAs(rc, p)
	s.live()
	mu.Lock()
	defer mu.Unlock()
	failIf(t, "nothing is refused (N12, N29, N30)", len(refused) > 0, "refused: %q", refused)
	t.Run("nothing more is allowed (N12, N29, N30)", func(t *testing.T) {
		const targets = "kubernetestargets.workload.crossplane.io"
		seldom := []string{
			"get items.depot.test.bowline.dev", "get items.depot.m.test.bowline.dev", // where a cache was found to be behind
			"get events", "patch events", // where a thing happens again
			"get namespaces", // where the Secret of a ProviderConfig is missing
			"watch customresourcedefinitions.apiextensions.k8s.io", // while a kind that is referred to is not installed
			// By servers that do not begin a watch with what there is.
			"list clusterproviderconfigs.depot.m.test.bowline.dev", "list providerconfigs.depot.m.test.bowline.dev",
			"list providerconfigs.depot.test.bowline.dev", "list secrets",
			// By the controller of targets, which provider.NewManager adds.
			"get " + targets, "list " + targets, "watch " + targets, "patch " + targets, "patch " + targets + "/status",
			"list kubernetesapplicationresources.workload.crossplane.io",
			"delete secrets", "list resourcequotas", "watch resourcequotas",
		}
		used := made(t, registry)
		var more []string
		for _, access := range accesses(rules) {
			if !used[access] && !slices.Contains(seldom, access) {
				more = append(more, access)
			}
		}
		if len(more) > 0 {
			t.Errorf("never done: %q", more)
		}
	})
}

// live creates, changes and deletes objects of all kinds.
func (s *stage) live() {
	cluster := &kinds.ClusterProviderConfig{ObjectMeta: s.Meta("", s.Prefix+"cluster"), Spec: s.spec("key")}
	config := &kinds.ProviderConfig{ObjectMeta: s.Meta("", s.Prefix+"config"), Spec: s.spec("key")}
	team := s.teamConfig("team")
	byTeam, byCluster := s.teamItem("by-team", "team"), s.teamItem("by-cluster", cluster.Name)
	byCluster.Spec.ProviderConfigReference.Kind = xpv1.ClusterProviderConfigKind
	byTeam.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Name: "connection"}
	byConfig := &kinds.Item{ObjectMeta: s.Meta("", s.Prefix+"by-config")}
	byConfig.Spec.ProviderConfigReference = &xpv1.ProviderConfigReference{Name: config.Name}
	s.Create(cluster, config, team, byTeam, byCluster, byConfig)
	s.settled(byTeam, byCluster, byConfig)
	s.Change(byTeam, func() { byTeam.Spec.ForProvider.Size = new(int64(2)) }) // and so the connection secret
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

// made are the requests that metrics counted, as "verb resource.group/subresource".
func made(t *testing.T, from prometheus.Gatherer) map[string]bool {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if labels := m.GetLabel(); f.GetName() == "bowline_api_requests_total" {
				all[labels[2].GetValue()+" "+labels[1].GetValue()] = true // code, resource, verb
			}
		}
	}
	return all
}

// accesses are what rules allow, in the form of made.
func accesses(rules []rbacv1.PolicyRule) (all []string) {
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					resource, status, of := strings.Cut(resource, "/")
					if group != "" {
						resource += "." + group
					}
					if of {
						resource += "/" + status
					}
					all = append(all, verb+" "+resource)
				}
			}
		}
	}
	return all
}
