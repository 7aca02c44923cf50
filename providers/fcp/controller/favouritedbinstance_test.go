// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	cachev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/cache/v1alpha3"
	"github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
)

// A scriptedCloud answers every request alike and remembers the last one.
type scriptedCloud struct {
	status int
	answer any

	method, path, token string
	body                map[string]any
}

func (c *scriptedCloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.method, c.path, c.token, c.body = r.Method, r.URL.Path, r.Header.Get(sdk.HeaderIdempotencyKey), nil
	if r.ContentLength > 0 {
		_ = json.NewDecoder(r.Body).Decode(&c.body)
	}
	w.WriteHeader(c.status)
	_ = json.NewEncoder(w).Encode(c.answer)
}

func (c *scriptedCloud) client(t *testing.T) managed.ExternalClient {
	t.Helper()
	return connect(t, favouriteDBInstances(), orders(), v1alpha3.FavouriteDBInstanceGroupVersionKind, c)
}

// connect returns the external client of one pass over an object.
func connect[P, O, V any](t *testing.T, k kind.Kind[*sdk.Client, P, O, V], mg resource.Managed, of schema.GroupVersionKind,
	to *scriptedCloud) managed.ExternalClient {
	t.Helper()
	server := httptest.NewServer(to)
	t.Cleanup(server.Close)
	client, err := sdk.NewClient(sdk.Config{Endpoint: server.URL, Project: "demo", APIKey: "key"})
	if err != nil {
		t.Fatal(err)
	}
	connecter, _, err := kind.NewConnecter(system(nil), k, of.GroupKind(), client)
	if err != nil {
		t.Fatal(err)
	}
	external, err := connecter.Connect(t.Context(), mg)
	if err != nil {
		t.Fatal(err)
	}
	return external
}

func labelsOf(i *v1alpha3.FavouriteDBInstance) map[string]string {
	of := v1alpha3.FavouriteDBInstanceGroupVersionKind.GroupKind()
	return meta.GetExternalLabels(i, of, resource.ProviderConfigName(i))
}

func orders() *v1alpha3.FavouriteDBInstance {
	i := &v1alpha3.FavouriteDBInstance{ObjectMeta: metav1.ObjectMeta{Name: "orders", UID: "uid"}}
	i.Spec.ForProvider = v1alpha3.FavouriteDBInstanceParameters{Name: "orders-db", FancinessLevel: 50, Version: new("15")}
	meta.SetExternalName(i, "orders-db")
	return i
}

func theirs(status string, change func(*database.Instance)) database.Instance {
	i := database.Instance{
		ID: 42, Name: "orders-db", FancinessLevel: 50, Version: "15", Status: status, Hostname: "127.0.0.1", Port: 5432,
		Username: "postgres", Labels: labelsOf(orders()), CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	if change != nil {
		change(&i)
	}
	return i
}

func TestObserve(t *testing.T) {
	t.Parallel()
	details := map[string]string{"endpoint": "127.0.0.1", "port": "5432", "database": "postgres", "username": "postgres"}
	object := func() kind.Object[v1alpha3.FavouriteDBInstanceParameters, v1alpha3.FavouriteDBInstanceObservation] {
		return orders()
	}
	of := v1alpha3.FavouriteDBInstanceGroupVersionKind
	checkObserved(t, favouriteDBInstances(), of, object, details, map[string]observed{
		"online (R31)":                    {have: theirs("ONLINE", nil), ready: xpv1.ReasonAvailable, upToDate: true, owner: "uid"},
		"creating (R31)":                  {have: theirs("CREATING", nil), ready: xpv1.ReasonCreating, upToDate: true, owner: "uid"},
		"deleting (R31)":                  {have: theirs("DELETING", nil), ready: xpv1.ReasonDeleting, upToDate: true, owner: "uid"},
		"any other leaves Ready be (R31)": {have: theirs("UPDATING", nil), ready: "Before", upToDate: true, owner: "uid"},
		"failed (R183)":                   {have: theirs("FAILED", nil), ready: xpv1.ReasonUnavailable, upToDate: true, owner: "uid", failed: true},
		"another version":                 {have: theirs("ONLINE", func(i *database.Instance) { i.Version = "14" }), ready: xpv1.ReasonAvailable, upToDate: true, owner: "uid", failed: true},
		"another fanciness (R39)":         {have: theirs("ONLINE", func(i *database.Instance) { i.FancinessLevel = 9 }), ready: xpv1.ReasonAvailable, owner: "uid"},
		"labels are missing (P15)":        {have: theirs("ONLINE", func(i *database.Instance) { i.Labels = nil }), ready: xpv1.ReasonAvailable},
		"what is going away stays as is":  {have: theirs("DELETING", func(i *database.Instance) { i.FancinessLevel = 9 }), ready: xpv1.ReasonDeleting, upToDate: true, owner: "uid"},
	})
}

func TestCreateAndUpdateSendWhatIsDeclared(t *testing.T) {
	t.Parallel()
	labels := map[string]any{}
	for key, value := range labelsOf(orders()) {
		labels[key] = value
	}
	cloud := &scriptedCloud{status: http.StatusCreated, answer: database.CreatedInstance{Instance: theirs("CREATING", nil), Credentials: sdk.Credentials{Password: "secret"}}}
	created, err := cloud.client(t).Create(t.Context(), orders())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"name": "orders-db", "fanciness_level": 50.0, "version": "15", "labels": labels}
	if diff := cmp.Diff(want, cloud.body); diff != "" || cloud.token != "uid" {
		t.Errorf("token %q, body (N22, R42) -want +got:\n%s", cloud.token, diff)
	}
	if got := string(created.ConnectionDetails[xpv1.ResourceCredentialsSecretPasswordKey]); got != "secret" {
		t.Errorf("password %q (R207)", got)
	}

	cloud = &scriptedCloud{status: http.StatusOK, answer: theirs("ONLINE", func(i *database.Instance) { i.Labels = map[string]string{"team": "red"} })}
	client := cloud.client(t)
	if _, err := client.Observe(t.Context(), orders()); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Update(t.Context(), orders()); err != nil {
		t.Fatal(err)
	}
	labels["team"] = "red"
	if diff := cmp.Diff(map[string]any{"fanciness_level": 50.0, "labels": labels}, cloud.body); diff != "" {
		t.Errorf("only what can be updated is sent, and other people's labels stay (R36, P15) -want +got:\n%s", diff)
	}
}

