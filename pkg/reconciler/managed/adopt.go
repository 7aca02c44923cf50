// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// adopt adds our finalizer to an object whose external resource it did not create, and stores its external name (R51, R63,
// R72). It follows update, which labels the external resource: if the process dies between the two, the label shows the owner
// (N23). An object that only observes needs no finalizer: once it may do more it adopts what it observes. A permission
// to create the resource again, or to take it over, ends here (N38, N48).
func (r *Reconciler) adopt(ctx context.Context, p *pass) outcome {
	spent := meta.CheckRecreate(p.managed, r.now()) == nil
	_, took := p.annotations[meta.AnnotationKeyTakeOverFrom]
	took = took && !p.takesOver() && !p.onlyObserves()
	held := meta.FinalizerExists(p.managed, Finalizer) || p.onlyObserves()
	if !spent && !took && held && p.annotations[meta.AnnotationKeyExternalName] != "" {
		return flow.Next()
	}
	unknown, err := r.unknownKeys(ctx, p, held)
	if err != nil {
		return failed(ReasonCannotPublish, err)
	}
	name := meta.GetExternalName(p.managed)
	return written("adding the finalizer", r.writeMetadata(ctx, p, func(o metav1.Object) {
		if !held {
			meta.AddFinalizer(o, Finalizer)
			connection.SetCreatedKeys(o, slices.Concat(connection.CreatedKeys(o), unknown))
			connection.Record(o, p.managed)
		}
		meta.SetExternalName(o, name)
		if spent {
			meta.EndRecreate(o)
		}
		if took {
			meta.EndTakeOver(o)
		}
	}))
}

// unknownKeys returns the keys of the credentials that only the creation of the resource could publish: those that the client would have
// chosen and, for the application of a claim, those of the answer; without a claim, its user may do without them. Other applications may
// use them: so they are not replaced, and reported as lost while the Secret lacks them (N42).
func (r *Reconciler) unknownKeys(ctx context.Context, p *pass, held bool) ([]string, error) {
	if _, wanted := resource.ConnectionSecretReference(p.managed); held || !wanted {
		return nil, nil
	}
	var unknown []string
	claimed, bindable := p.managed.(resource.BindableManaged)
	if answerer, knows := optional[OneTimeAnswerer](p.external); knows && bindable && claimed.GetClaimReference() != nil {
		unknown = answerer.OneTimeKeys()
	}
	chooser, chooses := optional[CredentialChooser](p.external)
	if !chooses {
		return unknown, nil
	}
	chosen, err := chooser.ChooseCredentials(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("looking for credentials that are unknown: %w", err)
	}
	return slices.AppendSeq(unknown, maps.Keys(chosen)), nil
}
