// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"github.com/bowline-dev/bowline/pkg/core"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/providers/fcp"
	"github.com/bowline-dev/bowline/providers/sql"
)

// providers are the built-in ones. To add one, add a line.
func providers() []provider.Provider {
	return []provider.Provider{
		core.Provider(),
		fcp.Provider(),
		sql.Provider(),
	}
}
