// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/cache"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	cachev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/cache/v1alpha3"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
)

// A scriptedCloud answers every request alike and records the last one.
type scriptedCloud struct {
	answer any
	token  string
	body   map[string]any
}

func (c *scriptedCloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.token, c.body = r.Header.Get(sdk.HeaderIdempotencyKey), nil
	if r.ContentLength > 0 {
		_ = json.NewDecoder(r.Body).Decode(&c.body)
	}
	_ = json.NewEncoder(w).Encode(c.answer)
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

// A call is an object with the cloud's answers about it, and the requests that it leads to.
type call struct {
	connect          func(*scriptedCloud) managed.ExternalClient
	object           resource.Managed
	have, created    any
	creates, updates map[string]any // without labels and password
	details          map[string]string
}

// calls have an external name that differs from forProvider.name, and labels that others added.
func calls(t *testing.T) map[string]call {
	db := &databasev1alpha3.FavouriteDBInstance{ObjectMeta: metav1.ObjectMeta{Name: "orders", UID: "uid"}}
	db.Spec.ForProvider = databasev1alpha3.FavouriteDBInstanceParameters{Name: "another", FancinessLevel: 50, Version: new("15")}
	meta.SetExternalName(db, "orders-db")
	instance := database.Instance{
		ID: 42, Name: "orders-db", FancinessLevel: 50, Version: "15", Status: "ONLINE", Hostname: "127.0.0.1", Port: 5432,
		Username: "postgres", Labels: map[string]string{"team": "red"},
	}
	c := &cachev1alpha3.CacheInstance{ObjectMeta: metav1.ObjectMeta{Name: "sessions", UID: "uid"}}
	c.Spec.ForProvider = cachev1alpha3.CacheInstanceParameters{
		Name: new("another"), MemoryMegabytes: new(64), EvictionPolicy: new("allkeys-lru"), EngineVersion: new("7.0"),
	}
	meta.SetExternalName(c, "sessions-cache")
	server := cache.Instance{
		ID: 42, Name: "sessions-cache", MemoryMegabytes: 64, EvictionPolicy: "allkeys-lru", EngineVersion: "7.0", Status: "ONLINE",
		Hostname: "127.0.0.1", Port: 26400, Username: "default", Labels: map[string]string{"team": "red"},
	}
	credentials := sdk.Credentials{Password: "as-answered"}
	return map[string]call{
		"database": {
			connect: func(to *scriptedCloud) managed.ExternalClient {
				return connect(t, favouriteDBInstances(), db, databasev1alpha3.FavouriteDBInstanceGroupVersionKind, to)
			},
			object: db, have: instance, created: database.CreatedInstance{Instance: instance, Credentials: credentials},
			creates: map[string]any{"name": "orders-db", "fanciness_level": 50.0, "version": "15"},
			updates: map[string]any{"fanciness_level": 50.0},
			details: map[string]string{"endpoint": "127.0.0.1", "port": "5432", "database": "postgres", "username": "postgres"},
		},
		"cache": {
			connect: func(to *scriptedCloud) managed.ExternalClient {
				return connect(t, cacheInstances(), c, cachev1alpha3.CacheInstanceGroupVersionKind, to)
			},
			object: c, have: server, created: cache.CreatedInstance{Instance: server, Credentials: credentials},
			creates: map[string]any{
				"name": "sessions-cache", "memory_megabytes": 64.0, "eviction_policy": "allkeys-lru", "engine_version": "7.0",
			},
			updates: map[string]any{"memory_megabytes": 64.0, "eviction_policy": "allkeys-lru"},
			details: map[string]string{"endpoint": "127.0.0.1", "port": "26400", "username": "default"},
		},
	}
}

// sent returns what the cloud received without labels and password, which it checks.
func (c *scriptedCloud) sent(t *testing.T, password string, foreign any) map[string]any {
	t.Helper()
	labels, _ := c.body["labels"].(map[string]any)
	got, _ := c.body["password"].(string)
	if got != password || labels[meta.ExternalLabelUID] != "uid" || labels["team"] != foreign {
		t.Errorf("sent password %q, want %q, and labels %v (P15, P61, P62)", got, password, labels)
	}
	delete(c.body, "labels")
	delete(c.body, "password")
	return c.body
}

func TestCalls(t *testing.T) {
	t.Parallel()
	for _, password := range []string{"", "chosen-password"} {
		for name, tc := range calls(t) {
			t.Run("declared settings of a "+name+", password "+password+" (N22 P15 P61 P62 R36 R42 R207 R211 R221)", func(t *testing.T) {
				t.Parallel()
				cloud := &scriptedCloud{answer: tc.created}
				client := tc.connect(cloud)
				if password != "" {
					inputUser(client).UseSecretInputs(map[string][]byte{"passwordSecretRef": []byte(password)})
				}
				created, err := client.Create(t.Context(), tc.object)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.creates, cloud.sent(t, password, nil)); diff != "" || cloud.token != "uid" {
					t.Errorf("create with token %q -want +got:\n%s", cloud.token, diff)
				}
				if got := string(created.ConnectionDetails[xpv1.ResourceCredentialsSecretPasswordKey]); got != "as-answered" {
					t.Errorf("published password %q", got)
				}
				cloud.answer = tc.have
				observed, err := client.Observe(t.Context(), tc.object)
				if err != nil {
					t.Fatal(err)
				}
				details := map[string]string{}
				for key, value := range observed.ConnectionDetails {
					details[key] = string(value)
				}
				if delete(details, xpv1.ResourceCredentialsSecretPasswordKey); !cmp.Equal(tc.details, details) {
					t.Errorf("details -want +got:\n%s", cmp.Diff(tc.details, details))
				}
				if _, err := client.Update(t.Context(), tc.object); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.updates, cloud.sent(t, password, "red")); diff != "" {
					t.Errorf("update -want +got:\n%s", diff)
				}
			})
		}
	}
}

