// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/bowline-dev/bowline/internal/codegen/model"
)

func jsonName(f *model.Field) string {
	switch {
	case f.JSON == "":
		return fmt.Sprintf("%s has no json tag: add `json:\"%s,omitempty\"`", f.Name, lowerCamel(f.Name))
	case !regexp.MustCompile(`^[a-z][a-zA-Z0-9]*$`).MatchString(f.JSON):
		return fmt.Sprintf("%s is not camelCase: rename it to %s", f.JSON, lowerCamel(f.Name))
	case slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}, f.JSON):
		return fmt.Sprintf("YAML parsers read the name %s as a boolean: rename the field", f.JSON)
	}
	return ""
}

func lowerCamel(name string) string {
	i := len(name) - len(strings.TrimLeftFunc(name, unicode.IsUpper))
	if i > 1 && i < len(name) {
		i--
	}
	return strings.ToLower(name[:i]) + name[i:]
}

func documented(f *model.Field) string {
	return refuse(f.Comment.Text() == "", "%s has no comment: describe its meaning, unit, limits and default", f.Name)
}

func optional(f *model.Field) string {
	switch {
	case !f.Optional():
		return ""
	case !f.Type.Pointer && !f.Type.Collection():
		return fmt.Sprintf("%s is optional: make it *%s to distinguish unset from empty", f.Name, f.Type.Text)
	case !f.Omitted() && f.JSON != "":
		return fmt.Sprintf("%s is optional: add omitempty to its json tag", f.Name)
	}
	return ""
}

func required(f *model.Field) string {
	switch {
	case f.Comment.Has(model.ReferenceType) && !f.Omitted():
		return fmt.Sprintf("%s may be set by a reference: add omitempty to its json tag", f.Name)
	case f.Comment.Has(model.ReferenceType) || f.Optional():
		return ""
	case f.Type.Pointer || f.Omitted():
		return fmt.Sprintf("%s is not marked +optional: add the marker, or make it a value without omitempty if it is required", f.Name)
	}
	return ""
}

func collection(f *model.Field) string {
	return refuse(f.Type.Pointer && f.Type.Collection(), "%s is a pointer to a list or map: make it %s", f.Name,
		strings.TrimPrefix(f.Type.Text, "*"))
}

func parent(at model.Place, is func(*model.Field) bool) *model.Field {
	if i := slices.IndexFunc(at[:len(at)-1], is); i >= 0 {
		return at[i]
	}
	return nil
}

func isCollection(f *model.Field) bool { return f.Type.Collection() }

func demanded(_ *model.Kind, at model.Place) string {
	f := at.Field()
	several := parent(at, func(p *model.Field) bool {
		return p.Type.Map || p.Type.List && p.Comment.Value("kubebuilder:validation:MaxItems") != "1"
	})
	switch {
	case !f.Comment.Has("bowline:required"):
		return ""
	case !f.Optional():
		return fmt.Sprintf("the type of %s already requires it: make it an optional pointer, for objects that are only observed", f.Name)
	case several != nil:
		return fmt.Sprintf("%s is in %s, which may have several items: remove +bowline:required and make it a value without omitempty",
			f.Name, several.Name)
	}
	return ""
}

func outsideLists(_ *model.Kind, at model.Place) string {
	f, list := at.Field(), parent(at, isCollection)
	for _, marker := range []string{"bowline:default", "bowline:generated"} {
		if f.Comment.Has(marker) && list != nil {
			return fmt.Sprintf("%s is in %s, and items of lists and maps cannot have +%s: remove the marker", f.Name, list.Name, marker)
		}
	}
	return ""
}

func singleField(f *model.Field) string {
	below := f.Below()
	if !f.Type.Pointer || below == nil || len(below.Fields) != 1 || below.Fields[0].Embedded || !below.Fields[0].Optional() {
		return ""
	}
	return fmt.Sprintf("%s is optional, and so is its only field %s: make that a value without omitempty, because an empty %s has no meaning",
		f.Name, below.Fields[0].Name, f.JSON)
}

