// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/kubectl/pkg/cmd/apply"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
)

// applied returns the managed resources that kubectl apply would make of a manifest, as the API server would store them.
func applied(at getter, file string, cluster *inspect.Cluster, std command.Streams) ([]*unstructured.Unstructured, error) {
	flags := apply.NewApplyFlags(genericiooptions.IOStreams{In: std.In, Out: io.Discard, ErrOut: io.Discard})
	cmd := &cobra.Command{}
	flags.AddFlags(cmd)
	if err := errors.Join(cmd.Flags().Set("filename", file), cmd.Flags().Set("dry-run", "server")); err != nil {
		return nil, err
	}
	o, err := flags.ToOptions(cmdutil.NewFactory(at), cmd, "bowline kubectl", nil)
	if err != nil {
		return nil, err
	}
	infos, err := o.GetObjects()
	if err != nil {
		return nil, err
	}
	var managed []*resource.Info
	for _, info := range infos {
		if kind, ok := cluster.Kind(info.Mapping.GroupVersionKind.GroupKind()); ok && kind.Role() == inspect.RoleManaged {
			managed = append(managed, info)
		}
	}
	if len(managed) == 0 {
		return nil, errors.New("the manifest has no managed resource")
	}
	o.SetObjects(managed)
	if err := o.Run(); err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for _, info := range managed {
		if object, ok := info.Object.(*unstructured.Unstructured); ok {
			all = append(all, object)
		}
	}
	return all, nil
}

// A getter has kubectl's code use the API server that flags name.
type getter struct {
	cfg    *rest.Config
	loader clientcmd.ClientConfig
}

// newGetter returns a getter whose namespace is enforced, if it is not empty.
func newGetter(cfg *rest.Config, folder *datadir.Flag, access datadir.Access, namespace string) (getter, error) {
	loader, err := folder.Config(access)
	if err != nil || namespace == "" {
		return getter{cfg, loader}, err
	}
	raw, err := loader.RawConfig()
	if err != nil {
		return getter{}, fmt.Errorf("reading kubeconfig: %w", err)
	}
	overrides := &clientcmd.ConfigOverrides{CurrentContext: access.Context, Context: api.Context{Namespace: namespace}}
	return getter{cfg, clientcmd.NewDefaultClientConfig(raw, overrides)}, nil
}

func (g getter) ToRESTConfig() (*rest.Config, error) { return g.cfg, nil }

func (g getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	client, err := discovery.NewDiscoveryClientForConfig(g.cfg)
	if err != nil {
		return nil, err
	}
	return memory.NewMemCacheClient(client), nil
}

func (g getter) ToRESTMapper() (apimeta.RESTMapper, error) {
	client, err := g.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	return restmapper.NewDeferredDiscoveryRESTMapper(client), nil
}

func (g getter) ToRawKubeConfigLoader() clientcmd.ClientConfig { return g.loader }
