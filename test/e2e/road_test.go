// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e walks whole roads through the real program: from YAML to a running PostgreSQL and back, with and without
// mistakes on the way.
package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
	"github.com/bowline-dev/bowline/pkg/meta"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	"github.com/bowline-dev/bowline/test/plane"
)

// within bounds every wait for something that takes seconds.
const within = time.Minute

// From YAML to a running server and back (scenario 1 of the contract's annex C).
func TestRoad(t *testing.T) {
	t.Parallel()
	p := plane.New(t, "--poll-interval=2s")
	p.Up(t)
	key := p.NewKey(t, plane.Project)
	p.Connect(t, "default", key)

	create(t, p, plane.Database("orders", 50))
	works(t, p, "orders")
	columns(t, p, "orders")

	setFanciness(t, p, "orders", 80)
	works(t, p, "orders")

	level := 20
	cloud := cloudClient(t, p, key)
	if _, err := cloud.UpdateInstance(t.Context(), "orders", database.UpdateInstanceInput{FancinessLevel: &level}); err != nil {
		t.Fatal(err)
	}
	p.Eventually(t, within, "the change behind our back takes effect", func(ctx context.Context) error {
		return maxConnections(ctx, p, "orders", "20")
	})
	works(t, p, "orders") // at 80 again

	servers := p.Servers(t)
	if len(servers) != 1 {
		t.Fatalf("servers: %v, want one", servers)
	}
	if err := p.Client.Delete(t.Context(), plane.Database("orders", 0)); err != nil {
		t.Fatal(err)
	}
	p.Eventually(t, within, "object and secret are gone", func(ctx context.Context) error { return p.Gone(ctx, "orders") })
	if left := p.Servers(t); len(left) != 0 {
		t.Errorf("servers left: %v", left)
	}
	if _, err := os.Stat(servers[0].Data); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the data folder %s is left: %v", servers[0].Data, err)
	}
}

// What exists already and was made by somebody else is refused, and adopted only on the user's word (N6, N24).
func TestAdoption(t *testing.T) {
	t.Parallel()
	p := plane.New(t, "--poll-interval=2s")
	p.Up(t)
	key := p.NewKey(t, plane.Project)
	p.Connect(t, "default", key)
	cloud := cloudClient(t, p, key)
	if _, err := cloud.CreateInstance(t.Context(), database.CreateInstanceInput{Name: "legacy", FancinessLevel: 20}); err != nil {
		t.Fatal(err)
	}
	create(t, p, plane.Database("legacy", 30))
	says(t, p, "legacy", "exists already and was not created for this object", "crossplane.io/external-name: legacy")

	annotate(t, p, "legacy", meta.AnnotationKeyExternalName, "legacy")
	p.Eventually(t, within, "the instance is adopted and kept as declared", func(ctx context.Context) error {
		have, err := cloud.GetInstance(ctx, "legacy")
		if err != nil {
			return err
		}
		if have.FancinessLevel != 30 || have.Labels[meta.ExternalLabelUID] == "" {
			return fmt.Errorf("fanciness %d, labels %v", have.FancinessLevel, have.Labels)
		}
		return nil
	})
}

func create(t *testing.T, p *plane.Plane, o client.Object) {
	t.Helper()
	if err := p.Client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

func works(t *testing.T, p *plane.Plane, name string) {
	t.Helper()
	p.Eventually(t, within, name+" works", func(ctx context.Context) error { return p.Works(ctx, name) })
}

func maxConnections(ctx context.Context, p *plane.Plane, name, want string) error {
	level, err := p.MaxConnections(ctx, name)
	if err != nil {
		return err
	}
	if level != want {
		return fmt.Errorf("max_connections is %s, want %s", level, want)
	}
	return nil
}

func setFanciness(t *testing.T, p *plane.Plane, name string, level int) {
	t.Helper()
	patch(t, p, plane.Database(name, 0), fmt.Sprintf(`{"spec":{"forProvider":{"fancinessLevel":%d}}}`, level))
}

func annotate(t *testing.T, p *plane.Plane, name, key, value string) {
	t.Helper()
	patch(t, p, plane.Database(name, 0), fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value))
}

func patch(t *testing.T, p *plane.Plane, o client.Object, merge string) {
	t.Helper()
	if err := p.Client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(merge))); err != nil {
		t.Fatal(err)
	}
}

// says waits until condition Synced is False with a message of the given parts, and an event says so too.
func says(t *testing.T, p *plane.Plane, name string, parts ...string) {
	t.Helper()
	db := &databasev1alpha3.FavouriteDBInstance{}
	p.Eventually(t, within, name+" says what is wrong", func(ctx context.Context) error {
		if err := p.Client.Get(ctx, client.ObjectKey{Name: name}, db); err != nil {
			return err
		}
		return contains(db.GetCondition("Synced").Message, parts)
	})
	if reason := db.GetCondition("Synced").Reason; reason != "ReconcileError" {
		t.Errorf("%s: reason %s, want ReconcileError", name, reason)
	}
	p.Eventually(t, within, "an event about "+name+" says so too", func(ctx context.Context) error {
		out, err := p.Run(ctx, "kubectl", "events", "--for", "favouritedbinstance/"+name, "-n", "default")
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return contains(out, append([]string{"Warning"}, parts...))
	})
}

func contains(text string, parts []string) error {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return fmt.Errorf("want %q in %q", part, text)
		}
	}
	return nil
}

// columns checks what kubectl prints (T22).
func columns(t *testing.T, p *plane.Plane, name string) {
	t.Helper()
	out, err := p.Run(t.Context(), "kubectl", "get", "favouritedbinstances")
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := strings.Split(out, "\n")
	if got := strings.Fields(lines[0]); strings.Join(got, " ") != "NAME READY SYNCED EXTERNAL-NAME AGE" {
		t.Errorf("columns %v", got)
	}
	if got := strings.Fields(lines[1]); len(got) != 5 || strings.Join(got[:4], " ") != name+" True True "+name {
		t.Errorf("row %v", got)
	}
}

func cloudClient(t *testing.T, p *plane.Plane, key string) *database.Client {
	t.Helper()
	c, err := sdk.NewClient(sdk.Config{Endpoint: p.Cloud, Project: plane.Project, APIKey: key})
	if err != nil {
		t.Fatal(err)
	}
	return database.NewClient(c)
}
