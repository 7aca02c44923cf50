// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/pkg/clients/credentials"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// folders returns a folder that is offered and one that is not.
func folders(t *testing.T) (offered, other string) {
	t.Helper()
	base := t.TempDir()
	offered, other = filepath.Join(base, "offered"), filepath.Join(base, "offered-not")
	write := func(path, content string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(other, "key"), "stolen")
	write(filepath.Join(offered, "..data", "key"), "from a file") // as Kubernetes mounts Secrets
	write(filepath.Join(offered, "empty"), "")
	write(filepath.Join(offered, "large"), strings.Repeat("x", 1<<20+1))
	for link, to := range map[string]string{"key": "..data/key", "out": "../offered-not/key", "far": filepath.Join(other, "key")} {
		if err := os.Symlink(to, filepath.Join(offered, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(offered, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	return offered, other
}

func secretWith(name string, of corev1.SecretType, key string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Type: of, Data: map[string][]byte{"key": []byte(key)}}
}

// Every source, its errors, and everything that a ProviderConfig must not read.
func TestSources(t *testing.T) {
	offered, other := folders(t)
	t.Setenv("BOWLINE_TEST_OFFERED", "from a variable")
	t.Setenv("BOWLINE_TEST_OTHER", "stolen")
	env := controlplanetest.New(t, secretWith("api", corev1.SecretTypeOpaque, "from a secret"), secretWith("state", meta.SecretTypeState, "stolen"))
	secrets := newSecrets(t, env, credentials.WithVariables("BOWLINE_TEST_OFFERED", "BOWLINE_TEST_UNSET"), credentials.WithFolders(offered))
	closed := newSecrets(t, env)
	file := func(path ...string) xpv1.ProviderCredentials {
		return xpv1.ProviderCredentials{Source: "Filesystem", Fs: &xpv1.FsSelector{Path: strings.Join(path, "/")}}
	}
	variable := func(name string) xpv1.ProviderCredentials {
		return xpv1.ProviderCredentials{Source: "Environment", Env: &xpv1.EnvSelector{Name: name}}
	}
	in := func(namespace, name string) xpv1.ProviderCredentials {
		return xpv1.ProviderCredentials{Source: "Secret", SecretRef: &xpv1.SecretKeySelector{Namespace: namespace, Name: name, Key: "key"}}
	}
	secret := in(env.Namespace, "api")
	source := func(s xpv1.CredentialsSource) xpv1.ProviderCredentials { return xpv1.ProviderCredentials{Source: s} }
	for name, tc := range map[string]struct {
		closed      bool
		within      string
		from        xpv1.ProviderCredentials
		want, fails string
	}{
		"secret (R231)":                 {from: secret, want: "from a secret"},
		"secret that is missing (R231)": {from: in(env.Namespace, "missing"), fails: "secret " + env.Namespace + "/missing does not exist: create it"},
		"secret of a missing namespace (R231)": {
			from: in("lacking", "missing"), fails: `namespace "lacking" of secret lacking/missing does not exist: create both`},
		"secret with a state":                  {from: in(env.Namespace, "state"), fails: "holds the state of an object"},
		"no secretRef (R231)":                  {from: source("Secret"), fails: "needs secretRef"},
		"unknown source (R231)":                {from: source("Letter"), fails: `use "Secret"`},
		"identity (R231)":                      {from: source("InjectedIdentity")},
		"none (R231)":                          {from: source("None")},
		"variable (R231)":                      {from: variable("BOWLINE_TEST_OFFERED"), want: "from a variable"},
		"variable not set (R231)":              {from: variable("BOWLINE_TEST_UNSET"), fails: "is not set"},
		"no variable (R231)":                   {from: source("Environment"), fails: "needs env"},
		"file (R231)":                          {from: file(offered, "key"), want: "from a file"},
		"no such file (R231)":                  {from: file(offered, "none"), fails: "no such file"},
		"no file (R231)":                       {from: source("Filesystem"), fails: "needs fs"},
		"empty file (R231)":                    {from: file(offered, "empty"), fails: "empty"},
		"large file (R231)":                    {from: file(offered, "large"), fails: "more than"},
		"pipe (R231)":                          {from: file(offered, "pipe"), fails: "not a regular file"},
		"variable not offered (R234)":          {from: variable("BOWLINE_TEST_OTHER"), fails: "credentials.WithVariables"},
		"no variables offered (R234)":          {closed: true, from: variable("BOWLINE_TEST_OFFERED"), fails: "credentials.WithVariables"},
		"folder not offered (R234)":            {from: file(other, "key"), fails: "credentials.WithFolders"},
		"no folders offered (R234)":            {closed: true, from: file(offered, "key"), fails: "credentials.WithFolders"},
		"path out of the folder (R234)":        {from: file(offered, "../offered-not/key"), fails: "credentials.WithFolders"},
		"relative path (R234)":                 {from: file("key"), fails: "credentials.WithFolders"},
		"link out of the folder (R234)":        {from: file(offered, "out"), fails: "path escapes"},
		"link to an absolute path (R234)":      {from: file(offered, "far"), fails: "path escapes"},
		"secret of the own namespace (N2)":     {within: env.Namespace, from: secret, want: "from a secret"},
		"secret of another namespace (N2)":     {within: "other", from: secret, fails: "a secret of its own namespace"},
		"no secretRef within a namespace (N2)": {within: "other", from: source("Secret"), fails: "needs secretRef"},
		"variable within a namespace (N2)":     {within: "other", from: variable("BOWLINE_TEST_OFFERED"), fails: "not for a namespace"},
		"file within a namespace (N2)":         {within: "other", from: file(offered, "key"), fails: "not for a namespace"},
		"identity within a namespace (N2)":     {within: "other", from: source("InjectedIdentity"), fails: "not for a namespace"},
		"none within a namespace (N2)":         {within: "other", from: source("None")},
	} {
		t.Run(name, func(t *testing.T) {
			reader := secrets
			if tc.closed {
				reader = closed
			}
			got, err := reader.Extract(t.Context(), tc.within, tc.from)
			if tc.fails == "" && err != nil || tc.fails != "" && (err == nil || !strings.Contains(err.Error(), tc.fails)) {
				t.Errorf("got error %v, want %q", err, tc.fails)
			}
			if err != nil && failure.Of(err).Reason != failure.ProviderConfigUnavailable {
				t.Errorf("the error is classified as %s", failure.Of(err).Reason)
			}
			if string(got.Value) != tc.want || tc.want == "" && got.Value != nil {
				t.Errorf("got %q, want %q", got.Value, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), "stolen") {
				t.Errorf("the error contains a secret value: %v (R234)", err)
			}
		})
	}
}

// An address may be shown, credentials in it may not.
// A file is mounted anew, as Kubernetes does with Secrets, or removed.
func TestChangedFiles(t *testing.T) {
	offered, _ := folders(t)
	secrets := newSecrets(t, controlplanetest.New(t), credentials.WithFolders(offered), credentials.WithFileInterval(10*time.Millisecond))
	changed := make(chan types.NamespacedName, 10)
	secrets.OnChange(func(name types.NamespacedName) { changed <- name })
	path := filepath.Join(offered, "key")
	extract := func() (string, error) {
		c, err := secrets.Extract(t.Context(), "", xpv1.ProviderCredentials{Source: "Filesystem", Fs: &xpv1.FsSelector{Path: path}})
		return string(c.Value), err
	}
	if value, err := extract(); value != "from a file" || err != nil {
		t.Fatalf("%q, %v", value, err)
	}
	for _, tc := range []struct {
		name   string
		change func() error
	}{
		{"replaced (R232)", func() error {
			next := filepath.Join(offered, "next")
			return errors.Join(os.WriteFile(next, []byte("rotated"), 0o600), os.Rename(next, filepath.Join(offered, "..data", "key")))
		}},
		{"removed (R232)", func() error { return os.Remove(path) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := tc.change(); err != nil {
				t.Fatal(err)
			}
			select {
			case got := <-changed:
				if got.Namespace != "" || got.Name != path {
					t.Errorf("got %s", got)
				}
			case <-time.After(10 * time.Second):
				t.Error("no callback")
			}
			if value, err := extract(); value == "from a file" {
				t.Errorf("%q, %v", value, err)
			}
		})
	}
	time.Sleep(50 * time.Millisecond)
	if len(changed) > 0 {
		t.Errorf("a change is reported twice: %s", <-changed)
	}
}

func TestCheckEndpoint(t *testing.T) {
	for name, tc := range map[string]struct {
		spec string
		ok   bool
	}{
		"no endpoint (R234)":         {`{}`, true},
		"host name (R234)":           {`{"endpoint": "db.example.org"}`, true},
		"URL with a path (R234)":     {`{"endpoint": "https://[::1]:443/api"}`, true},
		"another field (R234)":       {`{"endpoint": {"host": "db"}}`, true},
		"user and password (R234)":   {`{"endpoint": "https://user:secret@host"}`, false},
		"user before a host (R234)":  {`{"endpoint": "user:secret@host"}`, false},
		"key in the query (R234)":    {`{"endpoint": "https://host/?key=secret"}`, false},
		"key in the fragment (R234)": {`{"endpoint": "https://host/#secret"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := credentials.CheckEndpoint([]byte(tc.spec))
			if (err == nil) != tc.ok || err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("got error %v", err)
			}
		})
	}
}
