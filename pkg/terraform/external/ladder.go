// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"
	kube "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/pkg/terraform/plugin"
	"github.com/bowline-dev/bowline/pkg/terraform/state"
)

// lookAgain is the longest time between two looks for what an interrupted creation made.
const lookAgain = 10 * time.Second

// noteOfCreation is what to store before a creation, so that what it makes can be found if its answer is lost. It fails if there is a resource
// of the import id already.
func (c *client) noteOfCreation(ctx context.Context, mg resource.Managed, config cty.Value) (*state.State, error) {
	note := &state.State{Place: c.place(), Name: meta.GetExternalName(mg), Creating: c.Journal.ID(), Change: rand.Text()}
	if err := c.noteLabel(ctx, mg, config, note); err != nil {
		return nil, err
	}
	id, known := c.importID(mg)
	if !known {
		return note, nil
	}
	note.ImportID = id
	found, err := c.Client.Import(ctx, c.Resource, id)
	if _, refused := errors.AsType[plugin.Diagnostics](err); refused { // which may, or may not, say that there is none
		return note, nil
	}
	if err != nil {
		return nil, called("importing", err)
	}
	note.AbsentBefore = found.Value.IsNull()
	if note.AbsentBefore {
		return note, nil
	}
	former, err := c.Store.Load(ctx, mg.GetUID())
	switch {
	case err != nil:
		return nil, err
	case c.wasInterrupted(former) && former.ImportID == id:
		return nil, appeared()
	case former != nil && former.Replacing:
		return nil, failure.New(failure.ExternalCallFailed, fmt.Sprintf("the former resource %q, which is replaced, is still found: it is looked at again", id))
	}
	message := fmt.Sprintf("%s %q exists already, and was not created by this object: choose other settings; or, to adopt it with its data, set the "+
		"annotation %s to %q and remove the annotations %s and %s", c.Name, id, meta.AnnotationKeyExternalName, id,
		meta.AnnotationKeyExternalCreatePending, meta.AnnotationKeyExternalCreateFailed)
	return nil, failure.Refusal(failure.ExternalNameTaken, message)
}

// appeared is the error of a creation for which there may be a resource by now.
func appeared() error {
	return failure.OutcomeUnknown(errors.New("what an interrupted creation made may have appeared: it is looked at again"))
}

// importID is the import id of what an object declares, if it is known beforehand.
func (c *client) importID(mg resource.Managed) (id string, known bool) {
	template := c.settings.Load().importID
	if template == nil {
		return "", false
	}
	return template.Text(declaredBy(mg))
}

// declaredBy is what counts at the creation of an object.
func declaredBy(mg resource.Managed) map[string]any {
	declared, _, _ := kube.NestedMap(content(mg), "spec", "forProvider")
	initial, _, _ := kube.NestedMap(content(mg), "spec", "initProvider")
	return parameters.Overlay(declared, initial)
}

// findInterrupted looks for what a creation made whose answer is lost, and stores its state. Each step of the ladder needs a proof: that it is
// the object's, that no secret is lost with the answer, or that nothing was made. Where one is missing a person has to look.
func (c *client) findInterrupted(ctx context.Context, mg resource.Managed, stored *state.State) (string, error) {
	if stored.ImportID == "" {
		return c.findListed(ctx, mg, stored)
	}
	found, err := c.Client.Import(ctx, c.Resource, stored.ImportID)
	switch refused, ok := errors.AsType[plugin.Diagnostics](err); {
	case ok && stored.ListConfig != nil:
		return c.findListed(ctx, mg, stored)
	case ok:
		return "", c.interrupted(fmt.Sprintf("an import of %q, which is tried again, fails", stored.ImportID), refused)
	}
	if err != nil {
		return "", called("importing", err)
	}
	if found.Value.IsNull() {
		return "", c.awaitAbsence(ctx, mg, stored, fmt.Sprintf("by the import id %q", stored.ImportID))
	}
	if err := c.noteSeen(ctx, mg, stored); err != nil {
		return "", err
	}
	labelled := c.settings.Load().owner != nil
	switch {
	case labelled && !c.isLabelled(mg, found.Value):
		return "", c.interrupted(fmt.Sprintf("%q exists, but its %s have not %s=%s", stored.ImportID, c.settings.Load().Ownership,
			meta.ExternalLabelUID, mg.GetUID()), nil)
	case !labelled && (!stored.AbsentBefore || meta.WasDeleted(mg)):
		return "", c.interrupted(fmt.Sprintf("%q exists, but may be another's", stored.ImportID), nil)
	}
	if !labelled {
		defer c.Store.LockOwners(c.Name)()
		other, err := c.otherOf(ctx, mg, stored.ImportID, found.Value)
		if err != nil {
			return "", err
		}
		if other.UID != "" {
			return "", c.interrupted(fmt.Sprintf("%q exists, but belongs to %s", stored.ImportID, other.Object), nil)
		}
	}
	return c.takeInterrupted(ctx, mg, stored.ImportID, found)
}

