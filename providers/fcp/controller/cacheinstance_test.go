// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/cache"
	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/fcp/apis/cache/v1alpha3"
)

func sessions() *v1alpha3.CacheInstance {
	i := &v1alpha3.CacheInstance{ObjectMeta: metav1.ObjectMeta{Name: "sessions", UID: "uid"}}
	i.Spec.ForProvider = v1alpha3.CacheInstanceParameters{
		Name: new("another"), MemoryMegabytes: new(64), EvictionPolicy: new("allkeys-lru"), EngineVersion: new("7.0"),
		Labels: map[string]string{"team": "red"},
	}
	meta.SetExternalName(i, "sessions-cache")
	return i
}

func labelsOfCache() map[string]string {
	labels := meta.GetExternalLabels(sessions(), v1alpha3.CacheInstanceGroupVersionKind.GroupKind(), resource.ProviderConfigName(sessions()))
	labels["team"] = "red"
	return labels
}

func theirCache(status string) cache.Instance {
	return cache.Instance{
		ID: 42, Name: "sessions-cache", MemoryMegabytes: 64, EvictionPolicy: "allkeys-lru", EngineVersion: "7.0", Status: status,
		Hostname: "127.0.0.1", Port: 26400, Username: "default", Labels: labelsOfCache(),
	}
}

func TestObserveCache(t *testing.T) {
	t.Parallel()
	changed := func(change func(*cache.Instance)) cache.Instance {
		i := theirCache("ONLINE")
		change(&i)
		return i
	}
	details := map[string]string{"endpoint": "127.0.0.1", "port": "26400", "username": "default"}
	object := func() kind.Object[v1alpha3.CacheInstanceParameters, v1alpha3.CacheInstanceObservation] {
		return sessions()
	}
	checkObserved(t, cacheInstances(), v1alpha3.CacheInstanceGroupVersionKind, object, details, map[string]observed{
		"online (R31)":            {have: theirCache("ONLINE"), ready: xpv1.ReasonAvailable, upToDate: true, owner: "uid"},
		"creating (R31)":          {have: theirCache("CREATING"), ready: xpv1.ReasonCreating, upToDate: true, owner: "uid"},
		"deleting (R31)":          {have: theirCache("DELETING"), ready: xpv1.ReasonDeleting, upToDate: true, owner: "uid"},
		"updating (R31)":          {have: theirCache("UPDATING"), ready: "Before", upToDate: true, owner: "uid"},
		"failed (R183)":           {have: theirCache("FAILED"), ready: xpv1.ReasonUnavailable, upToDate: true, failed: true, owner: "uid"},
		"another version":         {have: changed(func(i *cache.Instance) { i.EngineVersion = "7.2" }), ready: xpv1.ReasonAvailable, upToDate: true, failed: true, owner: "uid"},
		"another memory (R39)":    {have: changed(func(i *cache.Instance) { i.MemoryMegabytes = 8 }), ready: xpv1.ReasonAvailable, owner: "uid"},
		"another policy (R39)":    {have: changed(func(i *cache.Instance) { i.EvictionPolicy = "noeviction" }), ready: xpv1.ReasonAvailable, owner: "uid"},
		"a label is lost (P15)":   {have: changed(func(i *cache.Instance) { delete(i.Labels, "team") }), ready: xpv1.ReasonAvailable, owner: "uid"},
		"a label of others (P15)": {have: changed(func(i *cache.Instance) { i.Labels["foreign"] = "yes" }), ready: xpv1.ReasonAvailable, upToDate: true, owner: "uid"},
	})
}

func TestCacheSendsWhatIsDeclared(t *testing.T) {
	t.Parallel()
	labels := map[string]any{}
	for key, value := range labelsOfCache() {
		labels[key] = value
	}
	cloud := &scriptedCloud{status: http.StatusCreated, answer: cache.CreatedInstance{Instance: theirCache("CREATING"), Credentials: sdk.Credentials{Password: "as-answered"}}}
	client := connect(t, cacheInstances(), sessions(), v1alpha3.CacheInstanceGroupVersionKind, cloud)
	client.(managed.SecretInputUser).UseSecretInputs(map[string][]byte{"passwordSecretRef": []byte("chosen-password")})
	created, err := client.Create(t.Context(), sessions())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"name": "sessions-cache", "memory_megabytes": 64.0, "eviction_policy": "allkeys-lru", "engine_version": "7.0",
		"password": "chosen-password", "labels": labels,
	}
	if diff := cmp.Diff(want, cloud.body); diff != "" || cloud.token != "uid" {
		t.Errorf("token %q, body (N22, R42, P61) -want +got:\n%s", cloud.token, diff)
	}
	if got := string(created.ConnectionDetails[xpv1.ResourceCredentialsSecretPasswordKey]); got != "as-answered" {
		t.Errorf("password %q (R207)", got)
	}
	cloud.answer = theirCache("ONLINE")
	if _, err := client.Observe(t.Context(), sessions()); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Update(t.Context(), sessions()); err != nil {
		t.Fatal(err)
	}
	delete(want, "name")
	delete(want, "engine_version")
	if diff := cmp.Diff(want, cloud.body); diff != "" {
		t.Errorf("only what can be updated is sent (R36, P61) -want +got:\n%s", diff)
	}
}