// A password that the user chose is sent, and shown to those who connect.
func TestChosenPassword(t *testing.T) {
	t.Parallel()
	const chosen = "chosen-password"
	for name, tc := range map[string]struct {
		inputs map[string][]byte
		sent   any // null where none is
	}{
		"chosen (P61, R221)":  {inputs: map[string][]byte{"passwordSecretRef": []byte(chosen)}, sent: chosen},
		"none is given (P62)": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := database.CreatedInstance{Instance: theirs("CREATING", nil), Credentials: sdk.Credentials{Password: "as-answered"}}
			cloud := &scriptedCloud{status: http.StatusOK, answer: answer}
			client := cloud.client(t)
			client.(managed.SecretInputUser).UseSecretInputs(tc.inputs)
			created, err := client.Create(t.Context(), orders())
			if err != nil {
				t.Fatal(err)
			}
			if got := string(created.ConnectionDetails[xpv1.ResourceCredentialsSecretPasswordKey]); cloud.body["password"] != tc.sent || got != "as-answered" {
				t.Errorf("Create sent %v, published %q", cloud.body["password"], got)
			}
			updated, err := client.Update(t.Context(), orders())
			if err != nil {
				t.Fatal(err)
			}
			got, published := updated.ConnectionDetails[xpv1.ResourceCredentialsSecretPasswordKey]
			if cloud.body["password"] != tc.sent || published != (tc.sent != nil) || published && string(got) != chosen {
				t.Errorf("Update sent %v, published %q", cloud.body["password"], got)
			}
		})
	}
}

func TestAbsent(t *testing.T) {
	t.Parallel()
	gone := sdk.ErrorBody{Error: sdk.ErrorDetail{Code: sdk.CodeNotFound, Message: "no such instance"}}
	client := (&scriptedCloud{status: http.StatusNotFound, answer: gone}).client(t)
	if o, err := client.Observe(t.Context(), orders()); err != nil || o.ResourceExists {
		t.Errorf("observed %+v, %v (R22)", o, err)
	}
	if err := client.Delete(t.Context(), orders()); err != nil {
		t.Errorf("deleting what is gone: %v (R38)", err)
	}
}

func TestDefaultName(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ got, want string }{
		"forProvider.name seeds the external name of a database (D19)": {
			favouriteDBInstances().Name(orders(), &v1alpha3.FavouriteDBInstanceParameters{Name: "orders-db"}), "orders-db",
		},
		"a database without it has the name of the object (D19 R63)": {
			favouriteDBInstances().Name(orders(), &v1alpha3.FavouriteDBInstanceParameters{}), "orders",
		},
		"forProvider.name seeds the external name of a cache (D19)": {
			cacheInstances().Name(sessions(), &cachev1alpha3.CacheInstanceParameters{Name: new("declared")}), "declared",
		},
		"a cache without it has the name of the object (D19 R63)": {
			cacheInstances().Name(sessions(), &cachev1alpha3.CacheInstanceParameters{}), "sessions",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.got != tc.want {
				t.Errorf("got %q, want %q", tc.got, tc.want)
			}
		})
	}
}
