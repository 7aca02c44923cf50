// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"math/rand/v2"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/bowline-dev/bowline/pkg/meta"
)

// Attributes of spans. Of an object they name, other than metrics, which it is.
const (
	attributeKind         = attribute.Key("bowline.kind")
	attributeNamespace    = attribute.Key("bowline.namespace")
	attributeName         = attribute.Key("bowline.name")
	attributeExternalName = attribute.Key("bowline.external_name")
	attributePass         = attribute.Key("bowline.pass")
	attributeOutcome      = attribute.Key("bowline.outcome")
	attributeReason       = attribute.Key("bowline.reason")
)

// passKey is the key under which the context of a pass that controller-runtime did not begin has the pass id.
type passKey struct{}

// passID tells passes apart, in logs and spans: it is what controller-runtime calls the reconcile ID.
func passID(ctx context.Context) string {
	if id := controller.ReconcileIDFromContext(ctx); id != "" {
		return string(id)
	}
	id, _ := ctx.Value(passKey{}).(string)
	return id
}

// beginSpan begins the span of a pass, and gives the pass an id.
func (r *Reconciler) beginSpan(ctx context.Context, p *pass) context.Context {
	if passID(ctx) == "" {
		ctx = context.WithValue(ctx, passKey{}, strconv.FormatUint(rand.Uint64(), 16))
	}
	p.expectBirth()
	ctx, p.span = r.instruments.tracer.Start(ctx, "reconcile "+r.kind.Kind)
	return ctx
}

// describeSpan says on the span of a pass which object it is about and how it ended: at the end, since the external name may be
// known only then. The error of the outcome is redacted already.
func (r *Reconciler) describeSpan(ctx context.Context, p *pass, o outcome) {
	if !p.span.IsRecording() {
		return
	}
	p.span.SetAttributes(
		attributeKind.String(r.instruments.name),
		attributePass.String(passID(ctx)),
		attributeNamespace.String(p.managed.GetNamespace()),
		attributeName.String(p.managed.GetName()),
		attributeExternalName.String(meta.GetExternalName(p.managed)),
		attributeOutcome.String(o.end.String()),
		attributeReason.String(string(o.reason)),
	)
	if o.end.bad() {
		p.span.SetStatus(codes.Error, o.err.Error())
	}
}
