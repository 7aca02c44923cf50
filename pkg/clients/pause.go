// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A Pause is which deletions of a ProviderConfig are paused and were not resumed since: all, or those of namespaces.
type Pause struct {
	// All is true if the deletions of all namespaces are paused, but for those that were resumed since.
	All        bool
	Namespaces []xpv1.PausedNamespace

	config metav1.Object
	since  time.Time // if all are paused
}

// PauseOf returns the pause that a ProviderConfig of any Go type stores: none if it has no limit any more.
func PauseOf(config client.Object) Pause {
	var stored struct {
		Spec   xpv1.ProviderSpec         `json:"spec"`
		Status xpv1.ProviderConfigStatus `json:"status"`
	}
	content, err := json.Marshal(config)
	if err == nil {
		err = json.Unmarshal(content, &stored)
	}
	condition := stored.Status.GetCondition(xpv1.TypeDeletionsPaused)
	if err != nil || condition.Status != corev1.ConditionTrue || mostDeletions(stored.Spec) == 0 {
		return Pause{}
	}
	p := Pause{config: config, Namespaces: stored.Status.PausedDeletions}
	if len(p.Namespaces) == 0 {
		p.since = condition.LastTransitionTime.Time
		p.All = p.since.After(meta.GetDeletionsResumed(config, ""))
	}
	p.Namespaces = slices.DeleteFunc(p.Namespaces, func(n xpv1.PausedNamespace) bool {
		return !n.Since.After(meta.GetDeletionsResumed(config, n.Namespace))
	})
	return p
}

// Any is true if deletions of any namespace are paused.
func (p Pause) Any() bool { return p.All || len(p.Namespaces) > 0 }

// Of is true if deletions of the namespace are paused.
func (p Pause) Of(namespace string) bool {
	return p.All && p.since.After(meta.GetDeletionsResumed(p.config, namespace)) ||
		slices.ContainsFunc(p.Namespaces, func(n xpv1.PausedNamespace) bool { return n.Namespace == namespace })
}

// EndPauses has the status of a ProviderConfig show, in memory, which deletions are still paused.
func EndPauses(config resource.ProviderConfig, kind schema.GroupVersionKind) {
	if config.GetCondition(xpv1.TypeDeletionsPaused).Status != corev1.ConditionTrue {
		return
	}
	pause, fewer := PauseOf(config), false
	if list, ok := config.(resource.DeletionPauser); ok {
		fewer = len(pause.Namespaces) < len(list.GetPausedDeletions())
		list.SetPausedDeletions(pause.Namespaces)
	}
	switch {
	case !pause.Any():
		config.SetConditions(xpv1.DeletionsResumed())
	case fewer:
		config.SetConditions(xpv1.DeletionsPaused(pause.message(config, kind)))
	}
}

// message is that of condition DeletionsPaused.
func (p Pause) message(config resource.ProviderConfig, kind schema.GroupVersionKind) string {
	command := "bowline resume-deletions " + Argument(kind.GroupKind().String(), client.ObjectKeyFromObject(config))
	if len(p.Namespaces) == 0 {
		return fmt.Sprintf("More than %d external resources were to be deleted within a minute, so further deletions are paused. To resume "+
			"all: %s", limitOf(config, true), command)
	}
	const shown = 5
	var names []string
	for _, n := range p.Namespaces[:min(shown, len(p.Namespaces))] {
		names = append(names, whereIs(n.Namespace))
	}
	if more := len(p.Namespaces) - shown; more > 0 {
		names = append(names, fmt.Sprintf("and in %d more namespaces", more))
	}
	return fmt.Sprintf("More than %d external resources were to be deleted within a minute %s, so further deletions there are paused. To resume "+
		"all: %s. To resume those of one namespace, add: --namespace NAME", limitOf(config, false), strings.Join(names, ", "), command)
}

// whereIs describes the namespace of objects in a sentence.
func whereIs(namespace string) string {
	if namespace == "" {
		return "without a namespace"
	}
	return "in namespace " + namespace
}

// Argument returns a ProviderConfig as bowline resume-deletions takes it.
func Argument(kind string, name types.NamespacedName) string {
	argument := strings.ToLower(kind) + "/" + name.Name
	if name.Namespace != "" {
		argument += " -n " + name.Namespace
	}
	return argument
}
