// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kube "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/terraform/external"
	"github.com/bowline-dev/bowline/pkg/terraform/journal"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/pkg/terraform/plugin"
	"github.com/bowline-dev/bowline/pkg/terraform/processes"
	"github.com/bowline-dev/bowline/providers/terraform/apis/v1alpha1"
)

// served is what this process serves of one TerraformProvider.
type served struct {
	source *processes.Source
	bridge *external.Bridge
	setup  *provider.Setup
	serves bool              // all kinds that there were, if only to say that there is no binary
	binary *processes.Binary // that processes are started from; nil for none
	of     string            // what status was made of
	status v1alpha1.TerraformProviderStatus
	wrong  error              // about parts of the spec without an effect, beside which the others are served
	failed map[string]attempt // the last one to read the schemas of a binary, by its path; none after one that succeeded
}

// An attempt is one that failed.
type attempt struct {
	of    string // as in served
	err   error
	pause time.Duration
	next  time.Time // when the pause is over
}

// serve has this process serve what a TerraformProvider declares, and returns what there is then: a status without a binary if none is in use.
// What it served before it goes on to serve where it cannot serve what is declared now.
func (r *Reconciler) serve(ctx context.Context, w wish) (v1alpha1.TerraformProviderStatus, error) {
	name := w.of.Name
	now := r.serving[name]
	if now == nil {
		source := &processes.Source{Journal: r.journal, Leaves: journal.Outlives(), Metrics: r.metrics.Terraform(name),
			Log:     r.setup.Manager().GetLogger().WithValues("terraformprovider", name),
			Changed: func() { r.changed.enqueue(name) }}
		now = &served{source: source, bridge: external.NewBridge(name, source, r.store, r.setup.Manager().GetScheme()), failed: map[string]attempt{}}
		r.serving[name] = now
	}
	found, err := r.find(w.of.Spec, r.downloads)
	if err == nil {
		err = r.serveBinary(ctx, now, w, found)
	}
	if now.binary == nil && len(w.former) > 0 {
		err = errors.Join(err, r.resume(ctx, now, w, found))
	}
	if now.binary == nil {
		return v1alpha1.TerraformProviderStatus{}, err
	}
	return now.status, err
}

// resume serves what was served before, by former controllers for example, while no binary is in use and the one that was found cannot serve
// all of it: by the version that was used last, else as far as what was found can; else without a process, so that objects say that nothing
// keeps them as declared. Only its own trouble is returned: that of the binary that was found is known.
func (r *Reconciler) resume(ctx context.Context, now *served, w wish, found binary) error {
	if last, ok := r.lastUsed(w.of, found); ok {
		_ = r.serveBinary(ctx, now, w, last) // if it cannot, the next one may
	}
	if now.binary == nil && found.path != "" {
		w.partly = true
		_ = r.serveBinary(ctx, now, w, found) // if it cannot, that is known
	}
	if now.binary != nil || now.serves {
		return nil
	}
	return r.serveInstalled(ctx, w.of, now)
}

// serveBinary serves a wish by a binary. Its error is about all that has no effect, also if others have one.
func (r *Reconciler) serveBinary(ctx context.Context, now *served, w wish, found binary) error {
	if err := check(found.path, w.of.Spec.Checksums, r.hashes.of); err != nil {
		if found.path == now.status.Binary {
			now.use(nil) // else its processes would be started again from what nobody allows
		}
		return err
	}
	info, err := os.Stat(found.path)
	if err != nil {
		return err
	}
	if of := w.with(found, info); now.of != of {
		if err := r.change(ctx, now, w, found, of); err != nil {
			return err
		}
	}
	return errors.Join(now.wrong, w.unfinished(now.binary))
}

// with identifies a wish with the binary for it.
func (w wish) with(found binary, info fs.FileInfo) string {
	of := fmt.Sprint(found, info.ModTime(), info.Size(), w.types())
	for _, settings := range w.of.Spec.TypeSettings {
		of += fmt.Sprint(settings.Type, typeSettings(&settings))
	}
	return of
}

// change serves a wish by a binary instead of what is served now.
func (r *Reconciler) change(ctx context.Context, now *served, w wish, found binary, of string) error {
	schemas, protocol, err := now.read(ctx, of, found.path, w.types())
	if err != nil {
		return err
	}
	wrong := errors.Join(checkTypes(w.of.Spec.Types, schemas), checkSettings(w.of, schemas))
	s, err := r.selectOf(ctx, now, w, schemas)
	if err != nil {
		return err
	}
	if now.loses(s, w.partly) {
		return errors.Join(wrong, s.wrong)
	}
	failed, err := r.install(ctx, now, w, schemas, &s)
	if err != nil {
		return errors.Join(wrong, s.wrong, err)
	}
	if failed != nil {
		of = "" // it is tried again
	}
	now.use(&processes.Binary{Path: found.path, Schemas: schemas})
	now.of, now.wrong = of, errors.Join(wrong, s.wrong, failed)
	now.status = v1alpha1.TerraformProviderStatus{Binary: found.path, Version: found.version, Protocol: protocol, Available: len(schemas.Types), Kinds: s.kinds()}
	return nil
}

// use has processes start from a binary, or none.
func (s *served) use(binary *processes.Binary) {
	if binary != nil || s.binary != nil {
		s.source.Use(binary)
	}
	s.binary, s.of = binary, ""
}

