// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/bowline-dev/bowline/pkg/terraform/external"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/pkg/terraform/lists"
	"github.com/bowline-dev/bowline/pkg/terraform/plugin"
	"github.com/bowline-dev/bowline/providers/terraform/apis/v1alpha1"
)

// settingsIn returns the settings that a spec has for a resource type, nil for none.
func settingsIn(tp *v1alpha1.TerraformProvider, resourceType string) *v1alpha1.TypeSettings {
	for i := range tp.Spec.TypeSettings {
		if tp.Spec.TypeSettings[i].Type == resourceType {
			return &tp.Spec.TypeSettings[i]
		}
	}
	return nil
}

// typeSettings are settings for the bridge.
func typeSettings(of *v1alpha1.TypeSettings) external.TypeSettings {
	if of == nil {
		return external.TypeSettings{}
	}
	settings := external.TypeSettings{ConnectionKeys: of.ConnectionKeys, ImportID: of.ImportID, Ownership: of.Ownership}
	if of.AbsentAfter != nil {
		settings.AbsentAfter = of.AbsentAfter.Duration
	}
	if of.ListConfig != nil {
		_ = json.Unmarshal(of.ListConfig.Raw, &settings.ListConfig) // the API server accepts objects only
	}
	return settings
}

// record returns settings for status, with sorted keys as the API server returns them.
func record(of *v1alpha1.TypeSettings) (*runtime.RawExtension, error) {
	if of == nil {
		return nil, nil
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(of)
	if err != nil {
		return nil, fmt.Errorf("recording its settings: %w", err)
	}
	raw, err := json.Marshal(fields)
	return &runtime.RawExtension{Raw: raw}, err
}

// recordedSettings are those that a type was served with, nil for none. was is false for a type that was not served.
func recordedSettings(former []v1alpha1.ServedKind, resourceType string) (settings *v1alpha1.TypeSettings, was bool, err error) {
	for _, kind := range former {
		if kind.Type != resourceType {
			continue
		}
		if kind.Settings == nil {
			return nil, true, nil
		}
		settings = &v1alpha1.TypeSettings{}
		if err := json.Unmarshal(kind.Settings.Raw, settings); err != nil {
			return nil, true, fmt.Errorf("reading its settings in status: %w", err)
		}
		return settings, true, nil
	}
	return nil, false, nil
}

// checkSettings returns an error with all settings that have no effect.
func checkSettings(tp *v1alpha1.TerraformProvider, schemas *plugin.Schemas) error {
	var errs []error
	for _, settings := range tp.Spec.TypeSettings {
		of := schemas.Resources[settings.Type]
		if of == nil {
			errs = append(errs, fmt.Errorf("spec.typeSettings has %s, and spec.types serves only %s: correct the name, or add it to spec.types",
				settings.Type, some(slices.Sorted(maps.Keys(schemas.Resources)))))
			continue
		}
		for _, key := range settings.ConnectionKeys {
			if err := kinds.CheckConnectionKey(of.Block, key); err != nil {
				errs = append(errs, fmt.Errorf("resource type %s: connectionKeys of spec.typeSettings: %w", settings.Type, err))
			}
		}
		if err := checkRecovery(schemas.Resource(settings.Type), typeSettings(&settings)); err != nil {
			errs = append(errs, fmt.Errorf("resource type %s: %w", settings.Type, err))
		}
	}
	return errors.Join(errs...)
}

// checkRecovery returns an error for settings by which what an interrupted creation made cannot be looked for.
func checkRecovery(of plugin.Resource, settings external.TypeSettings) error {
	switch {
	case settings.ImportID != "":
		return nil
	case settings.AbsentAfter != 0 && (settings.Ownership == "" || of.List == nil):
		return errors.New("absentAfter of spec.typeSettings has no effect without importID, or ownership where the provider has a list resource of the type")
	case settings.Ownership != "" && of.List != nil && len(settings.ListConfig) == 0:
		return lists.CheckEmpty(of)
	}
	return nil
}
