// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/test/bench/provider"
)

func named(name string, size int64) *shop.Item {
	s := &shop.Item{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid"}}
	s.Spec.ForProvider.Size = &size
	meta.SetExternalName(s, name)
	return s
}

func TestCloud(t *testing.T) {
	t.Parallel()
	cloud := provider.NewCloud(0)
	client, err := cloud.Connect(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := named("a", 1)
	observe := func(exists, upToDate bool) {
		t.Helper()
		o, err := client.Observe(t.Context(), s)
		if err != nil || o.ResourceExists != exists || o.ResourceUpToDate != upToDate || exists && *o.Owner != "uid" {
			t.Errorf("observed %+v, %v", o, err)
		}
	}
	observe(false, false)
	created, err := client.Create(t.Context(), s)
	if err != nil || len(created.ConnectionDetails) != 4 {
		t.Errorf("created %+v, %v", created, err)
	}
	observe(true, true)
	s.Spec.ForProvider.Size = new(int64(2))
	observe(true, false)
	if _, err := client.Update(t.Context(), s); err != nil {
		t.Error(err)
	}
	observe(true, true)
	if err := client.Delete(t.Context(), s); err != nil {
		t.Error(err)
	}
	observe(false, false)
	want := map[string]int{"observe": 5, "create": 1, "update": 1, "delete": 1}
	if diff := cmp.Diff(want, cloud.Calls.Snapshot()); diff != "" {
		t.Errorf("calls -want +got:\n%s", diff)
	}
}

func TestCloudSurvivesItsProcess(t *testing.T) {
	t.Parallel()
	client, err := provider.NewCloud(0).Connect(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := named("a", 2)
	s.Status.AtProvider.Size = 1
	meta.SetExternalCreateSucceeded(s, time.Now())
	for _, upToDate := range []bool{false, true} {
		if o, err := client.Observe(t.Context(), s); err != nil || !o.ResourceExists || o.ResourceUpToDate != upToDate {
			t.Errorf("observed %+v, %v", o, err)
		}
		if _, err := client.Update(t.Context(), s); err != nil {
			t.Error(err)
		}
	}
	if err := client.Delete(t.Context(), s); err != nil {
		t.Error(err)
	}
	if o, err := client.Observe(t.Context(), s); err != nil || o.ResourceExists {
		t.Errorf("deleted, then observed %+v, %v", o, err)
	}
}

func TestCloudHasALatency(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	client, err := provider.NewCloud(time.Hour).Connect(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Observe(ctx, named("a", 1)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func ExampleNewCloud() {
	cloud := provider.NewCloud(time.Millisecond)
	client, _ := cloud.Connect(context.Background(), nil)
	_, err := client.Create(context.Background(), named("a", 1))
	fmt.Println(cloud.Calls.Snapshot(), err)
	// Output: map[create:1] <nil>
}
