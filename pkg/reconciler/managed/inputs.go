// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// inputsOfPass are the secret inputs if this pass read them; rotated is true if the external resource was given others.
type inputsOfPass struct {
	read    *secretInputs
	rotated bool
}

// secretInputs are the values of the Secrets that the parameters refer to, as read in this pass.
type secretInputs struct {
	values   map[string][]byte
	versions []xpv1.SecretInput
	partly   bool // a Secret that only spec.initProvider names is not there: only a creation needs it
}

// An inputPurpose says which Secrets must be there.
type inputPurpose int

const (
	toCompare inputPurpose = iota // those that spec.forProvider names
	toCreate
	toRedact // none, and errors end nothing
)

// inputsRead is when a process last read an object's secret inputs, and why it did.
type inputsRead struct {
	at         time.Time
	generation int64
	requested  string
	values     map[string][]byte
}

// readInputs reads the Secrets that the parameters refer to, before the first call of the external system (P61, P66). They are no
// connection Secrets and so are neither listed nor watched, unless a value is missing: they are read when the object is created or changed,
// on request, and otherwise at an interval (N30).
func (r *Reconciler) readInputs(ctx context.Context, p *pass) outcome {
	user, uses := optional[SecretInputUser](p.external)
	if !uses {
		return flow.Next()
	}
	now := inputsRead{at: r.now(), generation: p.managed.GetGeneration(), requested: p.annotations[meta.AnnotationKeyReconcileRequestedAt]}
	last := p.memory.inputs
	if now.generation == last.generation && now.requested == last.requested && now.at.Sub(last.at) < r.inputInterval {
		p.inputs.rotated = p.memory.rotated
		user.UseSecretInputs(last.values)
		return flow.Next()
	}
	if o := r.loadInputs(ctx, p, toCompare); o.End != flow.Continue {
		return o
	}
	now.values = p.inputs.read.values // Observe may compare them
	user.UseSecretInputs(now.values)
	p.memory.inputs = now
	recorder, records := p.managed.(resource.SecretInputRecorder)
	p.inputs.rotated = records && !reflect.DeepEqual(p.inputs.read.versions, recorder.GetSecretInputs())
	p.memory.rotated = p.inputs.rotated
	return flow.Next()
}

// giveInputs gives the secret inputs to the client that is about to create or update; it reads them if this pass did not.
func (r *Reconciler) giveInputs(ctx context.Context, p *pass) outcome {
	user, uses := optional[SecretInputUser](p.external)
	if !uses {
		return flow.Next()
	}
	if p.inputs.read == nil {
		if o := r.loadInputs(ctx, p, toCompare); o.End != flow.Continue {
			return o
		}
	}
	user.UseSecretInputs(p.inputs.read.values)
	return flow.Next()
}

// completeInputs reads the Secrets again before a creation where some are missing.
func (r *Reconciler) completeInputs(ctx context.Context, p *pass) outcome {
	if p.inputs.read == nil || !p.inputs.read.partly {
		return flow.Next()
	}
	if o := r.loadInputs(ctx, p, toCreate); o.End != flow.Continue {
		return o
	}
	return r.giveInputs(ctx, p)
}

// inputsApplied remembers in the status which Secrets the external resource was given. If that is lost they are given once more.
func (p *pass) inputsApplied(inputs *secretInputs) {
	p.inputs.rotated, p.memory.rotated = false, false
	if inputs != nil {
		p.memory.given = slices.Collect(maps.Values(inputs.values))
	}
	if recorder, ok := p.managed.(resource.SecretInputRecorder); ok && inputs != nil {
		recorder.SetSecretInputs(inputs.versions)
	}
}

// loadInputs reads the Secrets from the API server.
func (r *Reconciler) loadInputs(ctx context.Context, p *pass, purpose inputPurpose) outcome {
	found, err := r.readSecrets(ctx, p.managed, p.spec(), purpose)
	if err != nil {
		return failed(ReasonCannotReadInputs, err)
	}
	p.inputs.read, p.memory.inputs.values = found, found.values
	p.memory.give(found.values)
	return flow.Next()
}

// readSecrets reads the Secrets that a spec refers to. It stops at the first error; to redact it continues, returns what it could read, and a
// Secret or key that does not exist is no error.
func (r *Reconciler) readSecrets(ctx context.Context, mg resource.Managed, spec any, purpose inputPurpose) (found *secretInputs, err error) {
	declared := parameters.SecretReferences(section(spec, "forProvider"))
	references := parameters.SecretReferences(section(spec, "initProvider"))
	maps.Copy(references, declared)
	found = &secretInputs{values: make(map[string][]byte, len(references))}
	for _, field := range slices.Sorted(maps.Keys(references)) {
		from := references[field]
		secret := types.NamespacedName{Namespace: cmp.Or(mg.GetNamespace(), from.Namespace), Name: from.Name} // a team reads its own only
		value, version, exists, failed := r.readInput(ctx, secret, from.Key)
		within := "initProvider"
		if _, isDeclared := declared[field]; isDeclared {
			within = "forProvider"
		}
		switch {
		case failed == nil:
			found.values[field] = value
			if within == "forProvider" {
				found.versions = append(found.versions, xpv1.SecretInput{Field: field, Version: version})
			}
		case purpose == toRedact && exists:
			err = failed
		case purpose == toRedact:
		case purpose == toCompare && !exists && within == "initProvider":
			found.partly = true
		case !exists:
			r.references.AwaitSecret(r.dependent(client.ObjectKeyFromObject(mg)), secret, version)
			fallthrough
		default:
			return nil, fmt.Errorf("reading spec.%s.%s: %w", within, field, failed)
		}
	}
	return found, err
}

// give adds to the given values. Those that they replace stay: the external system has them until the others are applied.
func (rec *record) give(values map[string][]byte) {
	given := make([][]byte, 0, len(rec.given)+len(values))
	given = append(given, rec.given...)
	for _, value := range values {
		if !slices.ContainsFunc(given, func(known []byte) bool { return bytes.Equal(known, value) }) {
			given = append(given, value)
		}
	}
	rec.given = given
}

// readInput returns a value of a Secret, and the state of the Secret. exists is false if there is no such value: then version is that of
// the Secret.
func (r *Reconciler) readInput(ctx context.Context, name types.NamespacedName, key string) (value []byte, version string, exists bool, err error) {
	secret := &corev1.Secret{}
	if err := r.live.Get(ctx, name, secret); apierrors.IsNotFound(err) {
		return nil, "", false, fmt.Errorf("secret %s does not exist: create it, or correct the reference", name)
	} else if err != nil {
		return nil, "", true, err
	}
	value, exists = secret.Data[key]
	switch {
	case secret.Type == meta.SecretTypeState:
		return nil, "", true, fmt.Errorf("secret %s holds the state of an object, to which nothing may refer: correct the reference", name)
	case !exists:
		return nil, secret.ResourceVersion, false, fmt.Errorf("secret %s has no key %q: add it, or correct the reference", name, key)
	case len(value) == 0:
		return nil, secret.ResourceVersion, false, fmt.Errorf("secret %s has an empty value under key %q: set it, or remove the reference", name, key)
	}
	return value, fmt.Sprintf("%s:%s", secret.UID, secret.ResourceVersion), true, nil
}
