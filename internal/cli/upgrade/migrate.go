// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/pkg/crd"
)

const (
	writers       = 8    // objects that are stored at once
	progressEvery = 1000 // objects
	shownErrors   = 10   // of a definition
)

func newMigrate(std command.Streams, folder *datadir.Flag) *cobra.Command {
	var access datadir.Access
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Store all objects in the versions of the installed definitions",
		Long: `When a new version of a kind is stored, objects that nobody changes stay stored in the former version, and no later definition can drop
that one. This stores all such objects again, unchanged, and removes former versions from status.storedVersions of Bowline's definitions.
Run it after an upgrade if bowline upgrade check says so. It waits until every API server has to know the definition (--settle), since one that
does not would store an object in the former version again. It can be interrupted and repeated at any time, while the controllers run.

It needs the rights to list and patch all objects of these kinds, and to update customresourcedefinitions/status.`,
		Example: `  bowline upgrade migrate
  bowline upgrade migrate --kubeconfig ~/.kube/config`,
		Args: command.NoArgs,
	}
	access.AddFlags(cmd.Flags())
	settle := cmd.Flags().Duration("settle", time.Minute, "how long after the change of a definition an API server may not know it")
	output := command.NewOutput(cmd, "a line for each definition", "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, _, err := folder.Connect(access)
		if err != nil {
			return err
		}
		if *settle < 0 {
			return command.Usagef(cmd, "--settle must not be negative")
		}
		s, err := newServer(cfg)
		if err != nil {
			return err
		}
		done, err := s.migrate(cmd.Context(), *settle, std.Err)
		if err == nil || len(done) > 0 {
			err = errors.Join(output.Print(std.Out, done, func(w io.Writer, _ string) error { return printMigrations(w, done) }), err)
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

// migrate returns what it did, after an error, too. It goes on with the next definition after an error of one.
func (s *server) migrate(ctx context.Context, settle time.Duration, progress io.Writer) ([]Migration, error) {
	done := []Migration{} // in JSON, none is an empty list
	all, err := s.definitions.List(ctx, metav1.ListOptions{LabelSelector: crd.LabelManagedBy + "=" + crd.ManagedBy})
	if err != nil {
		return done, fmt.Errorf("listing definitions, which an administrator may: %w", err)
	}
	var failed []error
	for i := range all.Items {
		d := &all.Items[i]
		now := storageVersion(d)
		former := slices.DeleteFunc(slices.Clone(d.Status.StoredVersions), func(v string) bool { return v == now })
		if len(former) == 0 {
			continue
		}
		if err := awaitSettled(ctx, d, settle, progress); err != nil {
			return done, errors.Join(append(failed, err)...)
		}
		written, err := s.storeAgain(ctx, d, now, progress)
		if err == nil {
			d.Status.StoredVersions = []string{now}
			_, err = s.definitions.UpdateStatus(ctx, d, metav1.UpdateOptions{}) // refused, too, if the definition changed meanwhile
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s keeps version %s (%d objects are stored again; repeat this once the cause is gone): %w",
				d.Name, strings.Join(former, ", "), written, err))
			continue
		}
		done = append(done, Migration{d.Name, now, former, written})
	}
	return done, errors.Join(failed...)
}

// awaitSettled waits until a time after the last change of a definition.
func awaitSettled(ctx context.Context, d *apiextensionsv1.CustomResourceDefinition, settle time.Duration, progress io.Writer) error {
	changed := d.CreationTimestamp.Time
	for _, by := range d.ManagedFields {
		if by.Subresource == "" && by.Time != nil && by.Time.After(changed) {
			changed = by.Time.Time
		}
	}
	left := time.Until(changed.Add(settle))
	if left <= 0 {
		return nil
	}
	fmt.Fprintf(progress, "%s: waiting for %s, since it was changed a moment ago\n", d.Name, left.Round(time.Second))
	select {
	case <-time.After(left):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// storeAgain stores all objects of a definition again, as they are: a patch without a change is written if the stored version is another.
func (s *server) storeAgain(ctx context.Context, d *apiextensionsv1.CustomResourceDefinition, version string, progress io.Writer) (written int, err error) {
	objects := s.metadata.Resource(schema.GroupVersionResource{Group: d.Spec.Group, Version: version, Resource: d.Spec.Names.Plural})
	all, err := objects.List(ctx, metav1.ListOptions{}) // at once: names take little memory, and a list in pages expires after minutes
	if err != nil {
		return 0, fmt.Errorf("listing objects: %w", err)
	}
	var mu sync.Mutex
	var refused []error
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(writers)
	for i := range all.Items {
		o := &all.Items[i]
		work.Go(func() error {
			_, err := objects.Namespace(o.Namespace).Patch(ctx, o.Name, types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case apierrors.IsNotFound(err): // deleted since
			case err != nil:
				refused = append(refused, fmt.Errorf("storing %s: %w", inspect.Path(o.Namespace, o.Name), err))
			default:
				if written++; written%progressEvery == 0 {
					fmt.Fprintf(progress, "%s: %d of %d objects ...\n", d.Name, written, len(all.Items))
				}
			}
			return ctx.Err()
		})
	}
	err = work.Wait()
	return written, errors.Join(command.JoinFirst(shownErrors, refused), err)
}

func storageVersion(d *apiextensionsv1.CustomResourceDefinition) string {
	for _, v := range d.Spec.Versions {
		if v.Storage {
			return v.Name
		}
	}
	return ""
}
