// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
)

// startPaperCloud runs a cloud that finds no PostgreSQL, for tests of what does not need a server.
func startPaperCloud(t *testing.T) *cloud {
	t.Helper()
	return startCloud(t, favouritecloud.Config{DataDir: newDataDir(t), PostgresSearchPath: []string{t.TempDir()}})
}

// request makes a raw request and returns status, headers and body.
func request(t *testing.T, method, url, token, body string, headers map[string]string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(resp.Body)
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(content)
}

// expectRefusal makes a request that must be refused, and returns the answer's body.
func expectRefusal(t *testing.T, method, url, token, body string, headers map[string]string, status int, code, message string) string {
	t.Helper()
	resp, content := request(t, method, url, token, body, headers)
	var answer sdk.ErrorBody
	if err := json.Unmarshal([]byte(content), &answer); err != nil {
		t.Fatalf("answer %q: %v", content, err)
	}
	if resp.StatusCode != status || answer.Error.Code != code || !strings.Contains(answer.Error.Message, message) {
		t.Errorf("got %d %s; want %d %s with %q", resp.StatusCode, content, status, code, message)
	}
	return content
}

// A refusal is a request that must be refused.
type refusal struct {
	method, path, body string
	status             int
	code, message      string
}

// refuse makes requests below a path of the project, with its key.
func refuse(t *testing.T, c *cloud, below string, cases map[string]refusal) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			expectRefusal(t, tc.method, c.url+"/v1/projects/demo/"+below+tc.path, c.apiKey, tc.body, nil, tc.status, tc.code, tc.message)
		})
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	c := startPaperCloud(t)
	create(t, c.databases, database.CreateInstanceInput{Name: "taken", FancinessLevel: 20})
	const mine, one = "/v1/projects/demo/database/instances", "/v1/projects/demo/database/instances/taken"
	admin := adminToken(t, c.dir)
	cases := map[string]struct {
		method, path, token, body string
		key                       string // Idempotency-Key
		status                    int
		code, message             string
	}{
		"no key":             {method: "GET", path: mine, status: 401, code: sdk.CodeUnauthorized, message: "Authorization: Bearer"},
		"wrong key":          {method: "GET", path: mine, token: "fck_x_y", status: 401, code: sdk.CodeUnauthorized, message: "not valid"},
		"right id only":      {method: "GET", path: mine, token: c.apiKey[:21] + "0", status: 401, code: sdk.CodeUnauthorized, message: "not valid"},
		"other project":      {method: "GET", path: "/v1/projects/other/database/instances", token: c.apiKey, status: 403, code: sdk.CodeForbidden, message: `belongs to project "demo"`},
		"admin as user":      {method: "GET", path: mine, token: admin, status: 403, code: sdk.CodeForbidden, message: "only create API keys"},
		"user as admin":      {method: "POST", path: "/v1/projects/demo/keys", token: c.apiKey, status: 403, code: sdk.CodeForbidden, message: "admin token"},
		"bad project":        {method: "POST", path: "/v1/projects/Bad/keys", token: admin, status: 422, code: sdk.CodeInvalid, message: `project "Bad"`},
		"no such instance":   {method: "GET", path: mine + "/none", token: c.apiKey, status: 404, code: sdk.CodeNotFound, message: `"none" does not exist in project "demo"`},
		"update of nothing":  {method: "PATCH", path: mine + "/none", token: c.apiKey, body: `{}`, status: 404, code: sdk.CodeNotFound, message: "does not exist"},
		"no such route":      {method: "GET", path: "/v2", token: c.apiKey, status: 404, code: sdk.CodeNotFound, message: "/v2"},
		"no such method":     {method: "PUT", path: one, token: c.apiKey, status: 405, code: sdk.CodeInvalid, message: "use DELETE, GET, HEAD, PATCH"},
		"name taken":         {method: "POST", path: mine, token: c.apiKey, body: `{"name":"taken","fanciness_level":20}`, status: 409, code: sdk.CodeExists, message: `"taken" exists in project "demo"`},
		"no body":            {method: "POST", path: mine, token: c.apiKey, status: 400, code: sdk.CodeInvalid, message: "no body"},
		"not JSON":           {method: "POST", path: mine, token: c.apiKey, body: `{"name":`, status: 400, code: sdk.CodeInvalid, message: "not valid JSON"},
		"two values":         {method: "POST", path: mine, token: c.apiKey, body: `{} {}`, status: 400, code: sdk.CodeInvalid, message: "more than one"},
		"not an object":      {method: "POST", path: mine, token: c.apiKey, body: `[]`, status: 422, code: sdk.CodeInvalid, message: "must be a JSON object"},
		"wrong type":         {method: "POST", path: mine, token: c.apiKey, body: `{"fanciness_level":"high"}`, status: 422, code: sdk.CodeInvalid, message: `field "fanciness_level" cannot be a string`},
		"unknown field":      {method: "POST", path: mine, token: c.apiKey, body: `{"nmae":"x"}`, status: 422, code: sdk.CodeInvalid, message: `field "nmae" is unknown`},
		"immutable field":    {method: "PATCH", path: one, token: c.apiKey, body: `{"version":"15"}`, status: 422, code: sdk.CodeInvalid, message: `field "version" is unknown`},
		"too large":          {method: "POST", path: mine, token: c.apiKey, body: strings.Repeat(" ", 1<<20+1), status: 413, code: sdk.CodeInvalid, message: "longer than"},
		"bad name":           {method: "POST", path: mine, token: c.apiKey, body: `{"name":"A","fanciness_level":20}`, status: 422, code: sdk.CodeInvalid, message: `name "A"`},
		"too plain":          {method: "POST", path: mine, token: c.apiKey, body: `{"name":"a","fanciness_level":9}`, status: 422, code: sdk.CodeInvalid, message: "10 to 1000"},
		"update too fancy":   {method: "PATCH", path: one, token: c.apiKey, body: `{"fanciness_level":1001}`, status: 422, code: sdk.CodeInvalid, message: "10 to 1000"},
		"bad version":        {method: "POST", path: mine, token: c.apiKey, body: `{"name":"a","fanciness_level":10,"version":"new"}`, status: 422, code: sdk.CodeInvalid, message: "major version"},
		"short password":     {method: "POST", path: mine, token: c.apiKey, body: `{"name":"a","fanciness_level":10,"password":"1234567"}`, status: 422, code: sdk.CodeInvalid, message: "8 to 128 characters"},
		"long password":      {method: "PATCH", path: one, token: c.apiKey, body: `{"password":"` + strings.Repeat("x", 129) + `"}`, status: 422, code: sdk.CodeInvalid, message: "8 to 128 characters"},
		"odd password":       {method: "PATCH", path: one, token: c.apiKey, body: `{"password":"line\nend of it"}`, status: 422, code: sdk.CodeInvalid, message: "control character"},
		"admin is closed":    {method: "GET", path: "/admin/v1/faults", token: admin, status: 404, code: sdk.CodeNotFound, message: "/admin/v1/faults"},
		"stats are closed":   {method: "GET", path: "/admin/v1/stats", token: admin, status: 404, code: sdk.CodeNotFound, message: "/admin/v1/stats"},
		"bad label":          {method: "POST", path: mine, token: c.apiKey, body: `{"name":"a","fanciness_level":10,"labels":{"-":""}}`, status: 422, code: sdk.CodeInvalid, message: `label key "-"`},
		"bad filter":         {method: "GET", path: mine + "?label=team", token: c.apiKey, status: 422, code: sdk.CodeInvalid, message: "label=key=value"},
		"unknown parameter":  {method: "GET", path: mine + "?labels=a=b", token: c.apiKey, status: 422, code: sdk.CodeInvalid, message: `"labels" is unknown`},
		"bad idempotency":    {method: "POST", path: mine, token: c.apiKey, key: "ä", body: `{}`, status: 422, code: sdk.CodeInvalid, message: "Idempotency-Key"},
		"errors not replay":  {method: "POST", path: mine, token: c.apiKey, key: "k", body: `{"name":"taken","fanciness_level":20}`, status: 409, code: sdk.CodeExists, message: "exists"},
		"no path traversal":  {method: "DELETE", path: mine + "/%2e%2e", token: c.apiKey, status: 404, code: sdk.CodeNotFound, message: "does not exist"},
		"zero byte in names": {method: "GET", path: mine + "/a%00b", token: c.apiKey, status: 404, code: sdk.CodeNotFound, message: "does not exist"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			headers := map[string]string{}
			if tc.key != "" {
				headers["Idempotency-Key"] = tc.key
			}
			body := expectRefusal(t, tc.method, c.url+tc.path, tc.token, tc.body, headers, tc.status, tc.code, tc.message)
			if tc.token != "" && strings.Contains(body, tc.token) {
				t.Error("the answer repeats the key")
			}
		})
	}
}

