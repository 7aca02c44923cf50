// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/clients/credentials"
	"github.com/bowline-dev/bowline/pkg/clients/limits"
)

// A config is everything that a client is created from.
type config struct {
	xpv1.ProviderSpec
	credentials.Credential

	name    string // in messages
	key     limits.Key
	spec    []byte // as JSON
	version limits.Version
}

// pollInterval of the users of the ProviderConfig; zero if it sets none.
func (c *config) pollInterval() time.Duration {
	return ptr.Deref(c.PollInterval, metav1.Duration{}).Duration
}

// hash returns the version of the config, which two objects of one name never share. The generation of an object is no substitute: it changes with a deletion, and not
// with the credentials.
func (c *config) hash(uid types.UID) limits.Version {
	h := sha256.New()
	add := func(part []byte) {
		h.Write(binary.AppendUvarint(nil, uint64(len(part))))
		h.Write(part)
	}
	add([]byte(uid))
	add(c.spec)
	add(c.Value)
	for _, key := range slices.Sorted(maps.Keys(c.Secret)) {
		add([]byte(key))
		add(c.Secret[key])
	}
	return limits.Version(h.Sum(nil))
}

// secretValues are the credentials and the other values of their Secret, except for address and user name.
func (c *config) secretValues() [][]byte {
	values := [][]byte{c.Value}
	for key, value := range c.Secret {
		switch key {
		case xpv1.ResourceCredentialsSecretEndpointKey, xpv1.ResourceCredentialsSecretPortKey, xpv1.ResourceCredentialsSecretUserKey:
		default:
			values = append(values, value)
		}
	}
	return values
}
