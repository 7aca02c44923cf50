// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/reconciler/target"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A holder is a claim or a target that has a copy of the connection Secret of an item.
type holder interface {
	served
	resource.LocalConnectionSecretWriterTo
}

// A copyStage has an item that publishes in Secret "source", and a holder whose copy is Secret "copy".
type copyStage struct {
	*stage
	item   *shop.Item
	holder holder
	lost   event.Reason // of the event about keys that the source lost
	cannot event.Reason // of a pass that failed
}

// newCopyStage has nothing published and no holder yet.
func newCopyStage(t *testing.T, isClaim bool) *copyStage {
	t.Helper()
	s := &copyStage{stage: newStage(t), item: &shop.Item{}}
	s.item.Name = s.Prefix + "item"
	s.item.Annotations = map[string]string{meta.AnnotationKeyAllowedNamespaces: s.Namespace}
	s.item.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: s.Namespace, Name: "source"}
	s.create(s.item)
	s.status(s.item, func() { s.item.SetBindingPhase(xpv1.BindingPhaseUnbound) })
	if isClaim {
		claim := &shop.ItemClaim{}
		claim.Spec.ResourceReference = reference(shop.ItemKind, s.item.Name)
		s.holder, s.lost, s.cannot = claim, target.ReasonDetailsLost, claimbinding.ReasonCannotBind
		s.reconciler = claimbinding.NewReconciler(s.manager(s.access()), itemClaims, itemClass, items, claimbinding.WithRecorder(s.events))
	} else {
		to := &workloadv1alpha1.KubernetesTarget{}
		to.Spec.ResourceReference = reference(shop.ItemKind, s.item.Name)
		s.holder, s.lost, s.cannot = to, target.ReasonDetailsLost, target.ReasonCannotConnect
		s.reconciler = target.NewReconciler(s.manager(s.access()), targetKind, resource.ManagedKind{}, target.WithRecorder(s.events))
	}
	s.holder.SetNamespace(s.Namespace)
	s.holder.SetName("holder")
	s.holder.SetWriteConnectionSecretToReference(&xpv1.LocalSecretReference{Name: "copy"})
	return s
}

// forClaimsAndTargets runs each case for a claim and for a target.
func forClaimsAndTargets(t *testing.T, cases map[string]func(*copyStage), prepare func(*copyStage)) {
	t.Helper()
	t.Parallel()
	for name, run := range cases {
		for of, isClaim := range map[string]bool{"claim": true, "target": false} {
			t.Run(of+": "+name, func(t *testing.T) {
				t.Parallel()
				s := newCopyStage(t, isClaim)
				prepare(s)
				run(s)
			})
		}
	}
}

// copied gives the holder its copy.
func (s *copyStage) copied() {
	s.t.Helper()
	s.publish(s.item, map[string]string{"username": "admin", "password": "hunter2"})
	s.create(s.holder)
	s.pass()
	s.reports(xpv1.ReasonAvailable, xpv1.ReasonReconcileSuccess)
	s.events.Take()
}

func (s *copyStage) pass() {
	s.t.Helper()
	s.passOf("holder")
}

func (s *copyStage) reports(ready, synced xpv1.ConditionReason, parts ...string) {
	s.t.Helper()
	s.get("holder", s.holder)
	s.wantConditions(s.holder, ready, synced, parts...)
}

// hasLost checks that the holder can be used and reports lost keys.
func (s *copyStage) hasLost(parts ...string) {
	s.t.Helper()
	s.reports(xpv1.ReasonAvailable, xpv1.ReasonReconcileSuccess, parts...)
}

// lacks checks that the holder cannot be used because its copy lacks keys, too.
func (s *copyStage) lacks(parts ...string) {
	s.t.Helper()
	s.reports(failure.ConnectionDetailsLost, xpv1.ReasonReconcileError, parts...)
	if failed := xpv1.FailureOf(s.holder); failed.Reason != failure.ConnectionDetailsLost || !failed.Stalled {
		s.t.Errorf("the failure is %+v", failed)
	}
}

func (s *copyStage) rename(to *xpv1.LocalSecretReference) {
	s.t.Helper()
	s.edit(s.holder, func() { s.holder.SetWriteConnectionSecretToReference(to) })
}

