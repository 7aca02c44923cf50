// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifests prints what a cluster needs to run the controllers: definitions, roles, and a Deployment.
//
// All of it is derived from the providers, as in `bowline up`, so that a cluster has neither more nor less than one program does.
package manifests

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/plane"
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/manifests"
	"github.com/bowline-dev/bowline/pkg/provider"
)

// NewCRDs makes the command crds.
func NewCRDs(providers []provider.Provider, std command.Streams) *cobra.Command {
	selection := NewSelection(providers)
	cmd := &cobra.Command{
		Use:   "crds",
		Short: "Print the custom resource definitions, for a cluster",
		Long: `Prints, as YAML, the custom resource definitions of the providers, and the admission policies that protect objects from
deletion.

They have a label by which later versions of Bowline know that they may change them. Controllers that run with --install-crds=false need
them in the version that this program prints.`,
		Example: `  bowline crds | kubectl apply --server-side -f -
  bowline crds --providers core,sql | kubectl diff --server-side -f -`,
		Args: command.NoArgs,
		RunE: func(*cobra.Command, []string) error { return printAll(std.Out, definitions, selection.Providers()) },
	}
	selection.AddFlags(cmd.Flags())
	return cmd
}

// NewRBAC makes the command rbac.
func NewRBAC(providers []provider.Provider, std command.Streams) *cobra.Command {
	selection := NewSelection(providers)
	cmd := &cobra.Command{
		Use:   "rbac",
		Short: "Print the roles of the controllers and of people, for a cluster",
		Long: `Prints, as YAML, the service account of the controllers with its rights, and the cluster roles bowline-admin, bowline-edit
and bowline-view. These are aggregated to admin, edit and view of Kubernetes: an editor of a namespace may use claims in it.
Teams created with bowline user may list classes by bowline-browse; bind that role to other users that should.

bowline up applies all of this. A cluster needs it once, and again after an update of Bowline.`,
		Example: `  bowline rbac | kubectl apply --server-side -f -`,
		Args:    command.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return printAll(std.Out, identities, selection.Providers()) },
	}
	selection.AddFlags(cmd.Flags())
	return cmd
}

// New makes the command manifests.
func New(providers []provider.Provider, std command.Streams) *cobra.Command {
	selection, d := NewSelection(providers), deployment{Replicas: 2}
	cmd := &cobra.Command{
		Use:   "manifests --image IMAGE",
		Short: "Print all that a cluster needs to run the controllers",
		Long: `Prints, as YAML, the custom resource definitions (see bowline crds), the roles (see bowline rbac), and a Deployment of the controllers:
replicas that elect a leader, spread over nodes, without rights on the node, and with a budget for disruptions.

Apply the output of a later version to update. To remove Bowline, delete the Deployment first, then the rest, and the definitions only when no
objects are left: deleting a definition deletes its objects, and needs the annotation bowline.dev/allow-deletion=true.`,
		Example: `  bowline manifests --image registry.example.org/bowline:v1 | kubectl apply --server-side -f -`,
		Args:    command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if d.Image == "" {
				return command.Usagef(cmd, "name the image of this program with --image IMAGE")
			}
			if d.Replicas < 1 {
				return command.Usagef(cmd, "--replicas must be at least 1")
			}
			d.Providers = selection.Part()
			return printAll(std.Out, func(from []provider.Provider) ([]*unstructured.Unstructured, error) {
				return concat(from, definitions, identities, func([]provider.Provider) ([]*unstructured.Unstructured, error) { return d.objects() })
			}, selection.Providers())
		},
	}
	cmd.Flags().StringVar(&d.Image, "image", "", "image of this program (required)")
	cmd.Flags().Int32Var(&d.Replicas, "replicas", d.Replicas, "processes, of which one leads and the others stand by")
	selection.AddFlags(cmd.Flags())
	return cmd
}

// A source makes objects for providers.
type source func([]provider.Provider) ([]*unstructured.Unstructured, error)

// definitions are the custom resource definitions and admission policies.
func definitions(from []provider.Provider) (all []*unstructured.Unstructured, err error) {
	for _, p := range from {
		if _, err := p.Definitions(); err != nil {
			return nil, err
		}
		objects, err := crd.Manifests(p.CRDs)
		if err != nil {
			return nil, fmt.Errorf("provider %s: %w", p.Name, err)
		}
		all = append(all, objects...)
	}
	return all, nil
}

// identities are the accounts and roles.
func identities(from []provider.Provider) ([]*unstructured.Unstructured, error) {
	all, err := provider.Definitions(from...)
	if err != nil {
		return nil, err
	}
	return plane.Identities(from, all)
}

func concat(from []provider.Provider, sources ...source) (all []*unstructured.Unstructured, err error) {
	for _, s := range sources {
		objects, err := s(from)
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	return all, nil
}

func printAll(w io.Writer, s source, from []provider.Provider) error {
	objects, err := s(from)
	if err != nil {
		return err
	}
	return manifests.Write(w, objects)
}
