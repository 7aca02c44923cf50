// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/clients/credentials"
)

// A provider has one reader, which it uses in every Connect.
func Example() {
	connect := func(ctx context.Context, mgr manager.Manager, spec xpv1.ProviderSpec) (credentials.Credential, error) {
		secrets, err := credentials.NewSecrets(mgr, credentials.WithFolders("/var/run/cloud-credentials"))
		if err != nil {
			return credentials.Credential{}, err
		}
		secrets.OnChange(func(types.NamespacedName) { /* enqueue the users of the ProviderConfigs that refer to it */ })
		return secrets.Extract(ctx, "", spec.Credentials)
	}
	_ = connect
}