// agreed checks that Secret name is the holder's copy of the source and that both agree on it, and on nothing else.
func (s *copyStage) agreed(name string) {
	s.t.Helper()
	s.isCopy(name, s.holder, s.item)
}

// stays checks that the copy is as copied left it.
func (s *copyStage) stays() {
	s.t.Helper()
	s.holds("copy", map[string]string{"username": "admin", "password": "hunter2"})
}

func (s *copyStage) editSource(change func(data map[string][]byte)) {
	s.t.Helper()
	source := s.secret("source")
	s.edit(source, func() { change(source.Data) })
}

func (s *copyStage) editCopy(change func(*corev1.Secret)) *corev1.Secret {
	s.t.Helper()
	to := s.secret("copy")
	s.edit(to, func() { change(to) })
	return to
}

func freeze(to *corev1.Secret) { to.Immutable = new(true) }

func disown(to *corev1.Secret) { to.OwnerReferences = nil }

// What becomes of a copy.
func TestCopies(t *testing.T) {
	forClaimsAndTargets(t, map[string]func(*copyStage){
		"both sides agree (A68, R270, R271, R272, R297, R298, R302)": func(s *copyStage) { s.agreed("copy") },
		"another name deletes the former copy (R278, K73)": func(s *copyStage) {
			s.rename(&xpv1.LocalSecretReference{Name: "renamed"})
			s.pass()
			s.agreed("renamed")
			s.holds("copy", nil)
		},
		"a forged source, and a deleted copy (R271, R289, R292)": func(s *copyStage) {
			forged := s.editCopy(func(to *corev1.Secret) {
				to.Annotations[meta.AnnotationKeyPropagateFromName], to.Data["more"] = "another", []byte("forged")
			})
			s.pass()
			s.agreed("copy")
			s.delete(forged)
			s.pass()
			s.agreed("copy")
		},
		"a source that is deleted, and published anew (R271, R293, R297)": func(s *copyStage) {
			s.delete(s.secret("source"))
			s.pass()
			s.stays()
			s.publish(s.item, map[string]string{"password": "hunter3"})
			s.pass()
			s.agreed("copy")
			s.reports(xpv1.ReasonAvailable, xpv1.ReasonReconcileSuccess)
		},
		"the managed resource publishes elsewhere (R297)": func(s *copyStage) {
			s.edit(s.item, func() { s.item.Spec.WriteConnectionSecretToReference.Name = "moved" })
			s.publish(s.item, map[string]string{"password": "moved"})
			s.pass()
			s.agreed("copy")
		},
		"it outlives its managed resource (R293)": func(s *copyStage) {
			s.delete(s.item)
			s.pass()
			s.stays()
		},
		"an immutable copy follows its source (R284, R306)": func(s *copyStage) {
			frozen := s.editCopy(freeze)
			s.pass()
			if s.secret("copy").UID != frozen.UID {
				s.t.Fatal("one in step was created again")
			}
			s.editSource(func(data map[string][]byte) { data["password"] = []byte("hunter3") })
			s.pass()
			s.agreed("copy")
			s.reports(xpv1.ReasonAvailable, xpv1.ReasonReconcileSuccess)
		},
		"an immutable copy of a source that was published anew (R271, R284, R297, R306)": func(s *copyStage) {
			s.editCopy(freeze)
			s.publish(s.item, map[string]string{"username": "root", "password": "hunter3"})
			s.pass()
			s.agreed("copy")
		},
	}, (*copyStage).copied)
}

// created gives the holder a copy with a password that only the creation of the external resource returned.
func (s *copyStage) created() {
	s.t.Helper()
	s.copied()
	s.edit(s.item, func() { s.item.Annotations[managed.AnnotationKeyCreatedKeys] = "password" })
}

// lose publishes the source anew without the password, and restore adds another.
func (s *copyStage) lose() {
	s.t.Helper()
	s.publish(s.item, map[string]string{"username": "root"})
	s.pass()
}

func (s *copyStage) restore() {
	s.t.Helper()
	s.editSource(func(data map[string][]byte) { data["password"] = []byte("hunter3") })
	s.pass()
}

