// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"maps"
	"time"

	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A pass is what the steps of one pass learn and hand on.
type pass struct {
	managed    resource.Managed
	newManaged func() resource.Managed

	// annotations are those stored in the API server; in memory the object may have an external name that is not.
	annotations map[string]string

	// stored is the spec that the API server has, spec the one that steps made of it; see storeSpec.
	stored any
	spec   any

	// As read at the start, to tell what changed.
	status          any
	synced          xpv1.Condition
	ready           xpv1.Condition
	resourceVersion string

	// client is the client of this pass, external the same until a call in the background takes it over.
	client      ExternalClient
	external    ExternalClient
	observed    bool
	observation ExternalObservation

	// poll is how often the external resource is looked at.
	poll time.Duration

	// inputs are the secret inputs if this pass read them; rotated is true if the external resource was given others.
	inputs  *secretInputs
	rotated bool

	// planning passes write nothing.
	planning bool

	// chosen are the parameters as Observe completed them with what the external system chose.
	chosen tree

	// nameGiven is true if a user, not we, chose the external name.
	nameGiven bool

	// overtaken is true if somebody else wrote to the object while the pass went on.
	overtaken bool

	// gone is true if nothing is left to do for the object.
	gone bool

	// published is the connection secret as last written in this pass.
	published *corev1.Secret

	// renewed are credentials that Update sets in place of those that are lost.
	renewed ConnectionDetails

	// happened is what this pass did, in order.
	happened []event.Event

	// ended is the call in the background whose result this pass took up; it is not made again in the same pass.
	ended verb

	// secrets are those of the call that ended, which a pass that does not connect cannot know, and stored credentials that
	// this pass hands to its client.
	secrets [][]byte

	memory *record
	wakes  int // of the record, at the start

	span trace.Span // of the pass; records nothing unless tracing is configured
}

func (r *Reconciler) newPass(mg resource.Managed, rec *record, wakes int) (*pass, error) {
	stored, err := treeOf(mg)
	if err != nil {
		return nil, err
	}
	poll := r.pollInterval
	if asked, ok := meta.GetPollInterval(mg); ok {
		poll = asked
	}
	return &pass{
		managed:         mg,
		newManaged:      r.newManaged,
		annotations:     maps.Clone(mg.GetAnnotations()),
		stored:          stored["spec"],
		spec:            stored["spec"],
		status:          stored["status"],
		poll:            poll,
		synced:          mg.GetCondition(xpv1.TypeSynced),
		ready:           mg.GetCondition(xpv1.TypeReady),
		resourceVersion: mg.GetResourceVersion(),
		memory:          rec,
		wakes:           wakes,
	}, nil
}

func (p *pass) note(e event.Event) { p.happened = append(p.happened, e) }

// look observes the external resource and remembers that it was seen. One without a name does not exist yet, as far as
// anybody can know (R69).
func (p *pass) look(ctx context.Context) error {
	if meta.GetExternalName(p.managed) == "" {
		p.observation, p.observed = ExternalObservation{}, true
		return nil
	}
	o, err := p.external.Observe(ctx, p.managed)
	if err != nil {
		return err
	}
	p.observation, p.observed = o, true
	if o.ResourceExists {
		p.memory.seen = true
	}
	if o.ResourceLateInitialized {
		return p.takeChosen()
	}
	return nil
}

// mustReplay is true while the answer of a creation is not recorded and can be had again (N22).
func (p *pass) mustReplay() bool {
	c, ok := optional[CreateReplayer](p.external)
	return ok && c.ReplaysCreate() && meta.ExternalCreateUnacknowledged(p.managed)
}

// forgetObservation puts the object back as it was before the external system was asked.
func (p *pass) forgetObservation() error {
	p.observed = false
	return p.rebuild(func(u tree) {
		put(u, "spec", p.spec)
		put(u, "status", p.status)
	})
}
