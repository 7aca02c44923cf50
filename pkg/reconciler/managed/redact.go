// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A SecretKeeper is a client that knows secrets which the errors of the external system may repeat, above all the credentials
// that it signs in with. What the reconciler says of such errors leaves them out. The reconciler knows secret inputs and
// connection details by itself; a connecter whose own errors may hold a secret passes them through Redact.
type SecretKeeper interface {
	// SecretValues returns the secrets. It is called when there is something to say, also while a call goes on.
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

// Redact returns the error without the given secrets in its text, as they are or in a usual spelling: quoted by Go (%q,
// %+q) or in JSON, with doubled quotes as in SQL, escaped for a URL's user, path or query, or in base64 with either alphabet,
// padded or not. Other spellings, such as hexadecimal, parts of a secret and hashes are not found.
// Secrets shorter than four bytes are not looked for. The chain of the error stays.
func Redact(err error, secrets ...[]byte) error {
	if err == nil {
		return nil
	}
	said, ok := textOf(err)
	text := redactText(said, secrets)
	if ok && text == said {
		return err
	}
	return redactedError{text: text, cause: err}
}

// textOf returns what an error says. One that panics when asked, such as a nil pointer in an error, says only its type.
func textOf(err error) (text string, ok bool) {
	defer func() {
		if recover() != nil {
			text, ok = fmt.Sprintf("an error of type %T whose method Error panics, which is a mistake in the provider", err), false
		}
	}()
	return err.Error(), true
}

// hidden stands where a secret was.
const hidden = "(sensitive)"

// redactText replaces the longest first, so that nothing is left of a secret that contains another.
func redactText(text string, secrets [][]byte) string {
	if text == "" {
		return ""
	}
	for _, spelling := range spelled(secrets) {
		text = strings.ReplaceAll(text, spelling, hidden)
	}
	return text
}

// spelled returns the spellings of all secrets that are looked for, the longest first.
func spelled(secrets [][]byte) []string {
	var all []string
	for _, secret := range secrets {
		if secret = bytes.TrimSpace(secret); len(secret) >= shortestSecret {
			all = append(all, spellings(string(secret))...)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}

// spellings of a secret, none of which is shorter than the secret itself.
func spellings(secret string) []string {
	quoted, ascii := strconv.Quote(secret), strconv.QuoteToASCII(secret)
	user := url.UserPassword("", secret).String()
	all := []string{
		secret, quoted[1 : len(quoted)-1], ascii[1 : len(ascii)-1], url.QueryEscape(secret), url.PathEscape(secret), user[1:],
		strings.ReplaceAll(secret, "'", "''"), strings.ReplaceAll(secret, `"`, `""`),
		base64.RawStdEncoding.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte(secret)),
		base64.RawURLEncoding.EncodeToString([]byte(secret)), base64.URLEncoding.EncodeToString([]byte(secret)),
	}
	for _, escape := range []bool{true, false} { // <, > and &
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(escape)
		if err := encoder.Encode(secret); err == nil { // a string always encodes
			all = append(all, text.String()[1:text.Len()-2])
		}
	}
	return all
}

// redact keeps secrets out of what a pass says of an error, so that they reach neither conditions nor events, logs or spans
// (R234).
func (r *Reconciler) redact(ctx context.Context, p *pass, err error) error {
	return Redact(err, r.secretsOfPass(ctx, p)...)
}

// redactConditions keeps them out of what the pass, and the client in it, says in any condition.
func (r *Reconciler) redactConditions(ctx context.Context, p *pass) error {
	now, err := treeOf(p.managed)
	if err != nil {
		return err
	}
	before := messages(p.status)
	var secrets [][]byte
	for kind, said := range messages(now["status"]) {
		if said == "" || said == before[kind] {
			continue
		}
		if secrets == nil {
			secrets = r.secretsOfPass(ctx, p)
		}
		if text := redactText(said, secrets); text != said {
			p.managed.SetConditions(p.managed.GetCondition(xpv1.ConditionType(kind)).WithMessage(text))
		}
	}
	return nil
}

// redactDrift keeps them out of what the client says of differences: events, conditions, the status and plans repeat it.
func (r *Reconciler) redactDrift(ctx context.Context, p *pass) {
	o := &p.observation
	if o.Diff == "" && len(o.Drift) == 0 {
		return
	}
	telling, cancel := detach(ctx)
	defer cancel()
	secrets := r.secretsOfPass(telling, p)
	o.Diff, o.Drift = redactText(o.Diff, secrets), redactFields(o.Drift, secrets)
}

// redactFields returns differences without the secrets, also where a value that was too long to show ends within one.
func redactFields(fields []xpv1.FieldDifference, secrets [][]byte) []xpv1.FieldDifference {
	redacted := slices.Clone(fields)
	for i, f := range fields {
		redacted[i].Path = redactText(f.Path, secrets)
		redacted[i].Desired = redactEnd(redactText(f.Desired, secrets), secrets)
		redacted[i].Observed = redactEnd(redactText(f.Observed, secrets), secrets)
	}
	return redacted
}

// redactEnd replaces the beginning of a secret at the end of a text that was cut off.
func redactEnd(text string, secrets [][]byte) string {
	shown, cut := strings.CutSuffix(text, "…")
	if !cut {
		return text
	}
	for _, spelling := range spelled(secrets) {
		for n := min(len(spelling), len(shown)); n >= shortestSecret; n-- {
			if rest, ends := strings.CutSuffix(shown, spelling[:n]); ends {
				return rest + hidden + "…"
			}
		}
	}
	return text
}

// messages of the conditions in a status, by type.
func messages(status any) map[string]string {
	all := map[string]string{}
	s, _ := status.(tree)
	conditions, _ := s["conditions"].([]any)
	for _, c := range conditions {
		condition, _ := c.(tree)
		kind, _ := condition["type"].(string)
		all[kind], _ = condition["message"].(string)
	}
	return all
}

// secretsOfPass returns the secrets that anything said in a pass may repeat.
func (r *Reconciler) secretsOfPass(ctx context.Context, p *pass) [][]byte {
	secrets := r.secretsOf(ctx, p.managed, p.client)
	secrets = append(secrets, p.secrets...)
	secrets = append(secrets, r.givenInputs(ctx, p)...)
	secrets = append(secrets, sensitiveDetails(p.observation.ConnectionDetails)...)
	secrets = append(secrets, sensitiveDetails(p.memory.unpublished)...)
	secrets = append(secrets, sensitiveDetails(r.memory.kept(p.memory))...)
	secrets = append(secrets, sensitiveDetails(p.renewed)...)
	if p.published != nil {
		secrets = append(secrets, sensitiveDetails(p.published.Data)...)
	}
	return secrets
}

// secretsOf returns the secrets that errors of the client may repeat, apart from secret inputs.
func (r *Reconciler) secretsOf(ctx context.Context, mg resource.Managed, external ExternalClient) [][]byte {
	var secrets [][]byte
	if keeper, ok := optional[SecretKeeper](external); ok {
		secrets = append(secrets, r.valuesOf(ctx, mg, keeper)...)
	}
	if stored, err := r.secrets.get(ctx, r.client, mg); err == nil && stored != nil {
		secrets = append(secrets, sensitiveDetails(stored.Data)...)
	}
	return secrets
}

// valuesOf asks a keeper whose panic must not end what only wants to say something.
func (r *Reconciler) valuesOf(ctx context.Context, mg resource.Managed, keeper SecretKeeper) [][]byte {
	defer func() {
		if recover() != nil {
			r.logOf(ctx, mg).Error(nil, "The provider's code panicked", "call", "SecretValues", "stack", string(debug.Stack()))
		}
	}()
	return keeper.SecretValues()
}

// givenInputs returns the secret inputs that the external system may have been given. A process that read none, since what it
// did so far needs none, reads them once, so that passes that fail cost no reads (N30).
func (r *Reconciler) givenInputs(ctx context.Context, p *pass) [][]byte {
	if _, uses := optional[SecretInputUser](p.client); !uses || p.memory.given != nil {
		return p.memory.given
	}
	values, err := r.inputValues(ctx, p.managed)
	if err != nil {
		return slices.Collect(maps.Values(values))
	}
	p.memory.give(values)
	return p.memory.given
}

// inputValues reads the secret inputs of an object, but for those that are gone. On errors it returns those that it could
// read.
func (r *Reconciler) inputValues(ctx context.Context, mg resource.Managed) (map[string][]byte, error) {
	now, err := treeOf(mg)
	if err != nil {
		return nil, err
	}
	var failed error
	values := map[string][]byte{}
	for _, part := range []string{"forProvider", "initProvider"} {
		for field, reference := range parameters.SecretReferences(section(now["spec"], part)) {
			value, _, err := r.readInput(ctx, mg, reference)
			if _, missing := errors.AsType[missingInput](err); err != nil && !missing {
				failed = err
			} else if !missing {
				values[part+"."+field] = value
			}
		}
	}
	return values, failed
}

// sensitiveDetails returns the connection details that may be secrets: all but those that people have to see to understand an
// error.
func sensitiveDetails(details ConnectionDetails) [][]byte {
	var secrets [][]byte
	for key, value := range details {
		switch key {
		case xpv1.ResourceCredentialsSecretEndpointKey, xpv1.ResourceCredentialsSecretPortKey,
			xpv1.ResourceCredentialsSecretUserKey, xpv1.ResourceCredentialsSecretDatabaseKey:
			continue
		}
		if len(value) >= shortestDetail {
			secrets = append(secrets, value)
		}
	}
	return secrets
}
