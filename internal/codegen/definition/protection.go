// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-tools/pkg/genall"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/codegen/model"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// protectionFile is beside the definitions, so that one command applies all.
const protectionFile = "protection.yaml"

const (
	definitionsGroup    = "apiextensions.k8s.io"
	definitionsResource = "customresourcedefinitions"
)

// A protection lists what the policies of an API protect: objects from their deletion (N39), and claims from the loss of their finalizer.
type protection struct {
	config      string              // group of provider configurations: the shortest, if there are several
	groups      []string            // of all definitions
	definitions []string            // names of all definitions
	managed     map[string][]string // plurals of managed kinds, by group
	claims      map[string][]string // plurals of claim kinds, by group
	workloads   map[string][]string // plurals of workload kinds, by group
	data        []string            // managed kinds that hold data, as <plural>.<group>
}

// add notes a definition of an API.
func (p *protection) add(d *apiextensionsv1.CustomResourceDefinition, k *model.Kind) {
	if slices.Contains(p.definitions, d.Name) { // of several versions
		return
	}
	p.definitions, p.groups = append(p.definitions, d.Name), append(p.groups, d.Spec.Group)
	if config, known := k.Package.Config(k.Scope); known && (p.config == "" || len(config) < len(p.config)) {
		p.config = config
	}
	if p.managed == nil {
		p.managed, p.claims, p.workloads = map[string][]string{}, map[string][]string{}, map[string][]string{}
	}
	if k.Role == model.Claim {
		p.claims[d.Spec.Group] = append(p.claims[d.Spec.Group], d.Spec.Names.Plural)
	}
	if k.Role == model.Workload {
		p.workloads[d.Spec.Group] = append(p.workloads[d.Spec.Group], d.Spec.Names.Plural)
	}
	if k.Role != model.Managed {
		return
	}
	p.managed[d.Spec.Group] = append(p.managed[d.Spec.Group], d.Spec.Names.Plural)
	if k.Struct.Comment.Has(model.DataMarker) {
		p.data = append(p.data, d.Name)
	}
}

// write writes the policies and their bindings.
func (p *protection) write(ctx *genall.GenerationContext) error {
	if len(p.definitions) == 0 {
		return nil
	}
	policies := admit("protection."+p.suffix(), p.rules(), []admissionv1.MatchCondition{
		{Name: "not-being-deleted", Expression: "!has(oldObject.metadata.deletionTimestamp)"},
		{Name: "definition-of-this-api", Expression: fmt.Sprintf("request.resource.group != '%s' || oldObject.metadata.name in %s",
			definitionsGroup, list(p.definitions))},
	}, p.variables(), validations())
	if len(p.claims) > 0 { // first: what follows is in force no earlier, which crd.Protect awaits
		policies = append(p.finalizers(), policies...)
	}
	if len(p.workloads) > 0 {
		policies = append(p.secrets(), policies...)
	}
	return ctx.WriteYAML(protectionFile, "# "+model.GeneratedBy+"\n", policies, genall.WithTransform(bare))
}

// admit returns a policy and its binding. All defaults are written out, so that a comparison with the stored policy is exact.
func admit(name string, rules []admissionv1.NamedRuleWithOperations, matches []admissionv1.MatchCondition,
	variables []admissionv1.Variable, validations []admissionv1.Validation) []any {
	policy := &admissionv1.ValidatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: new(admissionv1.Fail),
			MatchConstraints: &admissionv1.MatchResources{
				MatchPolicy: new(admissionv1.Equivalent), NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{},
				ResourceRules: rules,
			},
			MatchConditions: matches, Variables: variables, Validations: validations,
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicyBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
	return []any{policy, binding}
}