// takeInterrupted stores the state of what a creation made and an import found, and returns its name, unless a secret is lost with the answer.
func (c *client) takeInterrupted(ctx context.Context, mg resource.Managed, id string, found plugin.State) (string, error) {
	if missing := kinds.MissingSecrets(c.Schema.Block, found.Value, declaredBy(mg)); len(missing) > 0 && !meta.WasDeleted(mg) {
		return "", c.interrupted(fmt.Sprintf("%q exists, but an import does not return what only the answer to the creation had (%s): "+
			"delete it there to have it created again, or do without", id, strings.Join(missing, ", ")), nil)
	}
	c.recovered = true
	return c.nameOf(mg, found.Value), c.save(ctx, mg, answer{State: found, name: meta.GetExternalName(mg), creates: true})
}

// interrupted is the error of an object whose creation was interrupted, and that needs a person.
func (c *client) interrupted(what string, cause error) error {
	text := fmt.Sprintf("a creation of %s was interrupted, and %s. Look for it in the external system: if it exists, set the annotation %s to its "+
		"import id; in any case, remove the annotation %s then", c.Name, what, meta.AnnotationKeyExternalName, meta.AnnotationKeyExternalCreatePending)
	if cause != nil {
		return failure.With(failure.CreateInterrupted, fmt.Errorf("%s: %w", text, cause))
	}
	return failure.Terminal(failure.New(failure.CreateInterrupted, text))
}

// awaitAbsence returns nil once nothing was found, by an import or a list, for so long that an interrupted creation made nothing: external
// systems show some resources late, and may still serve a request of a process that has ended.
func (c *client) awaitAbsence(ctx context.Context, mg resource.Managed, stored *state.State, by string) error {
	now, since := time.Now(), stored.MissingSince
	if since.IsZero() || since.After(now) {
		since = now
		if err := c.amend(ctx, mg, stored, func(s *state.State) { s.MissingSince = now }); err != nil {
			return err
		}
	}
	if left := c.settings.Load().AbsentAfter - now.Sub(since); left > 0 {
		return failure.With(failure.CreateInterrupted, notFound{by, since, min(left, lookAgain)})
	}
	return nil
}

// noteSeen notes that there is something: what is absent later may have been created since.
func (c *client) noteSeen(ctx context.Context, mg resource.Managed, stored *state.State) error {
	if stored.MissingSince.IsZero() {
		return nil
	}
	return c.amend(ctx, mg, stored, func(s *state.State) { s.MissingSince = time.Time{} })
}

// notFound is the error of an object whose interrupted creation made nothing, as far as is known.
type notFound struct {
	by    string // what it was looked for
	since time.Time
	again time.Duration
}

func (e notFound) Error() string {
	return fmt.Sprintf("a creation was interrupted, and nothing is found %s since %s: if that lasts, it is created again", e.by, e.since.Format(time.RFC3339))
}

// RetryAfter is how long to wait.
func (e notFound) RetryAfter() time.Duration { return e.again }

// importLost imports the external resource of an object whose state is lost, if nothing else can be lost: its type has no secrets, and it is
// the object's, by its label or by its id.
func (c *client) importLost(ctx context.Context, mg resource.Managed) (plugin.State, error) {
	of := c.settings.Load()
	if kinds.HasSecrets(c.Schema.Block) || of.importID == nil && of.owner == nil {
		return c.NoState(), lostState(mg)
	}
	id, known := c.importID(mg)
	if !known {
		id = meta.GetExternalName(mg)
	}
	found, err := c.Client.Import(ctx, c.Resource, id)
	refused, ok := errors.AsType[plugin.Diagnostics](err)
	if err != nil && !ok {
		return c.NoState(), called("importing", err)
	}
	if found.Value.IsNull() { // its import id may be another one
		if found, err = c.listLost(ctx, mg); err != nil {
			return c.NoState(), err
		}
	}
	if found.Value.IsNull() && ok {
		return c.NoState(), fmt.Errorf("%w; an import of %q fails: %w", lostState(mg), id, refused)
	}
	name := string(mg.GetUID())
	if !found.Value.IsNull() {
		name = c.nameOf(mg, found.Value)
	}
	byID := of.owner == nil && name == meta.GetExternalName(mg) && name != string(mg.GetUID())
	if !byID && (of.owner == nil || found.Value.IsNull() || !c.isLabelled(mg, found.Value)) {
		return c.NoState(), lostState(mg)
	}
	return c.adopted(ctx, mg, found)
}