func subResource(k *model.Kind, at model.Place) string {
	f := at.Field()
	if f.Below() == nil || len(at) != 1 {
		return ""
	}
	for _, pkg := range k.Package.API.Packages {
		for _, other := range pkg.Kinds {
			name := strings.ToLower(other.Name)
			if other.Role == model.Managed && slices.Contains([]string{name, name + "s", name + "es"}, strings.ToLower(f.JSON)) {
				return fmt.Sprintf("%s are objects of kind %s: remove the field, or refer to them by %sRefs", f.JSON, other.Name,
					strings.TrimSuffix(f.Name, "s"))
			}
		}
	}
	return ""
}

func isSelector(f *model.Field) bool {
	return f.Type.Is(model.CommonPath, "SecretKeySelector") || f.Type.Is(model.CommonPath, "LocalSecretKeySelector")
}

func plainSecret(f *model.Field) string {
	secret := regexp.MustCompile(`(?i)(password|passphrase|secret|token|(private|api|access|secret)key)s?$`)
	return refuse(f.Type.Name == "string" && secret.MatchString(f.Name), "%[1]s looks like a secret, and everyone with read access to "+
		"the object would see it: make it %[1]sSecretRef *xpv1.SecretKeySelector", f.Name)
}

func secretName(f *model.Field) string {
	switch named := strings.HasSuffix(f.Name, "SecretRef") && strings.HasSuffix(f.JSON, "SecretRef"); {
	case isSelector(f) && !named:
		return fmt.Sprintf("%s selects a secret: rename it to %sSecretRef", f.Name, f.Name)
	case named && !isSelector(f) && f.Type.Name != "":
		return fmt.Sprintf("the name of %s is that of a reference to a secret: make it *xpv1.SecretKeySelector", f.Name)
	}
	return ""
}

// secretComment compares the comment with what the runtime generates. What the external system generates is attributed to it.
func secretComment(k *model.Kind, at model.Place) string {
	f := at.Field()
	if !isSelector(f) || !f.Optional() {
		return ""
	}
	comment := strings.ToLower(f.Comment.Text())
	system := cmp.Or(k.Package.Comment.Value("bowline:system"), "the external system")
	switch generated, random := f.Comment.Has("bowline:generated"), strings.Contains(comment, "random"); {
	case generated && !random:
		return fmt.Sprintf("the comment of %s does not mention its default: add that it is a random value", f.Name)
	case random && !generated && !strings.Contains(comment, strings.ToLower(system)):
		return fmt.Sprintf("the comment of %s mentions a random value that is not generated: add +bowline:generated=KEY, or write that "+
			"%s generates it", f.Name, system)
	}
	return ""
}

func statusOmitted(f *model.Field) string {
	return refuse(!f.Omitted(), "%s shows its zero value before it is observed: add omitempty to its json tag", f.Name)
}

func statusOptional(f *model.Field) string {
	for _, marker := range []string{"optional", "immutable"} {
		if f.Comment.Has(marker) {
			return fmt.Sprintf("%s is an observation and not a setting: remove +%s, or use a separate struct if it is also a setting",
				f.Name, marker)
		}
	}
	return ""
}

func immutableList(_ *model.Kind, at model.Place) string {
	f, list := at.Field(), parent(at, func(p *model.Field) bool {
		return p.Type.Map || p.Type.List && p.Comment.Value("listType") != "map"
	})
	if !f.Comment.Has("immutable") || list == nil {
		return ""
	}
	return fmt.Sprintf("%s is immutable, but items of %s have no identity: mark %s with +listType=map and +listMapKey, or with +immutable",
		f.Name, list.Name, list.Name)
}

func referenceAt(k *model.Kind, at model.Place) *model.Reference {
	all := k.References()
	if i := slices.IndexFunc(all, func(r model.Reference) bool { return slices.Equal(r.Place, at) }); i >= 0 {
		return &all[i]
	}
	return nil
}

