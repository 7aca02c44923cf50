// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/bowline-dev/bowline/pkg/terraform/schema"
	"github.com/bowline-dev/bowline/pkg/terraform/wire"
)

// A Diagnostic is one error or warning of a provider. Its text may repeat secrets.
type Diagnostic struct {
	Summary, Detail string
	Path            cty.Path // of the attribute in question; may be empty
}

// Diagnostics are the errors of a call that the provider answered.
type Diagnostics []Diagnostic

func (d Diagnostics) Error() string {
	texts := make([]string, 0, len(d))
	for _, one := range d {
		texts = append(texts, one.String())
	}
	return strings.Join(texts, "; ")
}

// missingAfterCreate is how terraform-plugin-framework begins an error that it adds where a provider set no state and reported no error. The
// protocol has no other sign of it.
const missingAfterCreate = "Missing Resource State After Create"

// MayHaveCreated is true for errors of a creation that leave open whether something was created.
func (d Diagnostics) MayHaveCreated() bool {
	return slices.ContainsFunc(d, func(one Diagnostic) bool { return one.Summary == missingAfterCreate })
}

func (d Diagnostic) String() string {
	text := d.Summary
	if d.Detail != "" && d.Detail != d.Summary {
		text += ": " + d.Detail
	}
	if len(d.Path) > 0 {
		text = schema.FormatPath(d.Path) + ": " + text
	}
	return strings.TrimSpace(text) // as it is: secrets in it, which may have several lines, are looked for later
}

// read separates errors and warnings.
func read(all []*wire.Diagnostic) (warnings Diagnostics, err error) {
	var refused Diagnostics
	for _, one := range all {
		d := Diagnostic{Summary: one.GetSummary(), Detail: one.GetDetail(), Path: pathOf(one.GetAttribute())}
		if one.GetSeverity() == wire.Diagnostic_WARNING {
			warnings = append(warnings, d)
		} else {
			refused = append(refused, d)
		}
	}
	if len(refused) > 0 {
		err = refused
	}
	return warnings, err
}

func pathOf(of *wire.AttributePath) (path cty.Path) {
	for _, step := range of.GetSteps() {
		switch s := step.GetSelector().(type) {
		case *wire.AttributePath_Step_AttributeName:
			path = path.GetAttr(s.AttributeName)
		case *wire.AttributePath_Step_ElementKeyString:
			path = path.IndexString(s.ElementKeyString)
		case *wire.AttributePath_Step_ElementKeyInt:
			path = path.Index(cty.NumberIntVal(s.ElementKeyInt))
		}
	}
	return path
}
