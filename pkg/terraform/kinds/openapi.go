// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"slices"
	"strings"
	"unicode"

	"github.com/zclconf/go-cty/cty"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const longestDescription = 300

type openAPI = apiextensionsv1.JSONSchemaProps

// A part of an object has fields of a schema.
type part int

const (
	forProvider part = iota
	initProvider
	atProvider
	configuration // of a provider
)

// A writer writes the OpenAPI schema of a part.
type writer struct {
	part   part
	secret openAPI // of references to Secrets, without a description
}

// object returns the schema of an object. It is one of many if it is in a collection that may have several.
func (w writer) object(s shape, many bool) openAPI {
	o := openAPI{Type: "object", Properties: map[string]openAPI{}}
	for _, f := range s.fields() {
		if w.part == atProvider && f.secret || w.part != atProvider && !f.input {
			continue
		}
		o.Properties[f.name] = w.field(f, many)
		if w.requires(f, many) {
			o.Required = append(o.Required, f.name)
		}
	}
	slices.Sort(o.Required)
	return o
}

// requires is true for what the API server must require. In an object that occurs at most once, initProvider may set what forProvider does
// not, such as the desired size of a group with autoscaling; texts anywhere may come from references. CheckRequired checks those.
func (w writer) requires(f field, many bool) bool {
	switch w.part {
	case configuration:
		return f.required
	case forProvider:
		return f.required && many && (f.secret || !f.mayBeReferred())
	}
	return false
}

// mayBeReferred is true for texts, and lists of texts, which references usually set.
func (s shape) mayBeReferred() bool {
	return s.form == scalar && s.cty == cty.String || (s.form == list || s.form == set) && s.item.mayBeReferred()
}

func (w writer) field(f field, many bool) openAPI {
	var o openAPI
	switch {
	case !f.secret:
		o = w.shape(f.shape, many || f.max != 1)
	case f.form == scalar && f.cty == cty.String:
		o = w.secret
	default:
		o, f.description = w.secret, "The Secret has "+f.expected()+". "+f.description
	}
	if !f.secret && (f.form == list || f.form == set) {
		if f.min > 0 && (w.part == forProvider || w.part == configuration) {
			o.MinItems = new(int64(f.min))
		}
		if f.max > 0 && w.part != atProvider {
			o.MaxItems = new(int64(f.max))
		}
	}
	// Each is explained once, since descriptions take most of the memory of a definition.
	if w.part == forProvider || w.part == configuration || w.part == atProvider && !f.input {
		o.Description = shorten(f.description)
	}
	return o
}

func (w writer) shape(s shape, many bool) openAPI {
	switch s.form {
	case object:
		return w.object(s, many)
	case list, set:
		item := w.shape(*s.item, many)
		o := openAPI{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &item}}
		if s.form == set {
			o.XListType = new("atomic")
		}
		return o
	case mapping:
		item := w.shape(*s.item, true)
		return openAPI{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &item}}
	case tuple:
		return openAPI{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &openAPI{XPreserveUnknownFields: new(true)}}}
	case dynamic:
		return openAPI{XPreserveUnknownFields: new(true)}
	}
	return openAPI{Type: map[cty.Type]string{cty.String: "string", cty.Number: "number", cty.Bool: "boolean"}[s.cty]}
}

// hasType is false if rules of the API server cannot refer to values of the shape, since a part of them is of any type.
func (s shape) hasType() bool {
	switch s.form {
	case dynamic, tuple:
		return false
	case list, set, mapping:
		return s.item.hasType()
	}
	return true
}

// shorten returns the first sentences of a description.
func shorten(description string) string {
	description = strings.Join(strings.Fields(description), " ")
	if len(description) <= longestDescription {
		return description
	}
	short := strings.ToValidUTF8(description[:longestDescription], "")
	if end := strings.LastIndex(short, ". "); end > 0 {
		return short[:end+1]
	}
	if end := strings.LastIndexByte(short, ' '); end > 0 {
		short = short[:end]
	}
	return strings.TrimRightFunc(short, unicode.IsPunct) + " …"
}