// suffix of the name of the policy, which no other API has, since no other defines kinds of the group: that of the provider
// configurations, or the shortest.
func (p *protection) suffix() string {
	if slices.Contains(p.groups, p.config) { // another API may define them
		return p.config
	}
	return slices.MinFunc(p.groups, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
}

func (p *protection) rules() []admissionv1.NamedRuleWithOperations {
	rules := on(admissionv1.Delete, p.managed)
	return append(on(admissionv1.Delete, map[string][]string{definitionsGroup: {definitionsResource}}), rules...)
}

// on matches an operation by resource alone: a deletion of a whole collection has no name.
func on(operation admissionv1.OperationType, resources map[string][]string) (rules []admissionv1.NamedRuleWithOperations) {
	for _, group := range slices.Sorted(maps.Keys(resources)) {
		rules = append(rules, admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{operation},
			Rule: admissionv1.Rule{
				APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: slices.Sorted(slices.Values(resources[group])),
				Scope: new(admissionv1.AllScopes),
			},
		}})
	}
	return rules
}

// finalizers is the policy by which a claim keeps the finalizer that counts it in quotas until its managed resource is released (N67).
// Controllers write statuses, which teams do not.
func (p *protection) finalizers() []any {
	const ours = "exists(f, f == '" + meta.FinalizerClaim + "')"
	may := func(verb, subresource string) string {
		return "authorizer.group(request.resource.group).resource(request.resource.resource).subresource('" + subresource +
			"').namespace(request.namespace).name(request.name).check('" + verb + "').allowed()"
	}
	return admit("finalizers."+p.suffix(), on(admissionv1.Update, p.claims), []admissionv1.MatchCondition{{
		Name:       "removes-our-finalizer",
		Expression: "oldObject.metadata.?finalizers.orValue([])." + ours + " && !object.metadata.?finalizers.orValue([])." + ours,
	}}, nil, []admissionv1.Validation{{
		Expression: may("update", "finalizers") + " || " + may("patch", "status"),
		MessageExpression: "'finalizer " + meta.FinalizerClaim + " stays until the managed resource of the claim is released, and is then " +
			"removed by the controllers. To change a claim, keep its finalizers, which kubectl apply does. If a deletion lasts, condition " +
			"Synced of the claim has the reason; to remove the finalizer by force, ask your platform team, which may update ' + " +
			"request.resource.resource + '/finalizers'",
	}})
}

// secrets is the policy by which only those have an application copy Secrets who may get them (N95). It asks for all Secrets of the namespace:
// a question for each would exceed the cost that the API server permits to an expression.
func (p *protection) secrets() []any {
	rules := append(on(admissionv1.Create, p.workloads), on(admissionv1.Update, p.workloads)...)
	return admit("secrets."+p.suffix(), rules, []admissionv1.MatchCondition{{
		Name:       "new-content",
		Expression: "request.operation == 'CREATE' || object.spec != oldObject.spec",
	}, {
		Name:       "names-secrets",
		Expression: "size(object.spec.?secrets.orValue([])) > 0 || object.spec.?resourceTemplates.orValue([]).exists(t, size(t.spec.?secrets.orValue([])) > 0)",
	}}, nil, []admissionv1.Validation{{
		Expression: "authorizer.group('').resource('secrets').namespace(request.namespace).check('get').allowed()",
		MessageExpression: "'secrets are copied to the cluster for those only who may get the Secrets of namespace ' + request.namespace + ', which you may not: " +
			"leave the field out, or ask your platform team for the right'",
	}})
}