// A key that only the creation of the external resource returned.
func TestLostKeys(t *testing.T) {
	forClaimsAndTargets(t, map[string]func(*copyStage){
		"the copy stays as it is, which is reported once (R270, R297, N22, N42)": func(s *copyStage) {
			s.lose()
			for range 2 {
				s.stays()
				s.hasLost("lost password", `"copy" stays`, "your platform team")
				s.pass()
			}
			s.wantEvents(s.lost)
			s.restore()
			s.holds("copy", map[string]string{"username": "root", "password": "hunter3"})
			s.agreed("copy")
			s.reports(xpv1.ReasonAvailable, xpv1.ReasonReconcileSuccess)
		},
		"a person removes it from the source (N22, N42)": func(s *copyStage) {
			s.editCopy(freeze) // otherwise it would be created again
			s.editSource(func(data map[string][]byte) { delete(data, "password") })
			s.pass()
			s.stays()
			s.hasLost("lost password", `"copy" stays`, "your platform team")
			s.restore()
			s.holds("copy", map[string]string{"username": "admin", "password": "hunter3"})
		},
		"an immutable copy stays (R270, R297, N22)": func(s *copyStage) {
			frozen := s.editCopy(freeze)
			s.lose()
			if s.stays(); s.secret("copy").UID != frozen.UID {
				s.t.Error("it was created again")
			}
			s.hasLost("lost password")
		},
		"the copy is deleted to do without the key (R270, R297)": func(s *copyStage) {
			s.lose()
			s.delete(s.secret("copy"))
			s.pass()
			s.agreed("copy")
			s.lacks("lost password: ask your platform team")
		},
		"one that the copy lacks, too (R292, N22)": func(s *copyStage) {
			s.edit(s.item, func() { s.item.Annotations[managed.AnnotationKeyCreatedKeys] = "password,token" })
			s.pass()
			s.lacks("lost token: ask your platform team")
		},
		"one that the copy lost before (N22, N42)": func(s *copyStage) {
			s.editCopy(func(copied *corev1.Secret) { delete(copied.Data, "password") })
			s.lose()
			s.holds("copy", map[string]string{"username": "admin"})
			s.lacks("lost password: ask your platform team")
		},
		"one of two that the copy has (N22, N42)": func(s *copyStage) {
			s.edit(s.item, func() { s.item.Annotations[managed.AnnotationKeyCreatedKeys] = "password,token" })
			s.lose()
			s.stays()
			s.lacks("lost token: ask your platform team")
		},
		"one of another managed resource is not kept (R297, N22)": func(s *copyStage) {
			s.edit(s.item, func() { delete(s.item.Annotations, managed.AnnotationKeyCreatedKeys) })
			s.lose()
			s.agreed("copy")
			s.reports(xpv1.ReasonAvailable, xpv1.ReasonReconcileSuccess)
		},
	}, (*copyStage).created)
}

// Nor is it lost by what the holder names.
func TestLostKeysAndNames(t *testing.T) {
	taken := func(s *copyStage, gone bool) {
		s.lose()
		s.create(s.connectionSecret("taken", nil))
		s.rename(&xpv1.LocalSecretReference{Name: "taken"})
		if gone {
			s.delete(s.secret("source"))
		}
		for range 2 {
			s.pass()
			s.stays()
		}
		if !gone {
			s.reports(failure.ConnectionSecretUnavailable, xpv1.ReasonReconcileError, `"taken"`, "name another")
		}
		s.delete(s.holder)
		s.pass()
		s.holds("copy", nil)
	}
	forClaimsAndTargets(t, map[string]func(*copyStage){
		"another name deletes nothing before it is back (R278, K73, N22, N42)": func(s *copyStage) {
			s.lose()
			s.rename(&xpv1.LocalSecretReference{Name: "renamed"})
			s.pass()
			s.stays()
			s.lacks("lost password: ask your platform team")
			s.restore()
			s.holds("copy", nil)
			if source := s.secret("source"); !meta.PropagationAllowed(source, s.secret("renamed")) {
				s.t.Errorf("the source consents to %v", meta.PropagatesTo(source))
			}
		},
		"naming no Secret deletes nothing (R278, N22)": func(s *copyStage) {
			s.lose()
			s.rename(nil)
			s.pass()
			s.stays()
		},
		"a name that is taken deletes nothing (R278, N22)":                              func(s *copyStage) { taken(s, false) },
		"a name that is taken deletes nothing, also without a source (R278, N22, R293)": func(s *copyStage) { taken(s, true) },
	}, (*copyStage).created)
}

