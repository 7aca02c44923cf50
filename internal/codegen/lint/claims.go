// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bowline-dev/bowline/internal/codegen/model"
)

// claimRules judge a claim's own settings: those of the rules on settings that are not about providers, and one of their own.
func claimRules() []fieldRule {
	rules := slices.DeleteFunc(settingRules(), func(r fieldRule) bool {
		return !slices.Contains([]string{"json", "documented", "optional", "required", "collection", "single-field", "plain-secret"}, r.Name)
	})
	return append(rules, fieldRule{
		Rule{"claim-marker", "a claim's settings have no markers but +immutable, and that outside lists and maps (K38)"}, claimMarker,
	})
}

// claimMarker refuses what would do nothing: nobody compares a claim with what a vendor answers, or sends it there.
func claimMarker(_ *model.Kind, at model.Place) string {
	f := at.Field()
	for _, m := range f.Comment.Markers {
		switch ours := strings.HasPrefix(m.Name, "bowline:") && m.Name != nolintMarker; {
		case m.Name == "bowline:required":
			return fmt.Sprintf("%s is a setting of a claim, and +%s does nothing there: make it a value without omitempty", f.Name, m.Name)
		case ours || strings.HasPrefix(m.Name, "crossplane:generate:reference"):
			return fmt.Sprintf("%s is a setting of a claim, and +%s does nothing there: leave it out", f.Name, m.Name)
		}
	}
	for _, holder := range at[:len(at)-1] {
		if f.Comment.Has("immutable") && holder.Type.Collection() {
			return fmt.Sprintf("%s is in %s, which is a list or map: make %s +immutable as a whole, or leave it out", f.Name, holder.Name,
				holder.Name)
		}
	}
	return ""
}

func claim(k *model.Kind) string {
	if k.Role != model.Claim {
		return ""
	}
	spec, status := k.Struct.Field("Spec"), k.Struct.Field("Status")
	switch {
	case saysScope(k, model.Cluster):
		return fmt.Sprintf("%s is a claim, which a team makes in its namespace: leave the scope out", k.Name)
	case !spec.Omitted():
		return fmt.Sprintf("the spec of %s may be empty: add omitempty to its json tag", k.Name)
	case status != nil && (status.Embedded || !status.Type.Is(model.CommonPath, "ResourceClaimStatus")):
		return fmt.Sprintf("the status of %s is that of every claim: declare Status xpv1.ResourceClaimStatus `json:\"status,omitempty\"`", k.Name)
	}
	return ""
}

func targetKind(k *model.Kind) string {
	if k.Role != model.Target {
		return ""
	}
	status := k.Struct.Field("Status")
	switch {
	case saysScope(k, model.Cluster):
		return fmt.Sprintf("%s is a target, which a team makes in its namespace: leave the scope out", k.Name)
	case k.Struct.Field("Spec").Omitted():
		return fmt.Sprintf("the spec of %s is required, since it names what is wanted: remove omitempty from its json tag", k.Name)
	case status != nil && (status.Embedded || !status.Type.Is(model.CommonPath, "TargetStatus")):
		return fmt.Sprintf("the status of %s is that of every target: declare Status xpv1.TargetStatus `json:\"status,omitempty\"`", k.Name)
	}
	return ""
}

func class(k *model.Kind) string {
	switch k.Role {
	case model.Managed:
		return withClass(k)
	case model.Class:
		return classByHand(k)
	}
	return ""
}

// withClass judges a managed kind that is to have a class.
func withClass(k *model.Kind) string {
	if !k.Struct.Comment.Has(model.ClassMarker) {
		return ""
	}
	if k.Scope != model.Cluster {
		return fmt.Sprintf("%s is namespaced, and managed resources of classes are not, so that teams cannot read their secrets: "+
			"leave +%s out, or add the scope Cluster", k.Name, model.ClassMarker)
	}
	if of := k.Package.Kind(k.ClassName()); of == nil || of.Role != model.Class {
		return fmt.Sprintf("%s is no class: embed xpv1.ClassSpecTemplate in its specTemplate, or give it another name", k.ClassName())
	}
	return ""
}

func classByHand(k *model.Kind) string {
	of := k.ManagedKind()
	switch {
	case of == nil:
		return fmt.Sprintf("%s is a class of no kind: call it KINDClass after the managed kind of this package that is made from it", k.Name)
	case of.Scope != model.Cluster:
		return fmt.Sprintf("%s is a class of %s, which is namespaced, and managed resources of classes are not, so that teams cannot "+
			"read their secrets: remove it, or give %s the scope Cluster", k.Name, of.Name, of.Name)
	case k.Parameters != of.Parameters:
		return fmt.Sprintf("%s has no settings of %s: add ForProvider %s `json:\"forProvider\"` to its specTemplate", k.Name, of.Name,
			of.Parameters.Name)
	case k.Struct.Field("Status") != nil:
		return fmt.Sprintf("%s is a template and has no status: remove the field", k.Name)
	case saysScope(k, model.Namespaced):
		return fmt.Sprintf("%s is for all namespaces: leave the scope out", k.Name)
	case len(k.ClaimKinds()) == 0:
		return fmt.Sprintf("nobody finds %s: name the claim kinds that it satisfies by +%s=Kind.group", k.Name, model.ClaimsMarker)
	}
	return ""
}

// saysScope is true if a marker gives a kind the scope, ours or kubebuilder's.
func saysScope(k *model.Kind, scope model.Scope) bool {
	return slices.Contains(model.Scopes(k.Struct), scope) || slices.ContainsFunc(k.Struct.Comment.Markers, func(m model.Marker) bool {
		return strings.HasPrefix(m.Name, "kubebuilder:resource") && strings.Contains(m.String(), "scope="+string(scope))
	})
}
