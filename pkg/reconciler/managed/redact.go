// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"bytes"
	"context"
	"encoding/base64"
	"net/url"
	"slices"
	"strconv"
	"strings"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A SecretKeeper is a client that knows secrets which the errors of the external system may repeat, above all the credentials
// that it signs in with. What the reconciler says of such errors leaves them out. The reconciler knows secret inputs and
// connection details by itself; a connecter whose own errors may hold a secret passes them through Redact.
type SecretKeeper interface {
	SecretValues() [][]byte
}

// Lengths from which secrets are looked for in errors: shorter ones would hide ordinary words. Not every connection detail is a
// secret.
const (
	shortestSecret = 4
	shortestDetail = 8
)

// redactedError is an error without the secrets in its text.
type redactedError struct {
	text  string
	cause error
}

func (e redactedError) Error() string { return e.text }

func (e redactedError) Unwrap() error { return e.cause }

// Redact returns the error without the given secrets in its text, in whatever way it spells them: as they are, quoted, in a URL
// or in base64. Secrets shorter than four bytes are not looked for. The chain of the error stays.
func Redact(err error, secrets ...[]byte) error {
	if err == nil {
		return nil
	}
	text := redactText(err.Error(), secrets)
	if text == err.Error() {
		return err
	}
	return redactedError{text: text, cause: err}
}

// redactText replaces the longest first, so that nothing is left of a secret that contains another.
func redactText(text string, secrets [][]byte) string {
	var all []string
	for _, secret := range secrets {
		if secret = bytes.TrimSpace(secret); len(secret) >= shortestSecret {
			all = append(all, spellings(string(secret))...)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	for _, spelling := range all {
		text = strings.ReplaceAll(text, spelling, "(sensitive)")
	}
	return text
}

// spellings of a secret, none of which is shorter than the secret itself.
func spellings(secret string) []string {
	quoted := strconv.Quote(secret)
	return []string{
		secret, quoted[1 : len(quoted)-1], url.QueryEscape(secret), url.PathEscape(secret), base64.StdEncoding.EncodeToString([]byte(secret)),
	}
}

// redact keeps secrets out of what a pass says of an error, so that they reach neither conditions nor events, logs or spans
// (R234).
func (r *Reconciler) redact(ctx context.Context, p *pass, err error) error {
	if err == nil {
		return nil
	}
	if _, uses := optional[SecretInputUser](p.external); uses && p.inputs == nil {
		_ = r.loadInputs(ctx, p) // what cannot be read cannot have been sent
	}
	secrets := r.secretsOf(ctx, p.managed, p.external, p.inputs)
	secrets = append(secrets, sensitiveDetails(p.observation.ConnectionDetails)...)
	secrets = append(secrets, sensitiveDetails(p.memory.unpublished)...)
	if p.published != nil {
		secrets = append(secrets, sensitiveDetails(p.published.Data)...)
	}
	return Redact(err, secrets...)
}

// secretsOf returns the secrets that errors of the client may repeat.
func (r *Reconciler) secretsOf(ctx context.Context, mg resource.Managed, external ExternalClient, inputs *secretInputs) [][]byte {
	var secrets [][]byte
	if inputs != nil {
		for _, value := range inputs.values {
			secrets = append(secrets, value)
		}
	}
	if keeper, ok := optional[SecretKeeper](external); ok {
		secrets = append(secrets, keeper.SecretValues()...)
	}
	if stored, err := r.secrets.get(ctx, r.client, mg); err == nil && stored != nil {
		secrets = append(secrets, sensitiveDetails(stored.Data)...)
	}
	return secrets
}

// sensitiveDetails returns the connection details that may be secrets: all but those that people have to see to understand an
// error.
func sensitiveDetails(details ConnectionDetails) [][]byte {
	var secrets [][]byte
	for key, value := range details {
		switch key {
		case xpv1.ResourceCredentialsSecretEndpointKey, xpv1.ResourceCredentialsSecretPortKey, xpv1.ResourceCredentialsSecretUserKey:
			continue
		}
		if len(value) >= shortestDetail {
			secrets = append(secrets, value)
		}
	}
	return secrets
}