func TestLabels(t *testing.T) {
	t.Parallel()
	c := startPaperCloud(t)
	for name, labels := range map[string]map[string]string{
		"b-both": {"team": "a", "example.org/tier": "x=y"}, "a-one": {"team": "a"}, "c-none": nil,
	} {
		create(t, c.databases, database.CreateInstanceInput{Name: name, FancinessLevel: 10, Labels: labels})
	}
	cases := map[string]struct {
		filter map[string]string
		want   []string
	}{
		"all":      {nil, []string{"a-one", "b-both", "c-none"}},
		"one":      {map[string]string{"team": "a"}, []string{"a-one", "b-both"}},
		"both":     {map[string]string{"team": "a", "example.org/tier": "x=y"}, []string{"b-both"}},
		"no value": {map[string]string{"team": ""}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, listNames(t, c, tc.filter)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}

	for name, labels := range map[string]map[string]string{"a-one": {"new": "1"}, "b-both": {}, "c-none": nil} {
		got, err := c.databases.Update(t.Context(), name, database.UpdateInstanceInput{Labels: labels})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Labels) != len(labels) || got.Labels["new"] != labels["new"] {
			t.Errorf("%s has labels %v after setting %v", name, got.Labels, labels)
		}
	}
	level := 11
	got, err := c.databases.Update(t.Context(), "a-one", database.UpdateInstanceInput{FancinessLevel: &level})
	if err != nil || got.Labels["new"] != "1" || got.FancinessLevel != 11 {
		t.Errorf("after setting the level: %v, error %v", got, err)
	}
}

