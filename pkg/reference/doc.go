// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reference resolves fields of managed resources that refer to other managed resources.
//
// Such a field is a triple: a plain value, a reference by name and a selector (R158, R159).
//
//	networkId: net-0123            # the value that is sent
//	networkIdRef: {name: net-a}    # or: the external name of Network net-a
//	networkIdSelector:             # or: the external name of a Network with these labels
//	  matchLabels: {app: shop}
//
// The one idea: a selector resolves to a reference, a reference to a value, and both results are stored in the spec. A value that
// is set is kept and nothing is read; so a user's value wins over a reference, and a reference over a selector (R165, R168).
// Only with resolve policy Always the field is resolved in every pass: a reference follows the value of its target, a selector
// replaces the reference.
//
// A kind implements resource.ReferenceResolver with an APIResolver, or an APINamespacedResolver for references across
// namespaces:
//
//	func (s *Subnet) ResolveReferences(ctx context.Context, c client.Reader) error {
//		rsp, err := reference.NewAPIResolver(c, s).Resolve(ctx, reference.ResolutionRequest{
//			CurrentValue: reference.FromPtrValue(s.Spec.ForProvider.NetworkID),
//			Reference:    s.Spec.ForProvider.NetworkIDRef,
//			Selector:     s.Spec.ForProvider.NetworkIDSelector,
//			To:           reference.To{Managed: &Network{}, List: &NetworkList{}},
//			Extract:      reference.ExternalName(),
//			FieldPath:    "spec.forProvider.networkId",
//		})
//		if err != nil {
//			return err
//		}
//		s.Spec.ForProvider.NetworkID = reference.ToPtrValue(rsp.ResolvedValue)
//		s.Spec.ForProvider.NetworkIDRef = rsp.ResolvedReference
//		return nil
//	}
//
// # Targets
//
// An object can be referred to once its external name is final: recorded by a creation that succeeded, or set by a user (N36).
// Until then, and while it does not exist or is being deleted, resolution fails with an *UnresolvedError. A selector selects the
// oldest match, then the first by name, and waits for it; objects that are being deleted do not match.
//
// # Dependents
//
// Dependents do not poll. The reconciler resolves through a Recorder of its Tracker and passes events about targets to the
// Tracker, which returns the dependents to enqueue.
//
//	recorder := tracker.Recorder(dependent, mgr.GetClient())
//	err := subnet.ResolveReferences(ctx, recorder)
//	recorder.Done(err)
//
// A kind that is not installed yet cannot be watched. Package installation reports when it can; Tracker.Waiting returns the
// dependents to enqueue then.
package reference