func immutableReference(k *model.Kind, at model.Place) string {
	r := referenceAt(k, at)
	if r == nil {
		return ""
	}
	fixed := at.Field().Comment.Has("immutable")
	switch {
	case r.Ref != nil && fixed && !r.Ref.Comment.Has("immutable"):
		return fmt.Sprintf("%s is immutable, so its reference must be too: mark %s +immutable", at.Field().Name, r.Ref.Name)
	case r.Ref != nil && !fixed && r.Ref.Comment.Has("immutable"):
		return fmt.Sprintf("%s is immutable, so the value that it resolves to must be too: mark %s +immutable", r.Ref.Name, at.Field().Name)
	case r.Selector != nil && r.Selector.Comment.Has("immutable"):
		return fmt.Sprintf("%s selects only once: remove its marker +immutable", r.Selector.Name)
	}
	return ""
}

func immutableAlways(k *model.Kind, at model.Place) string {
	r := referenceAt(k, at)
	if r == nil || !at.Field().Comment.Has("immutable") {
		return ""
	}
	for _, companion := range []*model.Field{r.Ref, r.Selector} {
		if companion != nil && strings.Contains(companion.Comment.Value("kubebuilder:default"), "Always") {
			return fmt.Sprintf("%s is immutable, but by default %s is resolved again in every pass: remove the policy Always",
				at.Field().Name, companion.Name)
		}
	}
	return ""
}

func reference(k *model.Kind, at model.Place) string {
	r := referenceAt(k, at)
	if r == nil {
		return ""
	}
	f := at.Field()
	kind, companion := f.Comment.Value(model.ReferenceType), "*xpv1.Reference"
	if f.Type.List {
		companion = "[]xpv1.Reference"
	}
	switch {
	case f.Type.Name != "string" || f.Type.Map:
		return fmt.Sprintf("%s refers to %s, but is of type %s: make it *string or []string", f.Name, kind, f.Type.Text)
	case parent(at, func(p *model.Field) bool { return p.Type.Map }) != nil:
		return fmt.Sprintf("%s is in a map, where references are not resolved: make the map a list", f.Name)
	case r.Ref == nil:
		return fmt.Sprintf("%s has no field %s beside it: declare it as %s", f.Name, model.RefNames(f)[0], companion)
	case r.Selector == nil:
		return fmt.Sprintf("%s has no field %s beside it: declare it as *xpv1.Selector", f.Name, model.SelectorNames(f)[0])
	case !isCompanion(r.Ref, "Reference") || r.Ref.Type.List != f.Type.List || r.Ref.Type.Pointer == f.Type.List:
		return fmt.Sprintf("%s is of type %s: make it %s", r.Ref.Name, r.Ref.Type.Text, companion)
	case !isCompanion(r.Selector, "Selector") || !r.Selector.Type.Pointer || r.Selector.Type.List || isNamespaced(r.Ref) != isNamespaced(r.Selector):
		return fmt.Sprintf("%s is of type %s: make it *xpv1.%s", r.Selector.Name, r.Selector.Type.Text,
			strings.Replace(r.Ref.Type.Name, "Reference", "Selector", 1))
	case r.Extractor.Name != "" && r.Extractor.Import == "":
		return fmt.Sprintf("the extractor of %s is not a function call: write import/path.Function()", f.Name)
	case r.Target.Name == "":
		return fmt.Sprintf("%s refers to %s, but there is no such %s kind: correct the marker, or add the scope to that kind", f.Name,
			kind, strings.ToLower(string(k.Scope)))
	case !inSecondScope(k, at):
		return fmt.Sprintf("%s refers to %s, but there is no such namespaced kind: mark it with +bowline:scopes=Cluster,Namespaced",
			f.Name, kind)
	}
	return ""
}

// inSecondScope is true if the kind of a reference also exists in the second scope, or the referring kind does not.
func inSecondScope(k *model.Kind, at model.Place) bool {
	for _, pkg := range k.Package.API.Packages {
		for _, second := range pkg.Kinds {
			if r := referenceAt(second, at); second.Source == k && r != nil && r.Target.Name == "" {
				return false
			}
		}
	}
	return true
}

func isCompanion(f *model.Field, name string) bool {
	return f.Type.Is(model.CommonPath, name) || f.Type.Is(model.CommonPath, "Namespaced"+name)
}