func listNames(t *testing.T, c *cloud, labels map[string]string) (names []string) {
	t.Helper()
	list, err := c.databases.List(t.Context(), labels)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range list {
		names = append(names, i.Name)
	}
	return names
}

func TestProjectsAreApart(t *testing.T) {
	t.Parallel()
	c := startPaperCloud(t)
	create(t, c.databases, database.CreateInstanceInput{Name: "orders", FancinessLevel: 10}, sdk.WithIdempotencyKey("k"))
	other := connect(t, c.url, c.dir, "demo-2", c.stop)
	if names := listNames(t, other, nil); names != nil {
		t.Errorf("a new project holds %v", names)
	}
	if created := create(t, other.databases, database.CreateInstanceInput{Name: "orders", FancinessLevel: 10}, sdk.WithIdempotencyKey("k")); created.Replayed {
		t.Error("another project's answer was replayed")
	}
}

func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	c := startPaperCloud(t)
	url := c.url + "/v1/projects/demo/database/instances"
	headers := map[string]string{"Idempotency-Key": "order 66"}

	bodies := make([]string, 8)
	var wait sync.WaitGroup
	for n := range bodies {
		wait.Go(func() {
			_, bodies[n] = request(t, "POST", url, c.apiKey, `{"name":"orders","fanciness_level":10}`, headers)
		})
	}
	wait.Wait()
	for _, body := range bodies {
		if body != bodies[0] || !strings.Contains(body, `"password"`) {
			t.Errorf("answers differ:\n%s%s", bodies[0], body)
		}
	}
	if names := listNames(t, c, nil); len(names) != 1 {
		t.Errorf("requests with one key created %v", names)
	}

	for name, body := range map[string]string{"edited": `{"name":"other","fanciness_level":5}`, "broken": `{`, "empty": ""} {
		resp, got := request(t, "POST", url, c.apiKey, body, headers)
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Idempotent-Replayed") != "true" || got != bodies[0] {
			t.Errorf("%s repeat: %d %v %s", name, resp.StatusCode, resp.Header, got)
		}
	}

	remove(t, c.databases, "orders")
	c.awaitDeleted(t, databases(), "orders")
	resp, got := request(t, "POST", url, c.apiKey, `{"name":"orders","fanciness_level":10}`, headers)
	if resp.StatusCode != http.StatusCreated || got == bodies[0] {
		t.Errorf("after the delete the key answers %d %s", resp.StatusCode, got)
	}
}

func TestReplaySurvivesRestart(t *testing.T) {
	t.Parallel()
	dir := newDataDir(t)
	nothing := []string{t.TempDir()}
	c := startCloud(t, favouritecloud.Config{DataDir: dir, PostgresSearchPath: nothing})
	in := database.CreateInstanceInput{Name: "orders", FancinessLevel: 10}
	created := create(t, c.databases, in, sdk.WithIdempotencyKey("k"))
	c.stop()
	c = startCloud(t, favouritecloud.Config{DataDir: dir, PostgresSearchPath: nothing})
	replayed := create(t, c.databases, in, sdk.WithIdempotencyKey("k"))
	created.Replayed = true
	if diff := cmp.Diff(created, replayed); diff != "" {
		t.Errorf("-first +replayed:\n%s", diff)
	}
}
