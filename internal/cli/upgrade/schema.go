// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// A crdSchema is the schema of a version as the API server uses it.
type crdSchema struct {
	structural *structuralschema.Structural
	fields     validation.SchemaValidator
	rules      *cel.Validator // nil without any
}

func newSchema(of *apiextensionsv1.JSONSchemaProps) (*crdSchema, error) {
	props := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(of, props, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(props)
	if err != nil {
		return nil, err
	}
	fields, _, err := validation.NewSchemaValidator(props)
	return &crdSchema{structural, fields, cel.NewValidator(structural, true, celconfig.PerCallLimit)}, err
}

// examine returns the fields of an object that the schema does not have, which the API server would remove, and why it would refuse to create
// the rest. Values, which may be secret, are left out. It changes the object.
func (s *crdSchema) examine(ctx context.Context, o *unstructured.Unstructured) (unknown, refusals []string) {
	content := o.Object
	unknown = pruning.PruneWithOptions(content, s.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	defaulting.Default(content, s.structural)
	errs := validation.ValidateCustomResource(nil, content, s.fields)
	if s.rules != nil && len(errs) == 0 { // as the API server does
		errs, _ = s.rules.Validate(ctx, nil, s.structural, content, nil, celconfig.RuntimeCELCostBudget)
	}
	for _, err := range errs {
		refusals = append(refusals, describe(err))
	}
	return unknown, refusals
}

func describe(err *field.Error) string {
	if err.Detail == "" {
		return fmt.Sprintf("%s: %s", err.Field, err.Type)
	}
	return fmt.Sprintf("%s: %s: %s", err.Field, err.Type, err.Detail)
}