// Secrets that are not the holder's, or not the managed resource's, are neither overwritten nor read.
func TestForeignSecrets(t *testing.T) {
	inTheWay := func(change func(*copyStage, *corev1.Secret)) func(*copyStage) {
		return func(s *copyStage) {
			s.publish(s.item, map[string]string{"password": "hunter2"})
			s.create(s.holder)
			foreign := s.connectionSecret("copy", map[string]string{"mine": "precious"})
			change(s, foreign)
			s.create(foreign)
			others := len(foreign.OwnerReferences) == 1 && foreign.OwnerReferences[0].Name == "other"
			advice := map[bool]string{true: `, but to Claim "other": name another one in spec.`, false: "ask your platform team to delete it"}[others]
			if result := s.passOf("holder"); result.RequeueAfter == 0 {
				s.t.Error("it is not requeued")
			}
			s.reports(failure.ConnectionSecretUnavailable, xpv1.ReasonReconcileError, `secret "copy" exists and does not belong to this`, advice)
			if failed := xpv1.FailureOf(s.holder); failed.Reason != failure.ConnectionSecretUnavailable || !failed.Stalled {
				s.t.Errorf("the failure is %+v", failed)
			}
			if got := s.secret("copy"); got.ResourceVersion != foreign.ResourceVersion {
				s.t.Errorf("it was written: %+v", got)
			}
			s.delete(foreign)
			s.pass()
			s.agreed("copy")
		}
	}
	forClaimsAndTargets(t, map[string]func(*copyStage){
		"of another type (R278, R303)":     inTheWay(func(_ *copyStage, secret *corev1.Secret) { secret.Type = corev1.SecretTypeOpaque }),
		"a connection Secret (R278, R303)": inTheWay(func(*copyStage, *corev1.Secret) {}),
		"of another claim (R278, R303)": inTheWay(func(_ *copyStage, secret *corev1.Secret) {
			secret.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Claim", Name: "other", UID: "other", Controller: new(true)}}
		}),
		"with a forged owner (R278, R302)": inTheWay(func(s *copyStage, secret *corev1.Secret) {
			secret.Type = corev1.SecretTypeOpaque
			kind, _ := resource.GetKind(s.holder, scheme())
			secret.OwnerReferences = []metav1.OwnerReference{meta.AsController(s.holder, kind)}
		}),
		"a source that the managed resource does not control (R272, R301)": func(s *copyStage) {
			s.create(s.connectionSecret("source", map[string]string{"password": "stolen"}), s.holder)
			s.pass()
			s.holds("copy", nil)
			if shown := s.conditions(); !strings.Contains(shown, "no connection details") {
				s.t.Errorf("it shows %s", shown)
			}
		},
		"a namespace without quota for the copy (R270, R297, N10)": func(s *copyStage) {
			s.publish(s.item, map[string]string{"password": "hunter2"})
			s.create(s.holder)
			full := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "full"}}
			full.Spec.Hard = corev1.ResourceList{"count/secrets": quantity.MustParse("1")}
			s.create(full)
			s.Eventually(s.t, "the quota counts", func(ctx context.Context) error {
				if err := s.Client.Get(ctx, client.ObjectKeyFromObject(full), full); err != nil || full.Status.Used == nil {
					return fmt.Errorf("%v, %v", full.Status, err)
				}
				return nil
			})
			s.pass()
			s.reports(failure.ConnectionSecretUnavailable, xpv1.ReasonReconcileError, `secret "copy" cannot be created`, "resource quota")
			if shown := s.conditions(); strings.Contains(shown, "used: ") {
				s.t.Errorf("a message changes all the time: %s", shown)
			}
			s.delete(full)
			s.Eventually(s.t, "the copy is created", func(context.Context) error {
				if s.pass(); s.secret("copy") == nil { // the API server's own cache of quotas may be behind
					return errors.New("it is not")
				}
				return nil
			})
			s.reports(xpv1.ReasonAvailable, xpv1.ReasonReconcileSuccess)
		},
	}, func(*copyStage) {})
}

