// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reef

import (
	"encoding/json"
	"errors"
	"math/big"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/bowline-dev/bowline/test/terraform/providers/disk"
)

// exact is the precision of numbers in Terraform.
const exact = 512

// toObject returns a state or plan as the vendor stores it. What is unknown is null.
func toObject(value tftypes.Value) (disk.Object, error) {
	p, err := plain(value, value.Type())
	o, _ := p.(map[string]any)
	return o, err
}

// toValue is the reverse of toObject.
func toValue(o disk.Object, as tftypes.Type) (tftypes.Value, error) {
	content, err := json.Marshal(o)
	if err != nil {
		return tftypes.Value{}, err
	}
	return tfprotov6.DynamicValue{JSON: content}.Unmarshal(as)
}

// plain returns a value as JSON has it. One of the dynamic type is an object of its type and the value.
func plain(value tftypes.Value, as tftypes.Type) (any, error) {
	if !value.IsKnown() || value.IsNull() {
		return nil, nil
	}
	if as.Is(tftypes.DynamicPseudoType) {
		inside, err := plain(value, value.Type())
		return map[string]any{"type": value.Type(), "value": inside}, err
	}
	switch {
	case as.Is(tftypes.String):
		var s string
		err := value.As(&s)
		return s, err
	case as.Is(tftypes.Bool):
		var b bool
		err := value.As(&b)
		return b, err
	case as.Is(tftypes.Number):
		var f big.Float
		err := value.As(&f)
		return json.Number(new(big.Float).SetPrec(exact).Set(&f).Text('g', -1)), err
	case as.Is(tftypes.Map{}), as.Is(tftypes.Object{}):
		return plainMap(value, as)
	}
	return plainList(value, as)
}

func plainMap(value tftypes.Value, as tftypes.Type) (any, error) {
	var items map[string]tftypes.Value
	errs := []error{value.As(&items)}
	result := map[string]any{}
	for key, item := range items {
		var err error
		result[key], err = plain(item, itemType(as, key, 0))
		errs = append(errs, err)
	}
	return result, errors.Join(errs...)
}

func plainList(value tftypes.Value, as tftypes.Type) (any, error) {
	var items []tftypes.Value
	errs := []error{value.As(&items)}
	result := []any{}
	for i, item := range items {
		p, err := plain(item, itemType(as, "", i))
		result, errs = append(result, p), append(errs, err)
	}
	return result, errors.Join(errs...)
}

func itemType(of tftypes.Type, key string, i int) tftypes.Type {
	switch of := of.(type) {
	case tftypes.Object:
		return of.AttributeTypes[key]
	case tftypes.Map:
		return of.ElementType
	case tftypes.List:
		return of.ElementType
	case tftypes.Set:
		return of.ElementType
	case tftypes.Tuple:
		return of.ElementTypes[i]
	}
	return tftypes.DynamicPseudoType
}