// inputUser returns the client, or the one that it wraps, as one of secret inputs.
func inputUser(client any) managed.SecretInputUser {
	if user, ok := client.(managed.SecretInputUser); ok {
		return user
	}
	return inputUser(client.(interface{ Unwrap() any }).Unwrap())
}

// A cloud that refuses to check a password is no reason to change it, nor for an error.
func TestCheckPassword(t *testing.T) {
	t.Parallel()
	answer := func(status int, body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		})
	}
	refusal := func(status int, code string) http.Handler {
		return answer(status, fmt.Sprintf(`{"error": {"code": %q, "message": "no"}}`, code))
	}
	for name, tc := range map[string]struct {
		cloud http.Handler
		want  kind.Verdict
		fails bool
	}{
		"accepted":               {cloud: answer(200, `{"accepted": true}`), want: kind.Accepted},
		"refused":                {cloud: answer(200, `{"accepted": false}`), want: kind.Refused},
		"server does not answer": {cloud: refusal(409, sdk.CodeConflict)},
		"not permitted":          {cloud: refusal(403, sdk.CodeForbidden)},
		"older cloud":            {cloud: refusal(405, sdk.CodeInvalid)},
		"throttled":              {cloud: refusal(429, sdk.CodeThrottled), fails: true},
		"failure of the cloud":   {cloud: refusal(500, sdk.CodeInternal), fails: true},
	} {
		t.Run(name+" (N53)", func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(tc.cloud)
			defer server.Close()
			client, err := sdk.NewClient(sdk.Config{Endpoint: server.URL, Project: "demo", APIKey: "key"})
			if err != nil {
				t.Fatal(err)
			}
			r := &cacheRequest{Name: "sessions", Secrets: map[string][]byte{"passwordSecretRef": []byte("secret")}}
			got, err := cacheInstances().CheckSecrets(t.Context(), client, r)
			if got != tc.want || (err != nil) != tc.fails {
				t.Errorf("verdict %d, error %v", got, err)
			}
		})
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]xpv1.ConditionReason{
		"ONLINE": xpv1.ReasonAvailable, "AVAILABLE": xpv1.ReasonAvailable, "CREATING": xpv1.ReasonCreating,
		"DELETING": xpv1.ReasonDeleting, "FAILED": xpv1.ReasonUnavailable, "UPDATING": "Before",
	} {
		for name, tc := range calls(t) {
			t.Run(name+" "+status+" (R31 R183)", func(t *testing.T) {
				mg, have := tc.object.DeepCopyObject().(resource.Managed), reflect.New(reflect.TypeOf(tc.have)).Elem()
				mg.SetConditions(xpv1.Condition{Type: xpv1.TypeReady, Reason: "Before"})
				have.Set(reflect.ValueOf(tc.have))
				have.FieldByName("Status").SetString(status)
				have.FieldByName("Message").SetString("the data is gone")
				o, err := tc.connect(&scriptedCloud{answer: have.Interface()}).Observe(t.Context(), mg)
				got, failed := mg.GetCondition(xpv1.TypeReady), status == "FAILED"
				if err != nil || got.Reason != want || (o.Failed != nil) != failed || failed != strings.Contains(got.Message, "the data is gone") {
					t.Errorf("Ready: %s %q, failed: %v; %v", got.Reason, got.Message, o.Failed, err)
				}
			})
		}
	}
}

