// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/clients/limits"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A configKey identifies a provider configuration, whichever object of that name there is.
type configKey struct {
	limits.Key
	group string
}

func keyOf(of placed[resource.ProviderConfig], config client.Object) configKey {
	key := limits.Key{Kind: of.gvk.Kind, Namespace: config.GetNamespace(), Name: config.GetName()}
	return configKey{Key: key, group: of.gvk.Group}
}

// said is what a configuration says.
type said struct {
	xpv1.ProviderSpec
	namespace string // of the configuration
	raw       []byte // the whole spec, as JSON
}

// read reads what every configuration says, whatever its Go type.
func read(config client.Object) (said, error) {
	whole, err := json.Marshal(config)
	if err != nil {
		return said{}, fmt.Errorf("reading spec: %w", err)
	}
	object := struct {
		Spec json.RawMessage `json:"spec"`
	}{}
	if err := json.Unmarshal(whole, &object); err != nil {
		return said{}, fmt.Errorf("reading spec: %w", err)
	}
	s := said{namespace: config.GetNamespace(), raw: object.Spec}
	if err := json.Unmarshal(s.raw, &s.ProviderSpec); err != nil {
		return said{}, fmt.Errorf("reading spec: %w", err)
	}
	return s, nil
}

// secrets returns the Secret that the configuration names, if it names one.
func (s said) secrets() []types.NamespacedName {
	ref := s.Credentials.SecretRef
	if s.Credentials.Source != xpv1.CredentialsSourceSecret || ref == nil {
		return nil
	}
	return []types.NamespacedName{{Namespace: ref.Namespace, Name: ref.Name}}
}

// pollInterval is how often the users of the configuration are looked at, zero if it does not say.
func (s said) pollInterval() time.Duration {
	if s.PollInterval == nil {
		return 0
	}
	return s.PollInterval.Duration
}

// A found configuration is all that a client is made from, as of now.
type found struct {
	said
	key         configKey
	name        string // in messages
	state       state
	credentials []byte
	secret      map[string][]byte
}

// A state of a configuration: another needs another client. Two objects of one name never have the same.
type state [sha256.Size]byte

// find reads the configuration that an object uses and its credentials (R227 to R229, R231, R232, N2). All of it is read
// from watches.
func (s *Setup) find(ctx context.Context, mg resource.Managed) (*found, error) {
	of, err := s.configOf(mg)
	if err != nil {
		return nil, err
	}
	config := of.is.DeepCopyObject().(client.Object)
	key := types.NamespacedName{Name: resource.ProviderConfigName(mg)}
	if of.namespaced {
		key.Namespace = mg.GetNamespace()
	}
	name := fmt.Sprintf("%s %q", of.gvk.Kind, key.Name)
	if err := s.mgr.GetClient().Get(ctx, key, config); err != nil {
		return nil, fmt.Errorf("cannot get %s: %w", name, err)
	}
	f := &found{key: keyOf(of, config), name: name}
	if f.said, err = read(config); err != nil {
		return nil, fmt.Errorf("cannot use %s: %w", name, err)
	}
	if err := s.readCredentials(ctx, f); err != nil {
		return nil, fmt.Errorf("cannot get credentials of %s: %w", name, err)
	}
	f.state = f.fingerprint(config.GetUID())
	return f, nil
}

// configOf returns the kind of configuration that an object uses (N2).
func (s *Setup) configOf(mg resource.Managed) (placed[resource.ProviderConfig], error) {
	gvk, err := apiutil.GVKForObject(mg, s.mgr.GetScheme())
	if err != nil {
		return placed[resource.ProviderConfig]{}, fmt.Errorf("finding the kind of the object: %w", err)
	}
	named, kind := resource.ProviderConfigKind(mg), s.layout.kindOf(gvk.GroupKind())
	for _, c := range s.layout.configs {
		if c.gvk.Group == kind.configs && c.gvk.Kind == named {
			return c, nil
		}
	}
	return placed[resource.ProviderConfig]{}, fmt.Errorf("kind %s has no provider configurations of kind %q: name one of kind %s or %s in "+
		"spec.providerConfigRef", gvk.GroupKind(), named, xpv1.ProviderConfigKind, xpv1.ClusterProviderConfigKind)
}

func (l *layout) kindOf(gk schema.GroupKind) placed[Kind] {
	for _, k := range l.kinds {
		if k.gvk.GroupKind() == gk {
			return k
		}
	}
	return placed[Kind]{}
}

// readCredentials reads what the configuration names: one key of a Secret, all of it where none is named, or another
// source.
func (s *Setup) readCredentials(ctx context.Context, f *found) error {
	ref := f.Credentials.SecretRef
	if f.Credentials.Source != xpv1.CredentialsSourceSecret || ref == nil || ref.Key != "" {
		var err error
		if f.credentials, err = s.secrets.ExtractWithin(ctx, f.namespace, f.Credentials); err != nil {
			return err
		}
	}
	for _, name := range f.secrets() {
		if f.namespace != "" && f.namespace != name.Namespace {
			return errors.New("a ProviderConfig of a namespace can only name a secret of its own namespace")
		}
		secret, err := s.secrets.Get(ctx, name)
		if err != nil {
			return err
		}
		f.secret = secret.Data
	}
	return nil
}

// fingerprint tells what a client is made from, from all else that it could be made from. A generation would change with
// the deletion of a configuration, and tells nothing of credentials.
func (f *found) fingerprint(of types.UID) state {
	var all bytes.Buffer
	add := func(part []byte) {
		all.Write(binary.AppendUvarint(nil, uint64(len(part))))
		all.Write(part)
	}
	add([]byte(of))
	add(f.raw)
	add(f.credentials)
	for _, key := range slices.Sorted(maps.Keys(f.secret)) {
		add([]byte(key))
		add(f.secret[key])
	}
	return sha256.Sum256(all.Bytes())
}

// secretValues are the credentials, and what else their Secret holds that is no address and no name.
func (f *found) secretValues() [][]byte {
	values := [][]byte{f.credentials}
	for key, value := range f.secret {
		switch key {
		case xpv1.ResourceCredentialsSecretEndpointKey, xpv1.ResourceCredentialsSecretPortKey, xpv1.ResourceCredentialsSecretUserKey:
		default:
			values = append(values, value)
		}
	}
	return values
}
