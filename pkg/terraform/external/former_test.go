// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

// takes gives an object the external name of another resource, and waits until it has that.
func (s *stage) takes(o *unstructured.Managed, name string) {
	s.t.Helper()
	s.edit(o, func(map[string]any) { meta.SetExternalName(o, name) })
	s.Eventually(s.t, "it has the other one", func(context.Context) error {
		if is := string(s.stored(o).Data["externalName"]); is != name {
			return fmt.Errorf("its state is of %s", is)
		}
		return nil
	})
}

// lacksPassword waits until an object reports that it lacks its password, and checks that nothing else publishes it.
func (s *stage) lacksPassword(o *unstructured.Managed) {
	s.t.Helper()
	s.eventually(o, "it says what it lacks", func() error {
		if ready := o.GetCondition(xpv1.TypeReady); ready.Reason != failure.ConnectionDetailsLost {
			return fmt.Errorf("Ready is %s: %s", ready.Reason, ready.Message)
		}
		return nil
	})
	if password := s.secretOf(o)["password"]; len(password) > 0 {
		s.t.Error("it has the password of another resource")
	}
}

// An object that got the external names of other resources does not publish the password of its own for those, and names in an event what it
// leaves behind. With its own name again, it has its password.
func TestExternalNamesAndBack(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.run()
		north := s.berth("north", 2)
		s.create(north)
		s.ready(north)
		id := meta.GetExternalName(north)
		others := []string{"berth-other", "berth-third"}
		for _, other := range others {
			object := s.files("berth")[id]
			object["id"] = other
			s.writeFile("berth", object)
			s.takes(north, other)
			s.lacksPassword(north)
			s.eventually(north, "so does its failure", func() error { return s.hasFailed(north, failure.ConnectionDetailsLost) })
		}
		s.Eventually(t, "events name what it leaves behind", func(context.Context) error {
			left := fmt.Sprint(s.events(north, managed.ReasonOrphaned))
			for _, name := range []string{id, others[0]} {
				if !strings.Contains(left, "The external resource "+name+" stays") {
					return fmt.Errorf("they are %s, without %s", left, name)
				}
			}
			return nil
		})
		for _, other := range others {
			s.must(os.Remove(filepath.Join(s.folder, s.program+"_berth", other+".json")))
		}
		s.takes(north, id)
		s.ready(north)
		s.checkOne(north)
	})
}

// What an object lacks is reported also where no creation recorded the keys, and beside another failure.
func TestLostPassword(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.run()
		north := s.berth("north", 2)
		s.create(north)
		s.ready(north)
		other := s.files("berth")[meta.GetExternalName(north)]
		other["id"], other["name"] = "berth-other", "of another name"
		s.writeFile("berth", other)
		s.edit(north, func(map[string]any) {
			annotations := north.GetAnnotations()
			delete(annotations, managed.AnnotationKeyCreatedKeys)
			north.SetAnnotations(annotations)
		})
		s.takes(north, "berth-other")
		s.waits(north, failure.InvalidSettings, "name cannot be changed")
		s.lacksPassword(north)
	})
}

// Objects that exchange their resources have the passwords of both, also after they took them back, one after the other.
func TestExchange_N102(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.run()
		north, south := s.berth("north", 2), s.berth("south", 2)
		set(south.Object, "north", "spec", "forProvider", "name")
		s.create(north, south)
		s.ready(north, south)
		of := map[string]string{}
		for _, o := range []*unstructured.Managed{north, south} {
			of[meta.GetExternalName(o)] = string(s.secretOf(o)["password"])
		}
		has := func(all ...*unstructured.Managed) {
			t.Helper()
			for _, o := range all {
				s.eventually(o, "it has its password", func() error {
					if password := string(s.secretOf(o)["password"]); password == "" || password != of[meta.GetExternalName(o)] {
						return fmt.Errorf("it is empty: %t", password == "")
					}
					return s.isReady(o)
				})
			}
		}
		takesFrom := func(o, from *unstructured.Managed, name string) {
			t.Helper()
			s.edit(o, func(map[string]any) {
				meta.SetExternalName(o, name)
				takesOver(o, string(from.GetUID()))
			})
		}
		a, b := meta.GetExternalName(north), meta.GetExternalName(south)
		takesFrom(north, south, b)
		takesFrom(south, north, a)
		has(north, south)
		takesFrom(north, south, a)
		has(north)
		takesFrom(south, north, b)
		has(north, south)
		s.delete(north, south)
		s.gone(north, south)
		if left := s.files("berth"); len(left) > 0 {
			t.Errorf("after the deletion of both there is %v", left)
		}
	})
}

// An object whose resource another one took over, and deleted, says that it is gone.
func TestDeletedAfterTakeOver_N102(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.run()
		north := s.pier("north", "")
		s.create(north)
		s.ready(north)
		south := s.pier("south", meta.GetExternalName(north))
		s.create(south)
		s.takeOver(south, north)
		s.delete(south)
		s.gone(south)
		s.nudge(north)
		s.waits(north, failure.ExternalResourceLost, "is gone, with its data")
		s.delete(north)
		s.gone(north)
	}, "pier")
}
