// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package connection_test

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/pkg/connection"
)

// nasty has every character that means something in a URL, and some that mean something elsewhere.
const nasty = "p@s:s/w?o#r%d&=+ $()[]{}'\"\\;,<>|^`~!*é\x00\xff"

func database() map[string][]byte {
	return map[string][]byte{
		"username": []byte("u@:/?#%&"), "password": []byte(nasty), "endpoint": []byte("db.example.org"), "port": []byte("5432"),
		"v6": []byte("2001:db8::1"), "zone": []byte("fe80::1%eth0"), "socket": []byte("/run/postgresql"), "both": []byte("db:5432"),
	}
}

func TestDerive(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ template, want string }{
		"plain":                                  {"host=$(endpoint) port=$(port)", "host=db.example.org port=5432"},
		"plain: values stand as they are":        {"$(password)", nasty},
		"plain: what is no URL":                  {"url is x://$(password)", "url is x://" + nasty},
		"plain: a value that is filled in again": {"$(username)$(username)", "u@:/?#%&u@:/?#%&"},
		"no key at all":                          {"postgres", "postgres"},
		"nothing":                                {"", ""},
		"escape":                                 {"$$(username) $(port)", "$(username) 5432"},
		"escape: as Kubernetes has it":           {"$$ $$$(port) $x $", "$ $5432 $x $"},
		"URL: host":                              {"tcp://$(endpoint):$(port)", "tcp://db.example.org:5432"},
		"URL: host and port in one":              {"tcp://$(both)/x", "tcp://db:5432/x"},
		"URL: host is an IPv6 address":           {"tcp://$(v6):$(port)", "tcp://[2001:db8::1]:5432"},
		"URL: host in brackets already":          {"tcp://[$(v6)]:$(port)", "tcp://[2001:db8::1]:5432"},
		"URL: host with a zone":                  {"tcp://$(zone)/", "tcp://[fe80::1%25eth0]/"},
		"URL: host is a socket":                  {"postgresql://$(socket)/db", "postgresql://%2Frun%2Fpostgresql/db"},
		"URL: user":                              {"tcp://$(username)@$(endpoint)", "tcp://u%40%3A%2F%3F%23%25%26@db.example.org"},
		"URL: path":                              {"tcp://h/$(username)/x", "tcp://h/u%40%3A%2F%3F%23%25%26/x"},
		"URL: query":                             {"tcp://h?u=$(username)&v=1", "tcp://h?u=u%40%3A%2F%3F%23%25%26&v=1"},
		"URL: fragment":                          {"tcp://h#$(username)", "tcp://h#u%40%3A%2F%3F%23%25%26"},
		"URL: no host":                           {"postgresql:///db?host=$(socket)", "postgresql:///db?host=%2Frun%2Fpostgresql"},
		"URL: text stays":                        {"tcp://a%20b:c@h/$$(x)?$(port)", "tcp://a%20b:c@h/$(x)?5432"},
		"URL: an @ after the host":               {"tcp://$(v6)/@$(port)", "tcp://[2001:db8::1]/@5432"},
		"URL: of JDBC": {
			"jdbc:postgresql://$(endpoint)/db?user=$(username)", "jdbc:postgresql://db.example.org/db?user=u%40%3A%2F%3F%23%25%26",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := connection.Derive(annotation("KEY", tc.template), database())
			if diff := cmp.Diff(map[string][]byte{"KEY": []byte(tc.want)}, got); diff != "" || err != nil {
				t.Errorf("error %v, -want +got:\n%s", err, diff)
			}
		})
	}
}