func isNamespaced(f *model.Field) bool { return strings.HasPrefix(f.Type.Name, "Namespaced") }

func packageMarkers(k *model.Kind) string {
	switch c := k.Package.Comment; {
	case c.Value("groupName") == "":
		return fmt.Sprintf("package %s has no group: add // +groupName=GROUP to its comment in doc.go", k.Package.Name)
	case c.Value("kubebuilder:object:generate") != "true":
		return fmt.Sprintf("package %s has no deepcopy functions: add // +kubebuilder:object:generate=true to its comment in doc.go",
			k.Package.Name)
	}
	return ""
}

func root(k *model.Kind) string {
	switch {
	case k.Struct.Comment.Value("kubebuilder:object:root") != "true":
		return fmt.Sprintf("%s is not marked as a root type: add // +kubebuilder:object:root=true to its comment", k.Name)
	case k.Struct.Comment.Text() == "":
		return fmt.Sprintf("%s has no comment: describe it", k.Name)
	case k.Role != model.Class && k.Struct.Field("Status") == nil:
		return fmt.Sprintf("%s has no status: add Status %sStatus `json:\"status,omitempty\"`", k.Name, k.Name)
	}
	return ""
}

func scope(k *model.Kind) string {
	value := k.Struct.Comment.Value("bowline:scopes")
	scopes := model.Scopes(k.Struct)
	if k.Struct.Comment.Has("bowline:scopes") && len(scopes) != len(strings.Split(value, ",")) {
		return fmt.Sprintf("+bowline:scopes=%s: write Cluster, Namespaced, or Cluster,Namespaced", value)
	}
	if len(scopes) == 2 && strings.HasPrefix(k.Package.Path, k.Package.API.Path+"/namespaced/") {
		first := strings.Replace(k.Package.Dir, "/namespaced/", "/", 1)
		return fmt.Sprintf("%s is in the folder of generated namespaced kinds: declare it in %s", k.Name, first)
	}
	if explicit := k.ExplicitScope(); explicit != "" && len(scopes) > 0 && explicit != scopes[0] {
		return fmt.Sprintf("+bowline:scopes sets %s, +kubebuilder:resource sets %s: remove the latter", scopes[0], explicit)
	}
	return ""
}

func managed(k *model.Kind) string {
	for _, part := range []struct {
		of      model.Ref
		content string
	}{{k.Parameters, "its settings"}, {k.Observation, "the fields that the external system reports"}} {
		if pkg := k.Package.API.Package(part.of.Import); part.of.Name == "" || pkg != nil && pkg.Struct(part.of.Name) == nil {
			return fmt.Sprintf("%s has no struct %s: declare it with %s", k.Name, part.of.Name, part.content)
		}
	}
	return ""
}

func link(k *model.Kind) string {
	parameters := k.Lookup(k.Parameters)
	if parameters == nil {
		return ""
	}
	return refuse(!strings.Contains(parameters.Comment.Text(), "http"),
		"the comment of %s has no link to the page of the vendor's API: add its URL as the last line", parameters.Name)
}

func providerConfig(k *model.Kind) string {
	scopes := model.Scopes(k.Struct)
	if len(scopes) == 0 {
		scopes = []model.Scope{k.Scope}
	}
	for i, scope := range scopes {
		pkg := k.Package
		for _, other := range pkg.API.Packages {
			if i > 0 && other.Source == pkg {
				pkg = other
				break
			}
		}
		if _, ok := pkg.Config(scope); !ok {
			return fmt.Sprintf("%s: the %s kinds of %s have no ProviderConfig: declare one in a package whose group is a suffix of this one, "+
				"or set its group by +bowline:providerConfigGroup in doc.go", k.Name, strings.ToLower(string(scope)), pkg.Group())
		}
	}
	return ""
}

