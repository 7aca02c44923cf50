// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package providerconfig

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// annotationHeld lists the Secrets that a configuration holds or is about to hold, so that those are let go which it
// no longer names.
const annotationHeld = "bowline.dev/held-secrets"

// hold puts the finalizer on the configuration and on the Secret that it names. What it held before is let go.
func (r *Reconciler) hold(ctx context.Context, p *pass) error {
	wanted, err := namedBy(p.config)
	if err != nil {
		return err
	}
	held := heldBy(p.config)
	all := slices.Clone(wanted)
	for _, secret := range held {
		if !slices.Contains(all, secret) {
			all = append(all, secret)
		}
	}
	if err := r.mark(ctx, p, all); err != nil {
		return err
	}
	for _, secret := range all {
		if slices.Contains(wanted, secret) {
			err = r.holdSecret(ctx, p, secret)
		} else {
			err = r.releaseSecret(ctx, p, secret)
		}
		if err != nil {
			return err
		}
	}
	return r.mark(ctx, p, wanted)
}

// release lets go of what the configuration holds, itself last: without it nobody would know of the rest. Then it looks
// at the Secrets once more, since another process may have held them in between, see confirm.
func (r *Reconciler) release(ctx context.Context, p *pass) error {
	held := heldBy(p.config)
	if err := r.releaseSecrets(ctx, p, held); err != nil {
		return err
	}
	err := r.change(ctx, p, func() {
		meta.RemoveFinalizer(p.config, Finalizer)
		setHeld(p.config, nil)
	})
	if err != nil {
		return err
	}
	return r.releaseSecrets(ctx, p, held)
}

func (r *Reconciler) releaseSecrets(ctx context.Context, p *pass, held []types.NamespacedName) error {
	for _, secret := range held {
		if err := r.releaseSecret(ctx, p, secret); err != nil {
			return err
		}
	}
	return nil
}

// mark writes on the configuration that it is held and what it holds, unless it says so already.
func (r *Reconciler) mark(ctx context.Context, p *pass, secrets []types.NamespacedName) error {
	if meta.FinalizerExists(p.config, Finalizer) && slices.Equal(heldBy(p.config), secrets) {
		return nil
	}
	return r.change(ctx, p, func() {
		meta.AddFinalizer(p.config, Finalizer)
		setHeld(p.config, secrets)
	})
}

// change writes a change of the configuration's metadata, unless somebody wrote to it since it was read.
func (r *Reconciler) change(ctx context.Context, p *pass, do func()) error {
	before := p.config.DeepCopyObject().(client.Object)
	do()
	err := r.client.Patch(ctx, p.config, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return fmt.Errorf("writing finalizer: %w", err)
	}
	return nil
}

// namedBy returns the Secret whose credentials a configuration uses, if it uses any. A configuration of a namespace has
// no say over Secrets of another.
func namedBy(config client.Object) ([]types.NamespacedName, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(config)
	if err != nil {
		return nil, fmt.Errorf("reading spec.credentials: %w", err)
	}
	field := func(path ...string) string {
		value, _, _ := unstructured.NestedString(content, append([]string{"spec", "credentials"}, path...)...)
		return value
	}
	secret := types.NamespacedName{Namespace: field("secretRef", "namespace"), Name: field("secretRef", "name")}
	foreign := config.GetNamespace() != "" && config.GetNamespace() != secret.Namespace
	if field("source") != string(xpv1.CredentialsSourceSecret) || secret.Name == "" || secret.Namespace == "" || foreign {
		return nil, nil
	}
	return []types.NamespacedName{secret}, nil
}

// heldBy returns the Secrets that a configuration says it holds.
func heldBy(config client.Object) (secrets []types.NamespacedName) {
	for entry := range strings.SplitSeq(config.GetAnnotations()[annotationHeld], ",") {
		if namespace, name, ok := strings.Cut(entry, "/"); ok {
			secrets = append(secrets, types.NamespacedName{Namespace: namespace, Name: name})
		}
	}
	return secrets
}

func setHeld(config client.Object, secrets []types.NamespacedName) {
	entries := make([]string, 0, len(secrets))
	for _, secret := range secrets {
		entries = append(entries, secret.String())
	}
	setAnnotation(config, annotationHeld, strings.Join(entries, ","))
}

// setAnnotation sets an annotation, or removes it if the value is empty.
func setAnnotation(o client.Object, key, value string) {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	if value == "" {
		delete(annotations, key)
	}
	o.SetAnnotations(annotations)
}
