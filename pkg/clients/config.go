// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/clients/credentials"
	"github.com/bowline-dev/bowline/pkg/clients/limits"
)

// A config is everything that a client is created from.
type config struct {
	xpv1.ProviderSpec

	name        string // in messages
	key         limits.Key
	namespace   string
	spec        []byte // as JSON
	credentials []byte
	secret      map[string][]byte
	version     version
}

// A version identifies the content of a config. Two objects of one name never have the same version.
type version [sha256.Size]byte

// parse reads the spec of a ProviderConfig of any Go type.
func parse(object client.Object) (*config, error) {
	content, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("reading spec: %w", err)
	}
	parsed := struct {
		Spec json.RawMessage `json:"spec"`
	}{}
	if err := json.Unmarshal(content, &parsed); err != nil {
		return nil, fmt.Errorf("reading spec: %w", err)
	}
	c := &config{namespace: object.GetNamespace(), spec: parsed.Spec}
	if err := json.Unmarshal(c.spec, &c.ProviderSpec); err != nil {
		return nil, fmt.Errorf("reading spec: %w", err)
	}
	return c, nil
}

// secretName is the Secret that the credentials are in, if they are in one.
func (c *config) secretName() (name types.NamespacedName, ok bool) {
	ref := c.Credentials.SecretRef
	if c.Credentials.Source != xpv1.CredentialsSourceSecret || ref == nil {
		return name, false
	}
	return types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, true
}

// pollInterval of the users of the ProviderConfig; zero if it sets none.
func (c *config) pollInterval() time.Duration {
	if c.PollInterval == nil {
		return 0
	}
	return c.PollInterval.Duration
}

// readCredentials reads one key of a Secret, the whole Secret if no key is named, or another source.
func (c *config) readCredentials(ctx context.Context, from *credentials.Secrets) error {
	name, inSecret := c.secretName()
	if !inSecret || c.Credentials.SecretRef.Key != "" {
		var err error
		if c.credentials, err = from.ExtractWithin(ctx, c.namespace, c.Credentials); err != nil {
			return err
		}
	}
	if !inSecret {
		return nil
	}
	if c.namespace != "" && c.namespace != name.Namespace {
		return errors.New("a ProviderConfig of a namespace can only name a secret of its own namespace")
	}
	secret, err := from.Get(ctx, name)
	if err != nil {
		return err
	}
	c.secret = secret.Data
	return nil
}

// hash returns the version of the config. The generation of an object is no substitute: it changes with a deletion, and not
// with the credentials.
func (c *config) hash(uid types.UID) version {
	h := sha256.New()
	add := func(part []byte) {
		h.Write(binary.AppendUvarint(nil, uint64(len(part))))
		h.Write(part)
	}
	add([]byte(uid))
	add(c.spec)
	add(c.credentials)
	for _, key := range slices.Sorted(maps.Keys(c.secret)) {
		add([]byte(key))
		add(c.secret[key])
	}
	return version(h.Sum(nil))
}

// secretValues are the credentials and the other values of their Secret, except for address and user name.
func (c *config) secretValues() [][]byte {
	values := [][]byte{c.credentials}
	for key, value := range c.secret {
		switch key {
		case xpv1.ResourceCredentialsSecretEndpointKey, xpv1.ResourceCredentialsSecretPortKey, xpv1.ResourceCredentialsSecretUserKey:
		default:
			values = append(values, value)
		}
	}
	return values
}
