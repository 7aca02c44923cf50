// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reference lets a field of a managed resource refer to another managed resource.
//
// Such a field is a triple: a plain value, a reference by name and a selector (R158, R159).
//
//	networkId: net-0123            # what the external system is told
//	networkIdRef: {name: net-a}    # or: the external name of Network net-a
//	networkIdSelector:             # or: the external name of a Network with these labels
//	  matchLabels: {app: shop}
//
// The one idea: each member of the triple is the answer of the next. A selector is answered by a reference, a reference
// by a value, and both answers stay in the spec. A value that is there is kept and nothing is read, whoever wrote it; so
// a user's value wins over a reference, and a reference over a selector (R165, R168). Only resolve policy Always asks
// again in every pass: for a reference it follows the value of the object, for a selector it chooses anew, in place of
// the choice that the reference beside it holds.
//
// A kind implements resource.ReferenceResolver with an APIResolver, or an APINamespacedResolver if its references may
// leave the namespace:
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
// # What counts as a target
//
// An object can be referred to once its external name is known for good: recorded by a creation that succeeded, or set
// by a user (N36). Until then, and while it does not exist or is being deleted, resolution ends in an *UnresolvedError,
// which says what is waited for. A selector chooses the oldest match, of several equally old ones the first by name, and
// waits for it; it never chooses what is being deleted.
//
// # Waking those who wait
//
// Nobody polls. The reconciler resolves through a Recorder of its Tracker and passes the Tracker the events of the kinds
// that turn out to be referred to; the Tracker answers who has to look again.
//
//	recorder := tracker.Recorder(dependent, mgr.GetClient())
//	err := subnet.ResolveReferences(ctx, recorder)
//	recorder.Done(err)
//
// A kind that is not installed yet cannot be watched. Package installation tells when it can; Tracker.Waiting says who has
// to look again then.
package reference