// claimMarker refuses markers without effect: the settings of a claim are neither compared with nor sent to an external system.
func claimMarker(_ *model.Kind, at model.Place) string {
	f := at.Field()
	for _, m := range f.Comment.Markers {
		switch ours := strings.HasPrefix(m.Name, "bowline:") && m.Name != nolintMarker; {
		case m.Name == "bowline:required":
			return fmt.Sprintf("%s is a setting of a claim, where +%s has no effect: make it a value without omitempty", f.Name, m.Name)
		case ours || strings.HasPrefix(m.Name, "crossplane:generate:reference"):
			return fmt.Sprintf("%s is a setting of a claim, where +%s has no effect: remove it", f.Name, m.Name)
		}
	}
	if list := parent(at, isCollection); list != nil && f.Comment.Has("immutable") {
		return fmt.Sprintf("%s is in the list or map %s: mark %s +immutable instead, or remove the marker", f.Name, list.Name, list.Name)
	}
	return ""
}

func claim(k *model.Kind) string {
	return cmp.Or(namespacedKind(k, "ResourceClaimStatus"), refuse(!k.Struct.Field("Spec").Omitted(),
		"the spec of %s may be empty: add omitempty to its json tag", k.Name))
}

func targetKind(k *model.Kind) string {
	return cmp.Or(namespacedKind(k, "TargetStatus"), refuse(k.Struct.Field("Spec").Omitted(),
		"the spec of %s is required: remove omitempty from its json tag", k.Name))
}

func namespacedKind(k *model.Kind, common string) string {
	status := k.Struct.Field("Status")
	switch {
	case setsScope(k, model.Cluster):
		return fmt.Sprintf("%s is a %s, which is always namespaced: remove the scope", k.Name, k.Role)
	case status != nil && (status.Embedded || !status.Type.Is(model.CommonPath, common)):
		return fmt.Sprintf("the status of %s must be that of all %ss: declare Status xpv1.%s `json:\"status,omitempty\"`", k.Name, k.Role, common)
	}
	return ""
}

func class(k *model.Kind) string {
	switch {
	case k.Role == model.Class:
		return authoredClass(k)
	case k.Role != model.Managed || !k.Struct.Comment.Has(model.ClassMarker):
		return ""
	case k.Scope != model.Cluster:
		return fmt.Sprintf("%s is namespaced, so teams could read the secrets of a class's managed resources: "+
			"remove +%s, or add the scope Cluster", k.Name, model.ClassMarker)
	}
	if of := k.Package.Kind(k.ClassName()); of == nil || of.Role != model.Class {
		return fmt.Sprintf("%s is not a class: embed xpv1.ClassSpecTemplate in its specTemplate, or rename it", k.ClassName())
	}
	return ""
}

func authoredClass(k *model.Kind) string {
	of := k.ManagedKind()
	switch {
	case of == nil && !k.Package.Methods[k.Name+".GetManagedKind"]:
		return fmt.Sprintf("%s is the class of no kind: rename it to KINDClass, with the name of a managed kind of this package, or give it the "+
			"method GetManagedKind", k.Name)
	case of != nil && of.Scope != model.Cluster:
		return fmt.Sprintf("%s is a class of %s, which is namespaced, so teams could read the secrets of its managed resources: "+
			"remove the class, or add the scope Cluster to %s", k.Name, of.Name, of.Name)
	case of != nil && k.Parameters != of.Parameters:
		return fmt.Sprintf("%s does not have the settings of %s: add ForProvider %s `json:\"forProvider\"` to its specTemplate", k.Name, of.Name,
			of.Parameters.Name)
	case k.Conditioned() && k.Status != (model.Ref{Import: model.CommonPath, Name: "ClassStatus"}):
		return fmt.Sprintf("the status of %s must be that of all classes: declare Status xpv1.ClassStatus `json:\"status,omitzero\"`, or remove it", k.Name)
	case setsScope(k, model.Namespaced):
		return fmt.Sprintf("%s is a class, which is always cluster-scoped: remove the scope", k.Name)
	case len(k.ClaimKinds()) == 0:
		return fmt.Sprintf("%s satisfies no claim kind: add +%s=Kind.group", k.Name, model.ClaimsMarker)
	}
	return ""
}

func setsScope(k *model.Kind, scope model.Scope) bool {
	return slices.Contains(model.Scopes(k.Struct), scope) || k.ExplicitScope() == scope
}
