// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rotate is the command rotate, which replaces the credentials in a connection Secret.
package rotate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
)

const (
	interval = 500 * time.Millisecond // of looking whether the credentials are replaced
	skew     = 10 * time.Second       // how far the clock of who requested before may be ahead; what is later is planned
)

// A Rotation is a request for new credentials. The keys of its JSON are an interface.
type Rotation struct {
	Kind      string    `json:"kind"` // as kubectl takes it: <kind>.<group>
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	Requested time.Time `json:"requested"`         // credentials that are older are replaced
	Replaced  time.Time `json:"replaced,omitzero"` // when they were to be replaced, which this request replaces
	Rotated   time.Time `json:"rotated,omitzero"`  // when they were replaced; missing if that was not awaited
}

// A request is a rotation of an object that was found.
type request struct {
	Rotation
	cluster *inspect.Cluster
	object  inspect.Reading // a claim or a managed resource
	managed inspect.Reading
	former  *corev1.Secret // that of a claim before the request; nil where this user may not read it
	std     command.Streams
	told    xpv1.Condition // the last that was written as progress
}

// New returns the command.
func New(std command.Streams, folder *datadir.Flag, open inspect.Opener) *cobra.Command {
	var namespace string
	var access datadir.Access
	var noWait bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "rotate CLAIM | KIND/NAME",
		Short: "Replace the password in a connection Secret by a new one",
		Long: `Requests new credentials for a claim or a managed resource, and waits until the connection Secret has them. Programs that connect
must read the Secret again: the former password is no longer valid for new connections, nor is one that still works after a rotation by
age (spec.credentials.overlap). Existing connections stay open.

The command sets the annotation bowline.dev/rotate-credentials-at to the present time, which you may do yourself: it replaces a time that
was planned there. Bowline stores the new password, sets it in the external system, and then replaces the one in the Secret, and in the
Secret of the claim. If the external system refuses it, the former one stays in use, and Bowline tries again. Who may not read the managed
resource waits until the Secret of the claim has changed.

A password that you choose in a Secret of yours (passwordSecretRef) is not replaced: change it there.`,
		Example: `  bowline rotate orders -n shop
  bowline rotate tenantdatabase/shop-orders-x1b2c
  bowline rotate role.postgresql.sql.m.bowline.dev/app -n shop --no-wait`,
	}
	flags := cmd.Flags()
	flags.StringVarP(&namespace, "namespace", "n", "", "namespace of the object (default: that of the kubeconfig)")
	access.AddFlags(flags)
	flags.BoolVar(&noWait, "no-wait", false, "do not wait until the credentials are replaced")
	flags.DurationVar(&timeout, "timeout", 2*time.Minute, "how long to wait")
	output := command.NewOutput(cmd, "text", "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, words []string) error {
		q := inspect.Query{Words: words, Namespace: namespace}
		if err := q.Check(); err != nil {
			return command.Usagef(cmd, "%w", err)
		}
		if timeout <= 0 {
			return command.Usagef(cmd, "--timeout must be positive")
		}
		cluster, current, err := open(folder, access)
		if err != nil {
			return err
		}
		if q.Namespace == "" {
			q.Namespace = current
		}
		r, err := find(cmd.Context(), cluster, q)
		if err != nil {
			return err
		}
		r.std, r.former = std, r.secretOf(cmd.Context(), r.object)
		if err := r.make(cmd.Context()); err != nil {
			return fmt.Errorf("requesting new credentials: %w", err)
		}
		if !noWait {
			if err := r.await(cmd.Context(), timeout); err != nil {
				return err
			}
		}
		return output.Print(std.Out, r.Rotation, r.print)
	}
	return cmd
}