// Names of Kubernetes become names that the cloud accepts, unless forProvider has one.
func TestNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 80)
	valid := regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)
	for name, tc := range map[string]struct{ object, declared, want string }{
		"declared (D19)":                 {"orders", "orders-db", "orders-db"},
		"valid stays (D19 R63)":          {"shop-orders-x1b2c", "", "shop-orders-x1b2c"},
		"one letter stays (D19)":         {"a", "", "a"},
		"the longest stays (D19)":        {long[:57] + "-x1b2c", "", long[:57] + "-x1b2c"},
		"a digit first (D19)":            {"1shop-orders-x1b2c", "", "x1shop-orders-x1b2c"},
		"digits only (D19)":              {"42", "", "x42"},
		"dots (D19)":                     {"shop-orders.eu.prod-x1b2c", "", "shop-orders-eu-prod-x1b2c"},
		"both (D19)":                     {"1.a", "", "x1-a"},
		"no room for the letter (D19)":   {"1" + long[:56] + "-x1b2c", "", "x1" + long[:55] + "-x1b2c"},
		"longer than the cloud's (D19)":  {long + "-x1b2c", "", long[:57] + "-x1b2c"},
		"the longest in the world (D19)": {strings.Repeat("1.", 126) + "z", "", "x" + strings.Repeat("1-", 28) + "-1-1-z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := metav1.ObjectMeta{Name: tc.object}
			c := &cachev1alpha3.CacheInstance{ObjectMeta: of}
			if tc.declared != "" {
				c.Spec.ForProvider.Name = &tc.declared
			}
			for kind, got := range map[string]string{
				"database": favouriteDBInstances().Name(&databasev1alpha3.FavouriteDBInstance{ObjectMeta: of},
					&databasev1alpha3.FavouriteDBInstanceParameters{Name: tc.declared}),
				"cache": cacheInstances().Name(c, &c.Spec.ForProvider),
			} {
				if got != tc.want || !valid.MatchString(got) {
					t.Errorf("%s: got %q, want %q", kind, got, tc.want)
				}
			}
		})
	}
}

func TestErrorsNameTheKind(t *testing.T) {
	t.Parallel()
	mg := &databasev1alpha3.FavouriteDBInstance{}
	c := connect(t, favouriteDBInstances(), mg, databasev1alpha3.FavouriteDBInstanceGroupVersionKind, &scriptedCloud{answer: "no object"})
	if _, err := c.Observe(t.Context(), mg); err == nil || !strings.HasPrefix(err.Error(), "cannot get favourite db instance: ") {
		t.Errorf("error %v (R28)", err)
	}
}
