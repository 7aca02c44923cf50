// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A pass is what the steps of one pass learn and hand on.
type pass struct {
	managed resource.Managed

	// annotations are those stored in the API server; in memory the object may have an external name that is not.
	annotations map[string]string

	// As read at the start, to tell what changed.
	status          any
	synced          xpv1.Condition
	ready           xpv1.Condition
	resourceVersion string

	external    ExternalClient
	observed    bool
	observation ExternalObservation

	// nameGiven is true if a user, not we, chose the external name.
	nameGiven bool

	// overtaken is true if somebody else wrote to the object while the pass went on.
	overtaken bool

	// published is the connection secret as last written in this pass.
	published *corev1.Secret

	// happened is what this pass did, in order.
	happened []event.Event

	memory *record
	wakes  int // of the record, at the start
}

func newPass(mg resource.Managed, rec *record, wakes int) (*pass, error) {
	status, err := statusOf(mg)
	if err != nil {
		return nil, err
	}
	return &pass{
		managed:         mg,
		annotations:     maps.Clone(mg.GetAnnotations()),
		status:          status,
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
	return nil
}

// mustReplay is true while the answer of a creation is not recorded and can be had again (N22).
func (p *pass) mustReplay() bool {
	c, ok := optional[CreateReplayer](p.external)
	return ok && c.ReplaysCreate() && meta.ExternalCreateUnacknowledged(p.managed)
}

// forgetObservation puts the status back as it was before the external system was asked.
func (p *pass) forgetObservation(fresh resource.Managed) error {
	u, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p.managed)
	if err != nil {
		return fmt.Errorf("putting status back: %w", err)
	}
	u["status"] = p.status
	if p.status == nil {
		delete(u, "status")
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u, fresh); err != nil {
		return fmt.Errorf("putting status back: %w", err)
	}
	p.managed, p.observed = fresh, false
	return nil
}

// statusOf returns the status as its JSON stands in the API.
func statusOf(mg resource.Managed) (any, error) {
	u, err := runtime.DefaultUnstructuredConverter.ToUnstructured(mg)
	if err != nil {
		return nil, fmt.Errorf("reading status: %w", err)
	}
	return u["status"], nil
}