// find returns the request for the object that a person named.
func find(ctx context.Context, cluster *inspect.Cluster, q inspect.Query) (*request, error) {
	found, err := cluster.Find(ctx, q)
	if err != nil {
		return nil, err
	}
	o := found.Object
	r := &request{cluster: cluster, object: found, managed: found}
	r.Kind, r.Namespace, r.Name = found.Kind.String(), o.GetNamespace(), o.GetName()
	switch found.Kind.Role() {
	case inspect.RoleManaged:
		return r, nil
	case inspect.RoleClaim:
		ref, ok := inspect.Reference(o, "spec", "resourceRef")
		if !ok {
			return nil, fmt.Errorf("claim %s has no managed resource yet, and so no credentials: bowline why %s -n %s", r.Name, r.Name, r.Namespace)
		}
		r.managed = cluster.Follow(ctx, ref, "")
		return r, nil
	default:
		return nil, fmt.Errorf("a %s has no credentials of its own: name a claim or a managed resource", found.Kind)
	}
}

// make sets the annotation, and replaces a time that is planned there.
func (r *request) make(ctx context.Context) error {
	now := time.Now().UTC().Truncate(time.Second)
	if planned := meta.GetRotateCredentialsAt(r.object.Object); planned.After(now.Add(skew)) {
		r.Replaced = planned.UTC()
	}
	r.Requested = next(now, r.object.Object, r.managed.Object)
	return r.cluster.Patch(ctx, r.object.Kind, r.object.Object, func(o *unstructured.Unstructured) {
		meta.SetRotateCredentialsAt(o, r.Requested)
	})
}

// next returns when to request new credentials: now, or later than all rotations so far and the requests for them, if the clock of this
// machine is behind.
func next(now time.Time, objects ...*unstructured.Unstructured) time.Time {
	at := now
	for _, o := range objects {
		if o == nil {
			continue
		}
		requests := slices.DeleteFunc(meta.RotationRequests(o), now.Add(skew).Before)
		for _, earlier := range append(requests, lastRotation(o), meta.GetExternalCreateSucceeded(o)) {
			if !at.After(earlier) {
				at = earlier.UTC().Add(time.Second)
			}
		}
	}
	return at
}

func lastRotation(o *unstructured.Unstructured) time.Time {
	at, _ := time.Parse(time.RFC3339, inspect.Text(o, "status", "credentials", "lastRotationTime"))
	return at
}

var errPending = errors.New("the credentials are not replaced yet")

