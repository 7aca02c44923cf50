// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/terraform/warnings"
)

// Reasons returns an explanation of every reason that only TerraformProviders and the objects of their kinds show, in conditions or in events.
func Reasons() []event.Explanation {
	return []event.Explanation{
		event.Explain(event.Reason(ReasonServedInPart), "A binary of the provider is in use, and serves the kinds in status.kinds. Something of the spec has no "+
			"effect, or waits.", "Do what the message says."),
		event.Explain(event.Reason(ReasonKeepsEnding), "A process of the provider ended by itself several times in a row. It is started again after a pause "+
			"of up to a minute; objects that use it wait.",
			"Read the log of the controllers, and look at the memory of their machine. If the provider "+
				"crashes, report it to its authors, or set spec.version to another version."),
		event.Explain(event.Reason(reasonSteady), "Processes of the provider that kept ending by themselves run again.", ""),
		event.Explain(warnings.Reason, "The provider warns about the object or the ProviderConfig, which works all the same: of an argument that it "+
			"has deprecated, for example.", "Read the message, which is the provider's, and change the arguments that it names."),
	}
}
