// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
)

// maxFileSize of credentials in bytes: as much as a Secret.
const maxFileSize = 1 << 20

// A Credential is what spec.credentials of a ProviderConfig refers to.
type Credential struct {
	// Value in the key, variable or file. Nil if a Secret is named without a key, if the source needs none, or if the client uses
	// the identity of the controller.
	Value []byte
	// Secret holds all keys of the Secret. Nil for other sources.
	Secret map[string][]byte
}

// Extract returns the credentials of a ProviderConfig in the given namespace, which can only be in a Secret of that namespace; empty
// for a cluster-scoped one (R19, R231, N2).
func (s *Secrets) Extract(ctx context.Context, namespace string, from xpv1.ProviderCredentials) (Credential, error) {
	c, err := s.extract(ctx, namespace, from)
	return c, failure.With(failure.ProviderConfigUnavailable, err)
}

func (s *Secrets) extract(ctx context.Context, namespace string, from xpv1.ProviderCredentials) (c Credential, err error) {
	if err := checkNamespace(namespace, from); err != nil {
		return c, err
	}
	switch from.Source {
	case xpv1.CredentialsSourceSecret:
		return s.fromSecret(ctx, from.SecretRef)
	case xpv1.CredentialsSourceEnvironment:
		c.Value, err = s.fromEnvironment(from.Env)
	case xpv1.CredentialsSourceFilesystem:
		c.Value, err = s.fromFile(from.Fs)
	case xpv1.CredentialsSourceInjectedIdentity, xpv1.CredentialsSourceNone:
	default:
		err = fmt.Errorf("credentials source %q is unknown: use %q", from.Source, xpv1.CredentialsSourceSecret)
	}
	return c, err
}

// checkNamespace keeps a namespaced ProviderConfig from reading anything outside its namespace.
func checkNamespace(namespace string, from xpv1.ProviderCredentials) error {
	if namespace == "" {
		return nil
	}
	switch from.Source {
	case xpv1.CredentialsSourceEnvironment, xpv1.CredentialsSourceFilesystem, xpv1.CredentialsSourceInjectedIdentity:
		return fmt.Errorf("credentials source %q is the controller's own and not for a namespace: use source %q, or a cluster-scoped "+
			"provider configuration", from.Source, xpv1.CredentialsSourceSecret)
	}
	if ref := from.SecretRef; from.Source == xpv1.CredentialsSourceSecret && ref != nil && ref.Namespace != namespace {
		return fmt.Errorf("credentials of a ProviderConfig in namespace %q cannot be in namespace %q: use a secret of its own namespace",
			namespace, ref.Namespace)
	}
	return nil
}

func (s *Secrets) fromSecret(ctx context.Context, ref *xpv1.SecretKeySelector) (c Credential, err error) {
	if ref == nil {
		return c, errors.New("credentials source Secret needs secretRef with namespace, name and key")
	}
	secret, err := s.Get(ctx, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
	if err != nil {
		return c, err
	}
	c = Credential{Value: secret.Data[ref.Key], Secret: secret.Data}
	if ref.Key != "" && len(c.Value) == 0 {
		return c, fmt.Errorf("secret %s/%s has no key %q", ref.Namespace, ref.Name, ref.Key)
	}
	return c, nil
}

func (s *Secrets) fromEnvironment(env *xpv1.EnvSelector) ([]byte, error) {
	if env == nil {
		return nil, errors.New("credentials source Environment needs env with the name of a variable")
	}
	if !slices.Contains(s.variables, env.Name) {
		return nil, fmt.Errorf("environment variable %q is not offered to ProviderConfigs: allow it where the controller is set up, "+
			"by option credentials.WithVariables", env.Name)
	}
	value := os.Getenv(env.Name)
	if value == "" {
		return nil, fmt.Errorf("environment variable %q of the controller is not set", env.Name)
	}
	return []byte(value), nil
}

// fromFile opens its folder as a root, so that no symbolic link leads out of it.
func (s *Secrets) fromFile(fs *xpv1.FsSelector) ([]byte, error) {
	if fs == nil {
		return nil, errors.New("credentials source Filesystem needs fs with the path of a file")
	}
	for _, folder := range s.folders {
		within, err := filepath.Rel(folder, fs.Path)
		if err != nil || !filepath.IsLocal(within) || !filepath.IsAbs(fs.Path) {
			continue
		}
		value, err := read(folder, within)
		if err != nil {
			return nil, fmt.Errorf("reading credentials from file %q of the controller: %w", fs.Path, err)
		}
		return value, nil
	}
	return nil, fmt.Errorf("file %q is not offered to ProviderConfigs: allow its folder where the controller is set up, "+
		"by option credentials.WithFolders", fs.Path)
}

func read(folder, name string) ([]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // opening a pipe would block
		return nil, errors.New("it is not a regular file")
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	value, err := io.ReadAll(io.LimitReader(file, maxFileSize+1))
	switch {
	case err != nil:
		return nil, err
	case len(value) == 0:
		return nil, errors.New("it is empty")
	case len(value) > maxFileSize:
		return nil, fmt.Errorf("it has more than %d bytes", maxFileSize)
	}
	return value, nil
}

// SpecOf returns the spec of a ProviderConfig of any Go type: all of it as JSON, and the part that every one has.
func SpecOf(config client.Object) (common xpv1.ProviderSpec, spec json.RawMessage, err error) {
	content, err := json.Marshal(config)
	if err != nil {
		return common, nil, fmt.Errorf("reading spec: %w", err)
	}
	parsed := struct {
		Spec json.RawMessage `json:"spec"`
	}{}
	if err := errors.Join(json.Unmarshal(content, &parsed), json.Unmarshal(parsed.Spec, &common)); err != nil {
		return common, nil, fmt.Errorf("reading spec: %w", err)
	}
	return common, parsed.Spec, nil
}

// SecretOf returns the Secret that spec.credentials of a ProviderConfig refers to. It is false if there is none, or if it is in
// a namespace that the ProviderConfig must not read.
func SecretOf(config client.Object) (name types.NamespacedName, ok bool, err error) {
	spec, _, err := SpecOf(config)
	if err != nil {
		return name, false, err
	}
	from := spec.Credentials
	if from.Source != xpv1.CredentialsSourceSecret || from.SecretRef == nil {
		return name, false, nil
	}
	name = types.NamespacedName{Namespace: from.SecretRef.Namespace, Name: from.SecretRef.Name}
	foreign := config.GetNamespace() != "" && config.GetNamespace() != name.Namespace
	return name, name.Name != "" && name.Namespace != "" && !foreign, nil
}

// Users returns the ProviderConfigs of a kind whose credentials are in a Secret.
func Users(ctx context.Context, c client.Client, kind schema.GroupVersionKind, secret types.NamespacedName) (users []client.Object, err error) {
	list := objects.MustNewList[client.ObjectList](c.Scheme(), kind)
	if err := c.List(ctx, list); err != nil {
		return nil, fmt.Errorf("listing %s: %w", kind.GroupKind(), err)
	}
	err = meta.EachListItem(list, func(item runtime.Object) error {
		config := item.(client.Object)
		name, ok, err := SecretOf(config)
		if ok && name == secret {
			users = append(users, config)
		}
		return err
	})
	return users, err
}