// abandon ends the processes of a TerraformProvider that is gone. Objects that exist nevertheless say so.
func (r *Reconciler) abandon(name string) {
	if now := r.serving[name]; now != nil {
		now.use(nil)
		now.source.Metrics.Forget()
	}
}

// serveInstalled serves the kinds that the TerraformProvider had before this process started, as the API server has them.
func (r *Reconciler) serveInstalled(ctx context.Context, tp *v1alpha1.TerraformProvider, now *served) error {
	rows, definitions, err := r.asInstalled(ctx, now, tp.Status.Kinds)
	if err != nil {
		return err
	}
	configs, err := r.installed(ctx, kinds.ConfigDefinitionNames(tp.Name)...)
	if err != nil {
		return err
	}
	if err := r.grant(ctx, tp.Name, definitions); err != nil {
		return err
	}
	return r.begin(now, now.bridge.ProviderOf(configs), rows, definitions)
}

// asInstalled returns kinds as the API server has them, without those whose definitions somebody deleted, with the objects.
func (r *Reconciler) asInstalled(ctx context.Context, now *served, all []v1alpha1.ServedKind) (rows []provider.Kind,
	definitions []*apiextensionsv1.CustomResourceDefinition, err error) {
	for _, kind := range all {
		both, err := r.installed(ctx, kinds.DefinitionNames(now.bridge.Name, kind.Type)...)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		rows, definitions = append(rows, now.bridge.ServeInstalled(kind.Type, both)...), append(definitions, both...)
	}
	return rows, definitions, nil
}

// install applies the definitions, and has the controllers serve their kinds. Where a wish may be served in part failed is about definitions
// that the API server does not take: those that were served before are served as they are installed.
func (r *Reconciler) install(ctx context.Context, now *served, w wish, schemas *plugin.Schemas, s *selection) (failed, err error) {
	p, err := now.bridge.Provider(schemas)
	if err != nil {
		return nil, err
	}
	_, definitions := s.all()
	lostRows, lost, err := r.asInstalled(ctx, now, s.lost) // so that their objects say so
	if err != nil {
		return nil, err
	}
	if err := r.grant(ctx, w.of.Name, slices.Concat(definitions, lost)); err != nil {
		return nil, err
	}
	report, failed := crd.Apply(ctx, r.setup.Manager().GetConfig(), append(p.Defined, definitions...)...)
	if failed == nil && len(report.Skipped) > 0 {
		failed = errors.New(report.String())
	}
	if failed != nil && !w.partly {
		return nil, failed
	}
	if failed != nil {
		s.keep(w.former)
	}
	rows, definitions := s.all()
	return failed, r.begin(now, p, append(rows, lostRows...), append(definitions, lost...))
}

// begin has the controllers serve kinds, with those of the configurations before the first.
func (r *Reconciler) begin(now *served, p provider.Provider, rows []provider.Kind, definitions []*apiextensionsv1.CustomResourceDefinition) (err error) {
	if now.setup == nil {
		if now.setup, err = p.Setup(r.setup.Manager(), r.setup.Options()...); err != nil {
			return err
		}
	}
	err = now.setup.Serve(rows, definitions)
	now.serves = now.serves || err == nil
	return err
}

// installed returns definitions by their names, as the API server has them.
func (r *Reconciler) installed(ctx context.Context, names ...string) (all []*apiextensionsv1.CustomResourceDefinition, err error) {
	for _, name := range names {
		read, d := &kube.Unstructured{}, &apiextensionsv1.CustomResourceDefinition{}
		read.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		if err := r.live.Get(ctx, client.ObjectKey{Name: name}, read); err != nil {
			return nil, fmt.Errorf("reading the definition %s: %w", name, err)
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(read.Object, d); err != nil {
			return nil, fmt.Errorf("decoding the definition %s: %w", name, err)
		}
		all = append(all, d)
	}
	return all, nil
}

// read is read, which it does not do again for what failed before the pause after that is over.
func (s *served) read(ctx context.Context, of, binary string, patterns []string) (*plugin.Schemas, int, error) {
	last := s.failed[binary]
	same := last.of == of
	if same && time.Now().Before(last.next) {
		return nil, 0, last.err
	}
	schemas, protocol, err := read(ctx, binary, patterns)
	if err == nil {
		delete(s.failed, binary)
		return schemas, protocol, nil
	}
	pause := lookInterval
	if same {
		pause = min(2*last.pause, mostPause)
	}
	s.failed[binary] = attempt{of: of, err: err, pause: pause, next: time.Now().Add(pause)}
	return nil, 0, err
}

// read asks a process of the provider for the schemas of the types that some patterns match.
func read(ctx context.Context, binary string, patterns []string) (*plugin.Schemas, int, error) {
	process, err := plugin.Start(ctx, plugin.Command{Path: binary, Timeout: startTimeout})
	if err != nil {
		return nil, 0, err
	}
	defer process.Close()
	defer debug.FreeOSMemory() // the schemas of a large provider are more than all that this process needs otherwise
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	schemas, err := process.Schemas(ctx, func(name string) bool { return matches(patterns, name) })
	if err != nil {
		return nil, 0, fmt.Errorf("reading the schemas of the provider: %w", err)
	}
	return schemas, process.Version, nil
}
