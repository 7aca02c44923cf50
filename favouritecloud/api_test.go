// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// A refusal is a request that must be refused.
type refusal struct {
	method, path, body string
	status             int
	code, message      string
}

// refuse makes a request that must be refused.
func (c *cloud) refuse(t *testing.T, token string, r refusal, headers ...string) {
	t.Helper()
	a := c.request(t, r.method, r.path, token, r.body, headers...)
	detail, ok := a.object(t)["error"].(object)
	message, _ := detail["message"].(string)
	if !ok || a.status != r.status || detail["code"] != r.code || !strings.Contains(message, r.message) {
		t.Errorf("got %d %s; want %d %s with %q", a.status, a.text, r.status, r.code, r.message)
	}
	if token != "" && strings.Contains(a.text, token) {
		t.Error("the answer repeats the key")
	}
}

// refuseAll makes requests of the project that must be refused.
func (c *cloud) refuseAll(t *testing.T, cases map[string]refusal) {
	t.Helper()
	for name, r := range cases {
		t.Run(name, func(t *testing.T) {
			r.path = "/v1/projects/demo/" + r.path
			c.refuse(t, c.apiKey, r)
		})
	}
}

func TestAccessRefusals(t *testing.T) {
	t.Parallel()
	c := startCloud(t, favouritecloud.Config{})
	admin, unauthorized, forbidden := c.adminToken(t), sdk.CodeUnauthorized, sdk.CodeForbidden
	const mine, other = "/v1/projects/demo/database/instances", "/v1/projects/other/database/instances"
	cases := map[string]struct {
		token string
		refusal
	}{
		"no key":           {"", refusal{"GET", mine, "", 401, unauthorized, "Authorization: Bearer"}},
		"wrong key":        {"fck_x_y", refusal{"GET", mine, "", 401, unauthorized, "not valid"}},
		"right id only":    {c.apiKey[:21] + "0", refusal{"GET", mine, "", 401, unauthorized, "not valid"}},
		"other project":    {c.apiKey, refusal{"GET", other, "", 403, forbidden, `belongs to project "demo"`}},
		"admin as user":    {admin, refusal{"GET", mine, "", 403, forbidden, "only create API keys"}},
		"user as admin":    {c.apiKey, refusal{"POST", "/v1/projects/demo/keys", "", 403, forbidden, "admin token"}},
		"bad project":      {admin, refusal{"POST", "/v1/projects/Bad/keys", "", 422, sdk.CodeInvalid, `project "Bad"`}},
		"no such route":    {c.apiKey, refusal{"GET", "/v2", "", 404, sdk.CodeNotFound, "/v2"}},
		"no such method":   {c.apiKey, refusal{"PUT", mine + "/x", "", 405, sdk.CodeInvalid, "use DELETE, GET, HEAD, PATCH"}},
		"admin is closed":  {admin, refusal{"GET", "/admin/v1/faults", "", 404, sdk.CodeNotFound, "/admin/v1/faults"}},
		"stats are closed": {admin, refusal{"GET", "/admin/v1/stats", "", 404, sdk.CodeNotFound, "/admin/v1/stats"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { c.refuse(t, tc.token, tc.refusal) })
	}
}

func TestInstanceRefusals(t *testing.T) {
	t.Parallel()
	c := startPaperCloud(t)
	c.call(t, "POST", "database/instances", `{"name":"taken","fanciness_level":20}`)
	const databases, one, caches = "database/instances", "database/instances/taken", "cache/instances"
	const small = `{"name":"a","fanciness_level":10,`
	cached := func(fields string) string { return `{"name":"a","memory_megabytes":16` + fields + `}` }
	long, invalid, notFound, exists := strings.Repeat("x", 129), sdk.CodeInvalid, sdk.CodeNotFound, sdk.CodeExists
	c.refuseAll(t, map[string]refusal{
		"no body":            {"POST", databases, "", 400, invalid, "no body"},
		"not JSON":           {"POST", databases, `{"name":`, 400, invalid, "not valid JSON"},
		"two values":         {"POST", databases, `{} {}`, 400, invalid, "more than one"},
		"not an object":      {"POST", databases, `[]`, 422, invalid, "must be a JSON object"},
		"wrong type":         {"POST", databases, `{"fanciness_level":"high"}`, 422, invalid, `"fanciness_level" cannot be a string`},
		"unknown field":      {"POST", databases, `{"nmae":"x"}`, 422, invalid, `field "nmae" is unknown`},
		"too large":          {"POST", databases, strings.Repeat(" ", 1<<20+1), 413, invalid, "longer than"},
		"bad filter":         {"GET", databases + "?label=team", "", 422, invalid, "label=key=value"},
		"unknown parameter":  {"GET", databases + "?labels=a=b", "", 422, invalid, `"labels" is unknown`},
		"no path traversal":  {"DELETE", databases + "/%2e%2e", "", 404, notFound, "does not exist"},
		"zero byte in names": {"GET", databases + "/a%00b", "", 404, notFound, "does not exist"},
		"no such instance":   {"GET", databases + "/none", "", 404, notFound, `"none" does not exist in project "demo"`},
		"update of nothing":  {"PATCH", databases + "/none", `{}`, 404, notFound, "does not exist"},
		"name taken":         {"POST", databases, `{"name":"taken","fanciness_level":20}`, 409, exists, `"taken" exists in project`},
		"immutable field":    {"PATCH", one, `{"version":"15"}`, 422, invalid, `field "version" is unknown`},
		"bad name":           {"POST", databases, `{"name":"A","fanciness_level":20}`, 422, invalid, `name "A"`},
		"too plain":          {"POST", databases, `{"name":"a","fanciness_level":9}`, 422, invalid, "10 to 1000"},
		"update too fancy":   {"PATCH", one, `{"fanciness_level":1001}`, 422, invalid, "10 to 1000"},
		"bad version":        {"POST", databases, small + `"version":"new"}`, 422, invalid, "major version"},
		"short password":     {"POST", databases, small + `"password":"1234567"}`, 422, invalid, "8 to 128 characters"},
		"long password":      {"PATCH", one, `{"password":"` + long + `"}`, 422, invalid, "8 to 128 characters"},
		"odd password":       {"PATCH", one, `{"password":"line\nend of it"}`, 422, invalid, "control character"},
		"check of nothing":   {"POST", databases + "/none:checkPassword", `{"password":"x"}`, 404, notFound, "does not exist"},
		"check too early":    {"POST", one + ":checkPassword", `{"password":"x"}`, 409, sdk.CodeConflict, "while it is ONLINE"},
		"unknown verb":       {"POST", one + ":restart", `{}`, 404, notFound, "POST is not supported"},
		"bad label":          {"POST", databases, small + `"labels":{"-":""}}`, 422, invalid, `label key "-"`},
		"cache: name":        {"POST", caches, `{"name":"A"}`, 422, invalid, `name "A" is not valid`},
		"cache: no memory":   {"POST", caches, `{"name":"a"}`, 422, invalid, "memory_megabytes 0 is not valid: it must be 8 to 16384"},
		"cache: too much":    {"POST", caches, `{"name":"a","memory_megabytes":16385}`, 422, invalid, "memory_megabytes 16385"},
		"cache: policy":      {"POST", caches, cached(`,"eviction_policy":"lru"`), 422, invalid, "one of noeviction, allkeys-lru"},
		"cache: version":     {"POST", caches, cached(`,"engine_version":"2.8"`), 422, invalid, `"2.8" is not available`},
		"cache: password":    {"POST", caches, cached(`,"password":"short"`), 422, invalid, "password is not valid"},
		"database: time":     {"PATCH", one, `{"previous_password_seconds":1}`, 422, invalid, `"previous_password_seconds" is unknown`},
		"cache: label":       {"POST", caches, cached(`,"labels":{"":""}`), 422, invalid, "label key"},
	})
	const path = "/v1/projects/demo/" + databases
	c.refuse(t, c.apiKey, refusal{"POST", path, `{}`, 422, invalid, "Idempotency-Key"}, "Idempotency-Key", "ä")
	for range 2 { // Errors are not replayed.
		taken := refusal{"POST", path, `{"name":"taken","fanciness_level":20}`, 409, exists, "exists"}
		c.refuse(t, c.apiKey, taken, "Idempotency-Key", "k")
	}
	if names := c.list(t, caches, "name"); names != nil {
		t.Errorf("refused requests created %v", names)
	}
}

func TestRecordRefusals(t *testing.T) {
	t.Parallel()
	c := startPaperCloud(t)
	parent, used := c.createSubnet(t)
	c.call(t, "POST", "node-groups", newGroup("web", used, ""))
	const groups, web, sizes = "node-groups", "node-groups/web", `{"min_size":1,"max_size":2}`
	network := "networks/" + parent
	within := func(block string) string { return fmt.Sprintf(`{"network_id":%q,"cidr_block":%q}`, parent, block) }
	group := func(subnets, sizes, more string) string {
		return fmt.Sprintf(`{"name":"a","subnet_ids":[%s],"scaling_config":[%s]%s}`, subnets, sizes, more)
	}
	before := []object{c.call(t, "GET", network, ""), c.call(t, "GET", web, "")}
	here := fmt.Sprintf("%q", used)
	invalid, notFound, conflict, exists := sdk.CodeInvalid, sdk.CodeNotFound, sdk.CodeConflict, sdk.CodeExists
	c.refuseAll(t, map[string]refusal{
		"no network":          {"GET", "networks/net-0", "", 404, notFound, `network "net-0" does not exist in project "demo"`},
		"no range":            {"POST", "networks", `{}`, 422, invalid, `cidr_block ""`},
		"host bits":           {"POST", "networks", `{"cidr_block":"10.0.0.1/16"}`, 422, invalid, `use "10.0.0.0/16"`},
		"small mtu":           {"POST", "networks", `{"cidr_block":"10.0.0.0/16","mtu":575}`, 422, invalid, "576 to 9216"},
		"large mtu":           {"PATCH", network, `{"mtu":9217}`, 422, invalid, "576 to 9216"},
		"bad server":          {"PATCH", network, `{"dns_servers":["dns"]}`, 422, invalid, `"dns" is not an IP address`},
		"many servers":        {"PATCH", network, `{"dns_servers":["","","","","","","","",""]}`, 422, invalid, "at most 8"},
		"bad description":     {"PATCH", network, `{"description":"\n"}`, 422, invalid, "description is not valid"},
		"network label":       {"PATCH", network, `{"labels":{"-":""}}`, 422, invalid, "label key"},
		"immutable range":     {"PATCH", network, `{"cidr_block":"10.1.0.0/16"}`, 422, invalid, `field "cidr_block" is unknown`},
		"network in use":      {"DELETE", network, "", 409, conflict, "has 1 subnets"},
		"subnet in use":       {"DELETE", "subnets/" + used, "", 409, conflict, "1 node groups"},
		"no subnet":           {"DELETE", "subnets/sub-0", "", 404, notFound, `subnet "sub-0" does not exist`},
		"no such network":     {"POST", "subnets", `{"network_id":"net-0","cidr_block":"::/64"}`, 422, invalid, `"net-0" does not exist`},
		"outside":             {"POST", "subnets", within("10.1.0.0/24"), 422, invalid, "is not inside 10.0.0.0/16"},
		"larger":              {"POST", "subnets", within("10.0.0.0/15"), 422, invalid, "is not inside 10.0.0.0/16"},
		"overlap":             {"POST", "subnets", within("10.0.1.128/25"), 409, conflict, "overlaps 10.0.1.0/24"},
		"bad range of subnet": {"POST", "subnets", within("10.0.1"), 422, invalid, "cidr_block"},
		"no such zone":        {"POST", "subnets", `{"cidr_block":"::/64","zone":"d"}`, 422, invalid, "zone-a, zone-b"},
		"group: name":         {"POST", groups, `{"name":"A"}`, 422, invalid, `name "A"`},
		"group: name taken":   {"POST", groups, newGroup("web", used, ""), 409, exists, `node group "web" exists in project "demo"`},
		"no subnets":          {"POST", groups, group("", sizes, ""), 422, invalid, "subnet_ids must have"},
		"unknown subnet":      {"POST", groups, group(`"sub-0"`, sizes, ""), 422, invalid, `subnet "sub-0" does not exist`},
		"no size":             {"POST", groups, group(here, "", ""), 422, invalid, "exactly one entry"},
		"two sizes":           {"POST", groups, group(here, sizes+","+sizes, ""), 422, invalid, "exactly one entry"},
		"no largest size":     {"POST", groups, group(here, `{"min_size":1}`, ""), 422, invalid, "min_size and max_size"},
		"min above max":       {"POST", groups, group(here, `{"min_size":3,"max_size":2}`, ""), 422, invalid, "min_size <= max_size"},
		"negative":            {"POST", groups, group(here, `{"min_size":-1,"max_size":2}`, ""), 422, invalid, "min_size -1"},
		"huge":                {"POST", groups, group(here, `{"min_size":1,"max_size":1001}`, ""), 422, invalid, "1 to 1000"},
		"desired below":       {"PATCH", web, `{"scaling_config":[{"desired_size":0}]}`, 422, invalid, "must be 1 to 3"},
		"desired above":       {"PATCH", web, `{"scaling_config":[{"desired_size":4}]}`, 422, invalid, "must be 1 to 3"},
		"bad type":            {"PATCH", web, `{"instance_type":""}`, 422, invalid, "instance_type"},
		"strategy":            {"POST", groups, group(here, sizes, `,"upgrade":{"strategy":"NO"}`), 422, invalid, "or RECREATE"},
		"none away":           {"PATCH", web, `{"upgrade":{"max_unavailable":0}}`, 422, invalid, "max_unavailable 0 is not valid"},
		"many away":           {"PATCH", web, `{"upgrade":{"max_unavailable":1001}}`, 422, invalid, "must be 1 to 1000"},
		"output":              {"PATCH", web, `{"upgrade":{"version":"1"}}`, 422, invalid, `field "version" is unknown`},
		"two new sizes":       {"PATCH", web, `{"scaling_config":[{},{}]}`, 422, invalid, "exactly one entry, not 2"},
		"immutable subnets":   {"PATCH", web, `{"subnet_ids":[]}`, 422, invalid, `field "subnet_ids" is unknown`},
		"group label":         {"PATCH", web, `{"labels":{"-":""}}`, 422, invalid, "label key"},
		"no such group":       {"PATCH", groups + "/none", `{}`, 404, notFound, `node group "none" does not exist`},
		"scaled above":        {"POST", web + ":autoscale", `{"desired_size":4}`, 422, invalid, "must be 1 to 3"},
		"scaled to what?":     {"POST", web + ":autoscale", `{}`, 422, invalid, "desired_size is required"},
		"scaled nothing":      {"POST", groups + "/none:autoscale", `{"desired_size":1}`, 404, notFound, `"none" does not exist`},
		"no such verb":        {"POST", web + ":explode", `{}`, 404, notFound, "use NAME:autoscale"},
	})
	if diff := cmp.Diff(before, []object{c.call(t, "GET", network, ""), c.call(t, "GET", web, "")}); diff != "" {
		t.Errorf("refused requests had an effect, -before +after:\n%s", diff)
	}
}

func TestLabels(t *testing.T) {
	t.Parallel()
	c := startPaperCloud(t)
	const path = "database/instances"
	for name, labels := range map[string]string{
		"b-both": `{"team":"a","example.org/tier":"x=y"}`, "a-one": `{"team":"a"}`, "c-none": `null`,
	} {
		c.call(t, "POST", path, fmt.Sprintf(`{"name":%q,"fanciness_level":10,"labels":%s}`, name, labels))
	}
	for filter, want := range map[string][]any{
		"":              {"a-one", "b-both", "c-none"},
		"?label=team=a": {"a-one", "b-both"},
		"?label=team=a&label=example.org/tier=x=y": {"b-both"},
		"?label=team=": nil,
	} {
		if diff := cmp.Diff(want, c.list(t, path+filter, "name")); diff != "" {
			t.Errorf("filter %q, -want +got:\n%s", filter, diff)
		}
	}
	for _, step := range []struct {
		name, change string
		labels       any
	}{
		{"a-one", `{"labels":{"new":"1"}}`, object{"new": "1"}},
		{"b-both", `{"labels":{}}`, nil},
		{"c-none", `{}`, nil},
		{"a-one", `{"fanciness_level":11}`, object{"new": "1"}},
	} {
		if got := c.call(t, "PATCH", path+"/"+step.name, step.change); !cmp.Equal(step.labels, got["labels"]) {
			t.Errorf("%s after %s: %v", step.name, step.change, got)
		}
	}
}

func TestProjectsAreApart(t *testing.T) {
	t.Parallel()
	c := startPaperCloud(t)
	other := connect(t, c, "demo-2")
	for _, in := range []*cloud{c, other} {
		if names := in.list(t, "database/instances", "name"); names != nil {
			t.Errorf("a new project has %v", names)
		}
		path := "/v1/projects/" + in.client.Project() + "/database/instances"
		a := in.request(t, "POST", path, in.apiKey, `{"name":"orders","fanciness_level":10}`, "Idempotency-Key", "k")
		if a.status != http.StatusCreated || a.header.Get("Location") != path+"/orders" {
			t.Errorf("create in %s: %d %v %s", path, a.status, a.header, a.text)
		}
	}
}

func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	c := startPaperCloud(t)
	_, subnet := c.createSubnet(t)
	cases := map[string]struct{ service, body, change string }{
		"database":   {"database/instances", `{"name":"orders","fanciness_level":10}`, `{"password":"password-1"}`},
		"node group": {"node-groups", newGroup("orders", subnet, ""), `{"scaling_config":[{"desired_size":2}]}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			post := func(c *cloud, body string) answer {
				return c.request(t, "POST", "/v1/projects/demo/"+tc.service, c.apiKey, body, "Idempotency-Key", "order 66")
			}
			answers := make([]answer, 8)
			var wait sync.WaitGroup
			for n := range answers {
				wait.Go(func() { answers[n] = post(c, tc.body) })
			}
			wait.Wait()
			for _, a := range answers {
				if a.text != answers[0].text || a.status >= http.StatusMultipleChoices {
					t.Errorf("answers differ:\n%s%s", answers[0].text, a.text)
				}
			}
			if names := c.list(t, tc.service, "name"); len(names) != 1 {
				t.Errorf("requests with one key created %v", names)
			}
			c.call(t, "PATCH", tc.service+"/orders", tc.change) // The first answer describes the moment of the create.
			for _, body := range []string{tc.body, `{"name":"other"}`, `{`, ""} {
				a := post(c, body)
				if a.status != http.StatusOK || a.header.Get("Idempotent-Replayed") != "true" || a.text != answers[0].text {
					t.Errorf("repeat with %s: %d %v %s", body, a.status, a.header, a.text)
				}
			}

			c.call(t, "DELETE", tc.service+"/orders", "")
			eventually(t, "the instance to be deleted", func() string { return fmt.Sprint(c.list(t, tc.service, "name")...) })
			if a := post(c, tc.body); a.status != http.StatusCreated {
				t.Errorf("after the delete the key answers %d %s", a.status, a.text)
			}
		})
	}
}
