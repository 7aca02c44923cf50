// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/pkg/crd"
)

func newMigrate(std command.Streams, folder *datadir.Flag) *cobra.Command {
	var access datadir.Access
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Store all objects in the versions of the installed definitions",
		Long: `When a new version of a kind is stored, objects that nobody changes stay stored in the former version, and no later definition can drop
that one. This writes all such objects again, unchanged, and removes former versions from status.storedVersions of Bowline's definitions.
Run it after an upgrade that bowline upgrade check said it for. It can be interrupted and repeated at any time, while the controllers run.

It needs the right to update all objects of these kinds, and customresourcedefinitions/status.`,
		Example: `  bowline upgrade migrate
  bowline upgrade migrate --kubeconfig ~/.kube/config`,
		Args: command.NoArgs,
	}
	access.AddFlags(cmd.Flags())
	output := command.NewOutput(cmd, "a line for each definition", "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, _, err := folder.Connect(access)
		if err != nil {
			return err
		}
		s, err := newServer(cfg)
		if err != nil {
			return err
		}
		done, err := s.migrate(cmd.Context())
		if printErr := output.Print(std.Out, done, func(w io.Writer, _ string) error { return printMigrations(w, done) }); err == nil {
			err = printErr
		}
		return err
	}
	return cmd
}

// A Migration is what was done for one definition. Its keys in the output of -o json are an interface.
type Migration struct {
	Definition string   `json:"definition"`
	Version    string   `json:"version"` // in which all objects are stored now
	Former     []string `json:"former"`  // versions in which none is
	Written    int      `json:"written"` // objects
}

func printMigrations(w io.Writer, all []Migration) error {
	for _, m := range all {
		fmt.Fprintf(w, "%s: %d objects written, all are stored in version %s, none in %s\n", m.Definition, m.Written, m.Version,
			strings.Join(m.Former, ", "))
	}
	if len(all) == 0 {
		fmt.Fprintln(w, "All objects are stored in the versions of their definitions.")
	}
	return nil
}

// migrate returns what it did, after an error, too.
func (s *server) migrate(ctx context.Context) ([]Migration, error) {
	done := []Migration{} // in JSON, none is an empty list
	all, err := s.definitions.List(ctx, metav1.ListOptions{LabelSelector: crd.LabelManagedBy + "=" + crd.ManagedBy})
	if err != nil {
		return done, fmt.Errorf("listing definitions: %w", err)
	}
	for i := range all.Items {
		d := &all.Items[i]
		now := storageVersion(d)
		former := slices.DeleteFunc(slices.Clone(d.Status.StoredVersions), func(v string) bool { return v == now })
		if len(former) == 0 {
			continue
		}
		written, err := s.rewrite(ctx, d, now)
		if err != nil {
			return done, err
		}
		d.Status.StoredVersions = []string{now}
		if _, err := s.definitions.UpdateStatus(ctx, d, metav1.UpdateOptions{}); err != nil { // also refused if the stored version changed meanwhile
			return done, fmt.Errorf("removing %s from the stored versions of definition %s (to be repeated): %w", strings.Join(former, ", "), d.Name, err)
		}
		done = append(done, Migration{d.Name, now, former, written})
	}
	return done, nil
}

// rewrite stores all objects of a definition again, as they are. Those that another one changes or deletes meanwhile need it no longer.
func (s *server) rewrite(ctx context.Context, d *apiextensionsv1.CustomResourceDefinition, version string) (written int, err error) {
	objects := s.objects.Resource(schema.GroupVersionResource{Group: d.Spec.Group, Version: version, Resource: d.Spec.Names.Plural})
	err = eachOf(ctx, objects, func(o *unstructured.Unstructured) error {
		_, err := objects.Namespace(o.GetNamespace()).Update(ctx, o, metav1.UpdateOptions{})
		switch {
		case err == nil:
			written++
		case !apierrors.IsConflict(err) && !apierrors.IsNotFound(err):
			return fmt.Errorf("writing %s: %w", nameOf(o), err)
		}
		return nil
	})
	if err != nil {
		return written, fmt.Errorf("storing the objects of %s in version %s: %w", d.Name, version, err)
	}
	return written, nil
}

func storageVersion(d *apiextensionsv1.CustomResourceDefinition) string {
	for _, v := range d.Spec.Versions {
		if v.Storage {
			return v.Name
		}
	}
	return ""
}