// conditions are the messages of the holder.
func (s *copyStage) conditions() string {
	s.get("holder", s.holder)
	return s.holder.GetCondition(xpv1.TypeReady).Message + "; " + s.holder.GetCondition(xpv1.TypeSynced).Message
}

// A copy that was taken from its holder, to keep it, gets no later content.
func TestTakenCopies(t *testing.T) {
	taken := func(by func(*copyStage, *corev1.Secret), lose func(*copyStage)) func(*copyStage) {
		return func(s *copyStage) {
			s.copied()
			to := s.editCopy(func(to *corev1.Secret) { by(s, to) })
			s.lose()
			if source := s.secret("source"); meta.PropagationAllowed(source, to) {
				s.t.Errorf("the source consents to %v", meta.PropagatesTo(source))
			}
			if s.secret("copy") == nil {
				s.t.Error("it was deleted")
			}
		}
	}
	nothing := func(_ *copyStage, to *corev1.Secret) { disown(to) }
	another := func(s *copyStage, to *corev1.Secret) {
		o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "another"}}
		s.create(o)
		to.OwnerReferences = []metav1.OwnerReference{meta.AsController(o, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}
	}
	deleted := func(s *copyStage) {
		s.delete(s.holder)
		s.pass()
	}
	forClaimsAndTargets(t, map[string]func(*copyStage){
		"it still has the name (R271, R303, R289)": taken(nothing, (*copyStage).pass),
		"the holder names another Secret (R278, K73)": taken(another, func(s *copyStage) {
			s.rename(&xpv1.LocalSecretReference{Name: "other"})
			s.pass()
			s.delete(s.holder)
			s.pass()
		}),
		"the holder is deleted (R279, R289, N27)": taken(another, deleted),
	}, func(*copyStage) {})
}

// The copies of a deleted holder are deleted, also those that the garbage collector orphaned.
func TestDeletedHolders(t *testing.T) {
	deletes := func(prepare func(*copyStage), options ...client.DeleteOption) func(*copyStage) {
		return func(s *copyStage) {
			prepare(s)
			s.delete(s.holder, options...)
			s.Eventually(s.t, "the holder is gone, and no source consents", func(context.Context) error {
				_, err := s.tryPass("holder") // the garbage collector writes at the same time, and deletes sources
				if s.get("holder", s.holder) {
					return fmt.Errorf("it has finalizers %v; %w", s.holder.GetFinalizers(), err)
				}
				if source := s.secret("source"); source != nil && len(meta.PropagatesTo(source)) > 0 {
					return fmt.Errorf("the source consents to %v", meta.PropagatesTo(source))
				}
				return nil
			})
			s.holds("copy", nil)
		}
	}
	orphan := client.PropagationPolicy(metav1.DeletePropagationOrphan)
	forClaimsAndTargets(t, map[string]func(*copyStage){
		"as they are (R279, R302)":                    deletes(func(*copyStage) {}),
		"without their managed resource (R279, R302)": deletes(func(s *copyStage) { s.delete(s.item) }),
		"to be orphaned (R272, R279, R302)":           deletes(func(*copyStage) {}, orphan),
		"orphaned already (R272, R279, R302)":         deletes(func(s *copyStage) { s.editCopy(disown) }, orphan),
		"orphaned already, and the managed resource is deleted, too (R272, R279, R302)": deletes(func(s *copyStage) {
			s.edit(s.item, func() { s.item.Spec.ReclaimPolicy = xpv1.ReclaimDelete })
			s.editCopy(disown)
		}, orphan),
		"with a source of an impossible name (R302)": deletes(func(s *copyStage) {
			s.editCopy(func(to *corev1.Secret) { to.Annotations[meta.AnnotationKeyPropagateFromName] = "no/name" })
		}),
		"with a source in an impossible namespace (R302)": deletes(func(s *copyStage) {
			s.editCopy(func(to *corev1.Secret) { to.Annotations[meta.AnnotationKeyPropagateFromNamespace] = ".." })
		}),
	}, (*copyStage).copied)
}
