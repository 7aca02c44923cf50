// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	"k8s.io/apiserver/pkg/storage/value"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/controlplane/internal/etcd"
	"github.com/bowline-dev/bowline/controlplane/internal/files"
)

// encryptionTemplate is Kubernetes' own format. The first provider encrypts, all of them decrypt; identity reads Secrets that were
// stored before there was a key.
const encryptionTemplate = `# Encrypts Secrets in the store. Without these keys the Secrets are lost: bowline backup includes this file.
# To rotate the key, put a new one (openssl rand -base64 32) with a new name first, restart bowline, and delete the old one.
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - secretbox:
      keys:
      - name: key-%s
        secret: %s
  - identity: {}
`

// EnsureEncryption creates the file with a new key, unless it exists. The name of a key is stored with what it encrypts, so
// another key is detected.
func EnsureEncryption(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	name, key := make([]byte, 4), make([]byte, 32)
	rand.Read(name) // never fails
	rand.Read(key)
	text := fmt.Sprintf(encryptionTemplate, hex.EncodeToString(name), base64.StdEncoding.EncodeToString(key))
	return files.Write(path, []byte(text), 0o600)
}

// secretsPrefix is where Secrets are in the store. The transformers of Kubernetes authenticate the whole key of an object.
const secretsPrefix, secretsEnd = "/registry/secrets/", "/registry/secrets0"

const encryptionPage = 500 // Secrets that are read at once

// rewrittenKey is written after the Secrets. Compaction at its revision waits for every earlier one, also of a process that was killed.
const rewrittenKey = "bowline.dev/secrets-rewritten"

// encryptSecrets rewrites the Secrets that are not encrypted with the first key: those stored in plaintext, and after a rotation.
// It runs before the server, so that no cache and no client sees it. It may be interrupted anywhere: the file of cfg.Rewriting exists
// from before the first write until the former values are removed, and the next start then removes them.
func encryptSecrets(ctx context.Context, cfg Config, with value.Transformer) error {
	server, begin := cfg.Store.Etcd.Server, []byte(secretsPrefix)
	_, err := os.Stat(cfg.Rewriting)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	rewriting := err == nil
	for more := true; more; {
		page, err := server.Range(ctx, &etcdserverpb.RangeRequest{Key: begin, RangeEnd: []byte(secretsEnd), Limit: encryptionPage})
		if err != nil {
			return fmt.Errorf("reading Secrets: %w", err)
		}
		for _, kv := range page.Kvs {
			begin = append(slices.Clone(kv.Key), 0)
			place := value.DefaultContext(kv.Key)
			plain, stale, err := with.TransformFromStorage(ctx, kv.Value, place)
			if err != nil {
				return fmt.Errorf("secret %s in the store cannot be decrypted with the keys in %s: put back the file that was used before, "+
					"name it with --encryption-provider-config, or restore a backup: %w", kv.Key[len(secretsPrefix):], cfg.Encryption, err)
			}
			if !stale {
				continue
			}
			if !rewriting {
				if err := files.Write(cfg.Rewriting, nil, 0o600); err != nil {
					return fmt.Errorf("recording that Secrets are rewritten: %w", err)
				}
				rewriting = true
			}
			sealed, err := with.TransformToStorage(ctx, plain, place)
			if err == nil {
				_, err = server.Put(ctx, &etcdserverpb.PutRequest{Key: kv.Key, Value: sealed, Lease: kv.Lease})
			}
			if err != nil {
				return fmt.Errorf("encrypting secret %s in the store with the first key in %s: %w", kv.Key[len(secretsPrefix):], cfg.Encryption, err)
			}
		}
		more = page.More
	}
	if !rewriting {
		return nil
	}
	if err := removeFormerValues(ctx, cfg.Store); err != nil {
		return fmt.Errorf("removing former values of Secrets: %w", err)
	}
	return os.Remove(cfg.Rewriting)
}

// removeFormerValues removes what the history and the free pages of the database still have.
func removeFormerValues(ctx context.Context, store *etcd.Store) error {
	server := store.Etcd.Server
	put, err := server.Put(ctx, &etcdserverpb.PutRequest{Key: []byte(rewrittenKey)})
	if err == nil {
		_, err = server.Compact(ctx, &etcdserverpb.CompactionRequest{Revision: put.Header.Revision, Physical: true})
	}
	if err != nil {
		return err
	}
	return server.Backend().Defrag()
}

// checkEncryption refuses to encrypt custom kinds: a restore reads the objects in the store, to delete the lost ones by their controllers.
func checkEncryption(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var config apiserverv1.EncryptionConfiguration
	if err := yaml.Unmarshal(content, &config); err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	for _, section := range config.Resources {
		for _, name := range section.Resources {
			if strings.Contains(name, ".") && name != "*." {
				return fmt.Errorf("%s encrypts %s: backups can only be restored if no more than the core group, such as secrets and configmaps, "+
					"is encrypted. Remove the others from the file. If the store already contains some encrypted, decrypt them before with the "+
					"former version of Bowline: put provider identity first, and rewrite them with kubectl replace", path, name)
			}
		}
	}
	return nil
}
