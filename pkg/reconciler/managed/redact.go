// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"maps"
	"runtime/debug"
	"slices"

	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/redact"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// redact keeps secrets out of an error, so that they reach neither conditions nor events, logs or spans (R234).
func (r *Reconciler) redact(ctx context.Context, p *pass, err error) error {
	return redact.Error(err, r.secretsOfPass(ctx, p)...)
}

// redactConditions keeps them out of the conditions that the client set, and returns the object as a tree without them.
func (r *Reconciler) redactConditions(ctx context.Context, p *pass, status any) (tree, error) {
	before, _ := conditionsOf(p.status()) // what cannot be read is no condition
	after, err := conditionsOf(status)
	if err != nil {
		return nil, err
	}
	var secrets [][]byte
	for _, c := range after.Conditions {
		was := before.GetCondition(c.Type)
		if c.Message == "" || c.Message == was.Message {
			continue
		}
		if secrets == nil {
			secrets = r.secretsOfPass(ctx, p)
		}
		if text := redact.Text(c.Message, secrets); text != c.Message {
			if c = c.WithMessage(text); flow.Same(c, was) {
				c.LastTransitionTime = was.LastTransitionTime
			}
			p.managed.SetConditions(c)
		}
	}
	return treeOf(p.managed)
}

// redactDrift keeps them out of differences, which events, conditions, the status and plans repeat.
func (r *Reconciler) redactDrift(ctx context.Context, p *pass) {
	o := &p.observation
	if o.Diff == "" && len(o.Drift) == 0 {
		return
	}
	detached, cancel := detach(ctx)
	defer cancel()
	secrets := r.secretsOfPass(detached, p)
	o.Diff, o.Drift = redact.Text(o.Diff, secrets), redact.Fields(o.Drift, secrets)
}

// secretsOfPass returns the secrets that messages of a pass may repeat.
func (r *Reconciler) secretsOfPass(ctx context.Context, p *pass) [][]byte {
	secrets := r.secretsOf(ctx, p.managed, p.client)
	secrets = append(secrets, p.ended.secrets...)
	secrets = append(secrets, r.givenInputs(ctx, p)...)
	secrets = append(secrets, redact.Details(p.observation.ConnectionDetails)...)
	secrets = append(secrets, redact.Details(p.memory.unpublished)...)
	if p.published != nil {
		secrets = append(secrets, redact.Details(p.published.Data)...)
	}
	return secrets
}

// secretsOf returns the secrets that errors of the client may repeat, apart from secret inputs.
func (r *Reconciler) secretsOf(ctx context.Context, mg resource.Managed, external ExternalClient) [][]byte {
	var secrets [][]byte
	if keeper, ok := optional[SecretKeeper](external); ok {
		func() { // whose panic must not keep a message from being written
			defer func() {
				if recover() != nil {
					r.instruments.kind.Panicked()
					r.logOf(ctx, mg).Error(nil, "The provider's code panicked", "call", "SecretValues", "stack", string(debug.Stack()))
				}
			}()
			secrets = slices.Clone(keeper.SecretValues())
		}()
	}
	if stored, err := r.secrets.Get(ctx, r.client, mg); err == nil && stored != nil {
		secrets = append(secrets, redact.Details(stored.Data)...)
	}
	return secrets
}

// givenInputs returns the secret inputs that the external system may have been given. A process that has read none yet reads
// them once, so that passes that fail cost no reads (N30).
func (r *Reconciler) givenInputs(ctx context.Context, p *pass) [][]byte {
	if _, uses := optional[SecretInputUser](p.client); !uses || p.memory.given != nil {
		return p.memory.given
	}
	now, err := treeOf(p.managed)
	if err != nil {
		return nil
	}
	found, err := r.readSecrets(ctx, p.managed, now["spec"], toRedact)
	if err != nil {
		return slices.Collect(maps.Values(found.values))
	}
	p.memory.give(found.values)
	return p.memory.given
}
