// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"path/filepath"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/bowline-dev/bowline/pkg/crd"
)

// An APIServer is the API server of a bowline program, without controllers.
type APIServer struct {
	*Process

	// Config is an administrator's, with any number of requests and without warnings.
	Config *rest.Config
	// Kubeconfig is the path of the same as a file.
	Kubeconfig string
}

// StartAPIServer starts `bowline apiserver` in a folder, and applies the definitions.
func StartAPIServer(ctx context.Context, bowline, dir string, failed func(error), definitions ...*apiextensionsv1.CustomResourceDefinition) (
	*APIServer, error) {
	data := filepath.Join(dir, "data")
	p, err := Start(ctx, Config{
		Args: []string{bowline, "apiserver", "--data-dir", data, "--listen", "127.0.0.1:0"},
		Dir:  dir, Ready: "The API server is ready", Failed: failed, Detached: true,
	})
	if err != nil {
		return nil, err
	}
	s := &APIServer{Process: p, Kubeconfig: filepath.Join(data, "admin.kubeconfig")}
	if s.Config, err = clientcmd.BuildConfigFromFlags("", s.Kubeconfig); err == nil {
		s.Config.QPS, s.Config.WarningHandlerWithContext = -1, rest.NoWarnings{}
		_, err = crd.Apply(ctx, s.Config, definitions...)
	}
	if err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return s, nil
}
