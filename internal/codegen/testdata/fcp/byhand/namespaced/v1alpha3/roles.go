// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha3

import (
	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	fcpv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/v1alpha3"
)

// SetConditions sets conditions of the configuration.
func (p *ClusterProviderConfig) SetConditions(c ...xpv1.Condition) { p.Status.SetConditions(c...) }

// GetCondition returns a condition of the configuration.
func (p *ClusterProviderConfig) GetCondition(ct xpv1.ConditionType) xpv1.Condition {
	return p.Status.GetCondition(ct)
}

// SetUsers satisfies resource.UserCounter.
func (p *ClusterProviderConfig) SetUsers(n int64) { p.Status.Users = n }

// GetUsers satisfies resource.UserCounter.
func (p *ClusterProviderConfig) GetUsers() int64 { return p.Status.Users }

// Settings returns how to reach the favourite cloud.
func (p *ClusterProviderConfig) Settings() fcpv1alpha3.ProviderConfigSpec { return p.Spec }

// SetConditions sets conditions of the configuration.
func (p *ProviderConfig) SetConditions(c ...xpv1.Condition) { p.Status.SetConditions(c...) }

// GetCondition returns a condition of the configuration.
func (p *ProviderConfig) GetCondition(ct xpv1.ConditionType) xpv1.Condition {
	return p.Status.GetCondition(ct)
}

// SetUsers satisfies resource.UserCounter.
func (p *ProviderConfig) SetUsers(n int64) { p.Status.Users = n }

// GetUsers satisfies resource.UserCounter.
func (p *ProviderConfig) GetUsers() int64 { return p.Status.Users }

// Settings returns how to reach the favourite cloud.
func (p *ProviderConfig) Settings() fcpv1alpha3.ProviderConfigSpec { return p.Spec }