// await waits until the credentials are replaced, or cannot be, by what this user may read.
func (r *request) await(ctx context.Context, timeout time.Duration) error {
	observed, replaced := r.managed, r.observeManaged()
	if r.managed.Presence != inspect.Present {
		observed, replaced = r.object, r.observeSecret
		if r.former == nil {
			_, err := fmt.Fprintln(r.std.Err, "Not waiting: you cannot read the managed resource of the claim, nor a Secret of the claim.")
			return err
		}
	}
	err := wait.PollUntilContextTimeout(ctx, interval, timeout, false, func(ctx context.Context) (bool, error) {
		now := r.cluster.Get(ctx, observed.Kind.GroupKind(), client.ObjectKeyFromObject(observed.Object))
		switch now.Presence {
		case inspect.Present:
			return replaced(ctx, now.Object)
		case inspect.Unreadable: // for a while, or because the time is up
			return false, nil
		}
		return false, fmt.Errorf("the %s is %s by now", observed.Kind.Role(), now.Presence)
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		what := observed.Kind.String() + "/" + observed.Object.GetName()
		if namespace := observed.Object.GetNamespace(); namespace != "" {
			what += " -n " + namespace
		}
		return fmt.Errorf("%w after %s; Bowline continues: bowline why %s", errPending, timeout, what)
	}
	return err
}

// observeManaged returns whether a managed resource shows the end of the rotation, and that its claim has the new credentials.
func (r *request) observeManaged() func(context.Context, *unstructured.Unstructured) (bool, error) {
	impossible := 0
	return func(ctx context.Context, o *unstructured.Unstructured) (bool, error) {
		if last := lastRotation(o); !last.Before(r.Requested) {
			r.Rotated = last
			return r.isCopied(ctx), nil
		}
		status := inspect.Conditions(o)
		synced := status.GetCondition(xpv1.TypeSynced)
		if synced.Status != corev1.ConditionFalse {
			return false, nil
		}
		passed := slices.ContainsFunc(meta.RotationRequests(o), r.Requested.Equal)
		if xpv1.FailureOf(&status).Reason == failure.RotationImpossible && passed {
			if impossible++; impossible > 2 { // it is no longer that of an earlier request
				return false, r.withdraw(ctx, errors.New(synced.Message))
			}
			return false, nil
		}
		return false, r.progress(synced)
	}
}

// withdraw takes back a request that cannot be met, unless another one replaced it: the object would fail until it is withdrawn.
func (r *request) withdraw(ctx context.Context, because error) error {
	now := r.cluster.Get(ctx, r.object.Kind.GroupKind(), client.ObjectKeyFromObject(r.object.Object))
	if now.Presence != inspect.Present || !meta.GetRotateCredentialsAt(now.Object).Equal(r.Requested) {
		return because
	}
	read := now.Object.DeepCopy()
	read.SetResourceVersion("") // so that the patch has it, and fails if another request came
	return errors.Join(because, r.cluster.Patch(ctx, r.object.Kind, read, func(o *unstructured.Unstructured) {
		o.SetResourceVersion(now.Object.GetResourceVersion())
		if meta.SetRotateCredentialsAt(o, r.Replaced); r.Replaced.IsZero() {
			unstructured.RemoveNestedField(o.Object, "metadata", "annotations", meta.AnnotationKeyRotateCredentialsAt)
		}
	}))
}

// observeSecret is true once the Secret of a claim has other content than before the request.
func (r *request) observeSecret(ctx context.Context, claim *unstructured.Unstructured) (bool, error) {
	now := r.secretOf(ctx, r.object)
	if now != nil && !maps.EqualFunc(now.Data, r.former.Data, bytes.Equal) {
		r.Rotated = time.Now().UTC().Truncate(time.Second)
		return true, nil
	}
	status := inspect.Conditions(claim)
	if ready := status.GetCondition(xpv1.TypeReady); ready.Message != "" {
		return false, r.progress(ready)
	}
	return false, nil
}

// secretOf returns the connection Secret of an object, nil if it has none that this user may read.
func (r *request) secretOf(ctx context.Context, of inspect.Reading) *corev1.Secret {
	key, _ := inspect.ConnectionSecret(of.Object)
	secret, _ := r.cluster.Secret(ctx, key)
	return secret
}

// progress writes what keeps the rotation from its end, if that is new.
func (r *request) progress(c xpv1.Condition) error {
	if c.Equal(r.told) {
		return nil
	}
	r.told = c
	_, err := fmt.Fprintf(r.std.Err, "waiting: %s\n", inspect.Plain(c.Message))
	return err
}

// isCopied is true once the Secret of a claim has what that of its managed resource has, as far as this user may read both.
func (r *request) isCopied(ctx context.Context) bool {
	source, copied := r.secretOf(ctx, r.managed), r.secretOf(ctx, r.object)
	if source == nil || copied == nil || source.UID == copied.UID {
		return true
	}
	used := connection.InUse(source.Data)
	return !slices.ContainsFunc(slices.Collect(maps.Keys(used)), func(key string) bool { return string(used[key]) != string(copied.Data[key]) })
}

func (r *request) print(w io.Writer, _ string) error {
	what := fmt.Sprintf("%s/%s", r.Kind, r.Name)
	if !r.Replaced.IsZero() {
		fmt.Fprintf(w, "This replaces the rotation that was planned for %s.\n", r.Replaced.Format(time.RFC3339))
	}
	if r.Rotated.IsZero() {
		_, err := fmt.Fprintf(w, "Requested new credentials for %s.\n", what)
		return err
	}
	_, err := fmt.Fprintf(w, "Rotated the credentials of %s: programs must read its connection Secret again.\n", what)
	return err
}