func (p *protection) variables() []admissionv1.Variable {
	return []admissionv1.Variable{
		{Name: "annotations", Expression: "oldObject.metadata.?annotations.orValue({})"},
		{Name: "definition", Expression: fmt.Sprintf("request.resource.group == '%s'", definitionsGroup)},
		// A person asked to keep the external resource.
		{Name: "orphaned", Expression: annotation(meta.AnnotationKeyOrphanOnDelete) + " == 'true'"},
		{Name: "claim", Expression: "oldObject.?spec.?claimRef.?uid.orValue('')"},
		// The claim was deleted, and the reclaim policy deletes the managed resource with it.
		{Name: "reclaimed", Expression: "variables.claim != '' && " + annotation(meta.AnnotationKeyReclaimedFrom) + " == " +
			"variables.claim && oldObject.spec.?reclaimPolicy.orValue('') == " + text(xpv1.ReclaimDelete)},
		{Name: "bound", Expression: "variables.claim != '' && !variables.reclaimed && oldObject.?status.?bindingPhase.orValue('') != " +
			text(xpv1.BindingPhaseReleased)},
		{Name: "users", Expression: "oldObject.?status.?conditions.orValue([]).filter(c, c.type == " + text(xpv1.TypeInUse) +
			" && c.status == 'True')"},
		// Without the finalizer there is no external resource that the deletion would delete. No policies at all keep the object until
		// they are set.
		{Name: "deletesData", Expression: "request.resource.resource + '.' + request.resource.group in " + list(p.data) + " && " +
			"oldObject.metadata.?finalizers.orValue([]).exists(f, f == 'finalizer.managedresource.crossplane.io') && " +
			"oldObject.spec.?deletionPolicy.orValue('') != " + text(xpv1.DeletionOrphan) +
			" && oldObject.spec.?reclaimPolicy.orValue('') != " + text(xpv1.ReclaimRetain) + " && " +
			"(oldObject.spec.?managementPolicies.orValue([]).size() == 0 || " +
			"oldObject.spec.managementPolicies.exists(p, p == " + text(xpv1.ManagementActionAll) + " || p == " + text(xpv1.ManagementActionDelete) + "))"},
		{Name: "explicit", Expression: annotation(meta.AnnotationKeyProtect) + " == 'true'"}, // also against the deletion of the claim (N64)
		{Name: "protect", Expression: "variables.explicit || variables.deletesData && !variables.reclaimed && " +
			annotation(meta.AnnotationKeyProtect) + " != 'false'"},
		{Name: "object", Expression: "request.kind.kind + '.' + request.kind.group + ' ' + oldObject.metadata.name + " +
			"(has(oldObject.metadata.namespace) ? ' -n ' + oldObject.metadata.namespace : '')"},
	}
}

// validations are what refuses a deletion, each with a message that names the reason and what to do.
func validations() []admissionv1.Validation {
	return []admissionv1.Validation{
		{
			Expression: "!variables.definition || " + annotation(meta.AnnotationKeyAllowDeletion) + " == 'true'",
			Message: "deleting this CustomResourceDefinition deletes all objects of its kind without further checks, and with them external " +
				"resources and their data: delete the objects first, then set the annotation " + meta.AnnotationKeyAllowDeletion + ` to "true" on it`,
		},
		{
			Expression: "variables.orphaned || !variables.bound",
			MessageExpression: "'it is bound to a claim: delete claim ' + oldObject.spec.claimRef.?namespace.orValue('') + '/' + " +
				"oldObject.spec.claimRef.?name.orValue('') + ' instead, by which the reclaimPolicy decides (kubectl delete ' + " +
				"oldObject.spec.claimRef.?kind.orValue('claim') + ' ' + oldObject.spec.claimRef.?name.orValue('') + ' -n ' + " +
				"oldObject.spec.claimRef.?namespace.orValue('') + ')'",
		},
		{
			Expression: "variables.orphaned || variables.users.size() == 0",
			MessageExpression: "'it is in use. ' + variables.users[0].?message.orValue('See its condition InUse.') + ' Delete what uses it first, " +
				"or let that use another one.'",
		},
		{
			Expression: "variables.orphaned || !variables.protect",
			MessageExpression: "(variables.explicit ? 'it is protected' : 'it is protected because objects of its kind hold data') + ': to " +
				"delete it with its external resource, set annotation " + meta.AnnotationKeyProtect +
				" to false (kubectl annotate ' + variables.object + ' " + meta.AnnotationKeyProtect + "=false --overwrite); to keep the external " +
				"resource, set annotation " + meta.AnnotationKeyOrphanOnDelete + " to true'",
		},
	}
}

// annotation is CEL for the value of an annotation, empty without it.
func annotation(key string) string { return "variables.annotations[?" + text(key) + "].orValue('')" }

// text returns a text literal of CEL.
func text[T ~string](value T) string { return "'" + string(value) + "'" }

// list returns a list literal of CEL.
func list(names []string) string {
	if len(names) == 0 {
		return "[]"
	}
	return "['" + strings.Join(slices.Sorted(slices.Values(names)), "', '") + "']"
}
