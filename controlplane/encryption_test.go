// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const password = "correct-horse-battery-staple"

// encryptionConfig returns the text of a file with these providers of Secrets: names of keys, or identity.
func encryptionConfig(providers ...string) string {
	text := "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers:\n"
	for _, name := range providers {
		if name == "identity" {
			text += "  - identity: {}\n"
			continue
		}
		key := bytes.Repeat([]byte(name[:1]), 32)
		text += fmt.Sprintf("  - secretbox: {keys: [{name: %s, secret: %s}]}\n", name, base64.StdEncoding.EncodeToString(key))
	}
	return text
}

// serveSecret runs a server once: it reads the Secret, or creates it at the first start.
func serveSecret(t *testing.T, cfg Config, exists bool) {
	t.Helper()
	s := newServer(t, cfg)
	defer run(t, s)()
	c := newClient(t, s.RESTConfig())
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "orders"}}
	if !exists {
		secret.StringData = map[string]string{"password": password}
		must(t, c.Create(t.Context(), secret))
		return
	}
	must(t, c.Get(t.Context(), client.ObjectKeyFromObject(secret), secret))
	if got := string(secret.Data["password"]); got != password {
		t.Errorf("the Secret has password %q", got)
	}
}

// filesWith returns the files below a folder that contain a text.
func filesWith(t *testing.T, folder, text string) (found []string) {
	t.Helper()
	must(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && bytes.Contains(readFile(t, path), []byte(text)) {
			found = append(found, filepath.Base(path))
		}
		return err
	}))
	return found
}

func TestSecretsAreEncryptedAtRest(t *testing.T) {
	dir := t.TempDir()
	serveSecret(t, Config{DataDir: dir}, false)
	if found := filesWith(t, dir, password); len(found) > 0 {
		t.Errorf("the password is in %v", found)
	}
	if len(filesWith(t, dir, "/registry/secrets/default/orders")) == 0 {
		t.Error("the Secret is not in the store: this test would prove nothing")
	}
	if info, err := os.Stat(encryptionPath(dir)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of the key has mode %v, %v", info.Mode(), err)
	}
	serveSecret(t, Config{DataDir: dir}, true)

	must(t, os.Remove(encryptionPath(dir)))
	err := newServer(t, Config{DataDir: dir}).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), encryptionPath(dir)) || !strings.Contains(err.Error(), "put back the file") {
		t.Errorf("without the key the server starts: %v", err)
	}
}

func TestEncryptionOfCustomKindsIsRefused(t *testing.T) {
	for resource, refused := range map[string]bool{
		"secrets, configmaps": false, "'*.'": false, "'*.*'": true, "'*.test.bowline.dev'": true, "secrets, gadgets.test.bowline.dev": true,
	} {
		t.Run(resource, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "keys.yaml")
			text := strings.Replace(encryptionConfig("old", "identity"), "[secrets]", "["+resource+"]", 1)
			must(t, os.WriteFile(file, []byte(text), 0o600))
			s := newServer(t, Config{EncryptionConfig: file})
			if !refused {
				run(t, s)()
				return
			}
			if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "Remove the others from the file") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// A store of plaintext is encrypted, gets another key, and is decrypted again, each by a restart with another file.
func TestEncryptionKeyRotates(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "keys.yaml")
	cfg := Config{DataDir: dir, EncryptionConfig: file}
	for i, step := range []struct {
		providers []string
		marked    string // in the database
	}{
		{[]string{"identity"}, password},
		{[]string{"old", "identity"}, ":old:"},
		{[]string{"new", "old"}, ":new:"},
		{[]string{"new"}, ":new:"},
		{[]string{"identity", "new"}, password},
	} {
		must(t, os.WriteFile(file, []byte(encryptionConfig(step.providers...)), 0o600))
		serveSecret(t, cfg, i > 0)
		for _, text := range []string{password, ":old:", ":new:"} {
			found := filesWith(t, filepath.Join(dir, "etcd", "member", "snap"), text)
			if has := len(found) > 0; has != (text == step.marked) {
				t.Errorf("with %v, %q is in %v", step.providers, text, found)
			}
		}
	}
	if _, err := os.Stat(encryptionPath(dir)); err == nil {
		t.Error("a key was created beside the given ones")
	}
}