// What programs read from a URL is what the Secret of the managed resource holds, whatever it is.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, template := range []string{
		"postgresql://$(username):$(password)@$(endpoint):$(port)/$(database)?password=$(password)&sslmode=require",
		"redis://$(username):$(password)@$(endpoint):$(port)/$(database)?password=$(password)#end",
	} {
		for c := range 256 {
			password := "p" + string([]byte{byte(c), byte(c)}) + nasty
			got, err := connection.Derive(annotation("URL", template), map[string][]byte{
				"username": []byte(nasty), "password": []byte(password), "endpoint": []byte("::1"), "port": []byte("1"), "database": []byte("a/b?c"),
			})
			if err != nil {
				t.Fatal(err)
			}
			u, err := url.Parse(string(got["URL"]))
			if err != nil {
				t.Fatalf("character %d: %v", c, err)
			}
			read, _ := u.User.Password()
			if u.User.Username() != nasty || read != password || u.Hostname() != "::1" || u.Port() != "1" || u.Path != "/a/b?c" ||
				u.Query().Get("password") != password {
				t.Errorf("character %d: %s is read as %q", c, got["URL"], u)
			}
		}
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	many := map[string]string{}
	for i := range connection.MaxKeys + 1 {
		many[fmt.Sprint("K", i)] = "x"
	}
	for name, tc := range map[string]struct {
		templates string
		part      []string
		derived   []string // all the same
	}{
		"empty":                  {"", []string{"no JSON object such as", "DATABASE_URL"}, nil},
		"not JSON":               {"DATABASE_URL=x", []string{"no JSON object such as", "invalid character"}, nil},
		"a list":                 {"[]", []string{"does not begin with a brace"}, nil},
		"cut off":                {"{\"A\": \"x\"", []string{"no JSON object"}, nil},
		"something behind":       {"{} {}", []string{"after top-level value"}, nil},
		"no text":                {"{\"A\": {\"b\": 1}, \"B\": \"x\"}", []string{"key \"A\"", "double quotes"}, []string{"B"}},
		"twice":                  {"{\"A\": \"x\", \"B\": \"\", \"A\": \"y\"}", []string{"key \"A\"", "twice"}, []string{"B"}},
		"key no Secret can have": {"{\"A B\": \"x\", \"B\": \"x\"}", []string{"key \"A B\"", "letters, digits"}, []string{"B"}},
		"no key name":            {"{\"\": \"x\"}", []string{"key \"\"", "letters, digits"}, nil},
		"endless key name":       {annotation(strings.Repeat("x", 9999), "x"), []string{"xxx…\"", "up to 253"}, nil},
		"not closed":             {annotation("A", "x $(password"), []string{"key \"A\"", "closing parenthesis", "$$("}, nil},
		"names nothing":          {annotation("A", "$()"), []string{"key \"A\"", "\"$()\" names no connection key"}, nil},
		"a command":              {annotation("A", "$(cat /etc)"), []string{"names no connection key", "$$("}, nil},
		"too many":               {object(many), []string{"65 keys", "at most 64"}, nil},
		"many problems": {
			object(map[string]string{"1": "$(", "2": "$(", "3": "$(", "4": "$(", "5": "$(", "6": "$("}),
			[]string{"key \"5\"", "and 1 more"}, nil,
		},
		"unknown key": {
			object(map[string]string{"A": "$(user)", "B": "$(port)"}),
			[]string{"key \"A\"", "no connection key \"user\"", "both, endpoint, password, port"}, []string{"B"},
		},
		"another derived key": {object(map[string]string{"A": "x", "B": "$(A)"}), []string{"no connection key \"A\""}, []string{"A"}},
		"replaces an original": {
			object(map[string]string{"password": "x", "B": "x"}), []string{"key \"password\"", "choose another name"}, []string{"B"},
		},
		"too long": {
			object(map[string]string{"A": strings.Repeat("$(password)", 3000), "B": "x"}), []string{"key \"A\"", "64 KiB"}, []string{"B"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			derived, err := connection.Derive(tc.templates, database())
			if err == nil {
				t.Fatal("no error")
			}
			for _, words := range append(tc.part, "bowline.dev/connection-keys") {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("it does not contain %q: %v", words, err)
				}
			}
			if strings.ContainsAny(err.Error(), "\n\t") || len(err.Error()) > 1000 {
				t.Errorf("no message for a condition: %v", err)
			}
			if diff := cmp.Diff(tc.derived, slices.Sorted(maps.Keys(derived))); diff != "" {
				t.Errorf("keys -want +got:\n%s", diff)
			}
		})
	}
}

// Values of Secrets stay in Secrets (R234).
func TestSecretsAreNotInErrors(t *testing.T) {
	t.Parallel()
	t.Run("no message has a value in it (R234)", func(t *testing.T) {
		original := map[string][]byte{"username": []byte("uniquely"), "password": []byte("hushhush")}
		_, err := connection.Derive(object(map[string]string{
			"A": "$(nothing)$(password)", "password": "$(username)", "B": strings.Repeat("$(password)", 10000), "C": "$(password)$(",
		}), original)
		if err == nil || strings.Contains(err.Error(), "uniquely") || strings.Contains(err.Error(), "hushhush") {
			t.Errorf("got error %v", err)
		}
	})
}

// A Secret that the API server would refuse is worse than one without a derived key.
func TestRoom(t *testing.T) {
	t.Parallel()
	original := map[string][]byte{"kubeconfig": make([]byte, corev1.MaxSecretSize-10)}
	derived, err := connection.Derive(object(map[string]string{"A": "12345", "B": "123456", "C": "12345"}), original)
	if err == nil || !strings.Contains(err.Error(), "key \"B\": there is no room") || len(derived) != 2 {
		t.Errorf("error %v, derived %q", err, derived)
	}
}

func TestContent(t *testing.T) {
	t.Parallel()
	original := map[string][]byte{"port": []byte("1"), "port.pending": []byte("2")}
	for name, tc := range map[string]struct {
		annotations map[string]string
		want        map[string][]byte
		wrong       bool
	}{
		"what is pending is not shown (N50)": {keys(annotation("A", ":$(port.pending)")), map[string][]byte{"port": []byte("1")}, true},
		"no annotation (R287)":               {nil, map[string][]byte{"port": []byte("1")}, false},
		"derived keys stand beside (R287)": {
			keys(annotation("A", ":$(port)")), map[string][]byte{"port": []byte("1"), "A": []byte(":1")}, false,
		},
		"a bad template blocks nothing (R284)": {keys("{"), map[string][]byte{"port": []byte("1")}, true},
		"an empty one is a mistake":            {keys(""), map[string][]byte{"port": []byte("1")}, true},
		"an original key is not replaced":      {keys(annotation("port", "2")), map[string][]byte{"port": []byte("1")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := connection.Content(&metav1.ObjectMeta{Annotations: tc.annotations}, original)
			if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.wrong {
				t.Errorf("error %v, -want +got:\n%s", err, diff)
			}
			got["port"], got["more"] = nil, nil
			if len(original) != 2 || string(original["port"]) != "1" {
				t.Error("the original changes with the content")
			}
		})
	}
}
