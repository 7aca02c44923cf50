// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package providerconfig_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/kinds"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// Which object uses which of several configurations of one name.
func TestScopes(t *testing.T) {
	t.Parallel()
	cluster, team := newStage(t), newStage(t)
	team.env, team.Own = cluster.env, cluster.Own
	cluster.kind, cluster.user = groups().Namespaced.WithKind("ClusterProviderConfig"), groups().Namespaced.WithKind("Item")
	team.kind, team.user = groups().Namespaced.WithKind("ProviderConfig"), cluster.user
	name := cluster.env.Prefix + "c"
	configs := map[string]resource.ProviderConfig{"default": &kinds.ClusterProviderConfig{}, "cluster": &kinds.ClusterProviderConfig{},
		"team": &kinds.TeamProviderConfig{}}
	clusterConfig := func(key, name string) {
		configs[key].SetName(name)
		configs[key].SetLabels(cluster.Labels)
		cluster.Create(configs[key])
	}
	clusterConfig("default", resource.DefaultProviderConfig)
	clusterConfig("cluster", name)
	configs["team"].(*kinds.TeamProviderConfig).ObjectMeta = team.Meta(team.env.Namespace, name)
	team.Create(configs["team"])
	elsewhere := cluster.teamItem("elsewhere", "ProviderConfig", name)
	elsewhere.Namespace = "default"
	elsewhere.Name = name
	t.Cleanup(func() { _ = cluster.env.Client.Delete(context.Background(), elsewhere) })
	moves := cluster.teamItem("moves", "ProviderConfig", name)
	cluster.Create(
		cluster.teamItem("unsaid-1", "", ""), cluster.teamItem("unsaid-2", "", ""), cluster.teamItem("unsaid-3", "", ""),
		cluster.teamItem("by-name", "", name), cluster.teamItem("by-kind", "ClusterProviderConfig", name),
		moves, elsewhere,
	)
	cluster.start()
	team.start()
	count := func(want map[string]int64) func(context.Context) error {
		return func(ctx context.Context) error {
			got := map[string]int64{}
			for key, c := range configs {
				if err := cluster.env.Client.Get(ctx, client.ObjectKeyFromObject(c), c); err != nil {
					return err
				}
				got[key] = c.GetUsers()
			}
			if diff := cmp.Diff(want, got); diff != "" {
				return errors.New(diff)
			}
			return nil
		}
	}
	cluster.env.Eventually(t, "users are counted separately (N2)", count(map[string]int64{"default": 3, "cluster": 2, "team": 1}))
	cluster.edit(moves, func() {
		moves.Spec.ProviderConfigReference = &xpv1.ProviderConfigReference{Name: resource.DefaultProviderConfig}
	})
	cluster.env.Eventually(t, "one moves (N2)", count(map[string]int64{"default": 4, "cluster": 2, "team": 0}))

	cluster.Delete(configs["cluster"], configs["team"])
	cluster.env.Eventually(t, "the team's configuration is deleted (N2)", cluster.deleted(configs["team"]))
	cluster.env.Eventually(t, "the cluster's is in use (N2)", func(ctx context.Context) error {
		if err := count(map[string]int64{"default": 4, "cluster": 2, "team": 0})(ctx); err == nil {
			return errors.New("the team's configuration is back")
		}
		if r := configs["cluster"].GetCondition(xpv1.TypeReady); r.Message == "" {
			return errors.New("it has no message")
		}
		return nil
	})
}

// The process is killed at each of its writes in turn, before or after the server executed it. Its successor finishes: all is
// protected while in use, and nothing is left behind.
func TestCrash(t *testing.T) {
	t.Parallel()
	for write := range 10 {
		for _, when := range []string{"before", "after"} {
			t.Run(fmt.Sprintf("killed %s write %d (N29)", when, write), func(t *testing.T) {
				t.Parallel()
				crash(t, write, when == "after")
			})
		}
	}
}

func crash(t *testing.T, write int, done bool) {
	s := newStage(t)
	first, second, config, item := s.secret("first"), s.secret("second"), s.config("c", "first"), s.item("a", "c")
	s.Create(first, second, config, item)
	var written atomic.Int32
	var dead atomic.Bool
	killed := make(chan struct{})
	s.write = func(*http.Request) error {
		switch n := int(written.Add(1)) - 1; {
		case n == write:
			dead.Store(true)
			close(killed)
			if done {
				return nil
			}
		case n < write:
			return nil
		}
		if dead.Load() {
			return errors.New("the process is dead")
		}
		return nil
	}
	s.start()
	revive := func() {
		select {
		case <-killed:
			if dead.Load() {
				s.stop()
				dead.Store(false)
				s.start()
			}
		default:
		}
	}
	eventually := func(what string, check func(context.Context) error) {
		t.Helper()
		s.env.Eventually(t, what, func(ctx context.Context) error {
			revive()
			return check(ctx)
		})
	}
	eventually("the configuration is protected", s.protected(config, true))
	eventually("its secret is protected", s.protected(first, true))
	eventually("its user is counted", s.reports(config, 1, ""))
	s.edit(config, func() { config.Spec.Credentials.SecretRef.Name = "second" })
	eventually("its new secret is protected", s.protected(second, true))
	eventually("its old secret is released", s.protected(first, false))
	s.Delete(config)
	eventually("it stays", s.reports(config, 1, "InUse"))
	s.Delete(item)
	eventually("it is deleted", s.deleted(config))
	for _, secret := range []client.Object{first, second} {
		if err := s.protected(secret, false)(t.Context()); err != nil {
			t.Errorf("a secret is left behind: %v", err)
		}
		for annotation := range secret.GetAnnotations() {
			t.Errorf("secret %s keeps annotation %s", secret.GetName(), annotation)
		}
	}
	if int(written.Load()) <= write {
		t.Errorf("there were %d writes, too few to be killed at %d", written.Load(), write)
	}
}
