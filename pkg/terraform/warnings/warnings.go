// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package warnings reports what Terraform providers warn of as events: of the object that a warning is about, or of its ProviderConfig, once for
// each generation, and without secrets.
package warnings

import (
	"context"
	"errors"
	"sync"

	kube "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	api "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/clients/limits"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/pkg/terraform/plugin"
	"github.com/bowline-dev/bowline/pkg/terraform/processes"
)

// Reason is that of events with a warning of a provider.
const Reason event.Reason = "ProviderWarning"

// mostWarnings are reported of one generation of an object.
const mostWarnings = 10

// mostWarned is of how many objects, and of how many configurations, a Reporter knows what it reported. It forgets those first that had no
// warning for the longest time, as those that are gone, however they went.
const mostWarned = 10000

// warned are the warnings that were reported of objects, or of configurations: each once for a generation of its object.
type warned[K, V comparable] struct {
	mu   sync.Mutex
	last *lru.Cache // of *reported[V] by K
}

// reported are the warnings of one generation.
type reported[V comparable] struct {
	generation V
	texts      map[string]bool
}

func newWarned[K, V comparable](most int) *warned[K, V] { return &warned[K, V]{last: lru.New(most)} }

// news is true for a text that was not reported yet.
func (w *warned[K, V]) news(key K, generation V, text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	found, _ := w.last.Get(key)
	of, ok := found.(*reported[V])
	if !ok || of.generation != generation {
		of = &reported[V]{generation, map[string]bool{}}
		w.last.Add(key, of)
	}
	if of.texts[text] || len(of.texts) >= mostWarnings {
		return false
	}
	of.texts[text] = true
	return true
}

// A Reporter writes warnings of a provider as events.
type Reporter struct {
	objects  *warned[types.UID, int64]
	configs  *warned[limits.Key, limits.Version]
	reader   api.Client
	recorder event.Recorder // nil for plans, which write nothing
}

// NewReporter returns a reporter of all kinds of a provider. That of plans writes nothing.
func NewReporter(s *provider.Setup, plans bool) *Reporter {
	mgr := s.Manager()
	r := &Reporter{reader: unstructured.ClientOf(mgr), objects: newWarned[types.UID, int64](mostWarned),
		configs: newWarned[limits.Key, limits.Version](mostWarned)}
	if !plans {
		r.recorder = event.NewAPIRecorder(mgr.GetClient(), mgr.GetAPIReader(), "terraform")
	}
	return r
}

// emit writes an event, which is worth no error.
func (r *Reporter) emit(ctx context.Context, about api.Object, text string) {
	if r.recorder != nil {
		_ = r.recorder.Event(ctx, about, event.Warning(Reason, errors.New(text)))
	}
}

// Configured reports the warnings of a provider about its configuration.
func (r *Reporter) Configured(ctx context.Context, p *processes.Process, secrets [][]byte) {
	var config api.Object
	for _, d := range p.Configured {
		text := safe(d, secrets)
		if !r.configs.news(p.Config, p.Version, text) {
			continue
		}
		if config == nil {
			config = unstructured.NewProviderConfig(kube.GroupVersionKind{Group: p.Config.Group, Version: kinds.Version, Kind: p.Config.Kind})
			if err := r.reader.Get(ctx, types.NamespacedName{Namespace: p.Config.Namespace, Name: p.Config.Name}, config); err != nil {
				return // it is being deleted
			}
		}
		r.emit(ctx, config, text)
	}
}

// safe is the text of a warning without secrets.
func safe(d plugin.Diagnostic, secrets [][]byte) string {
	return failure.Redact(errors.New(d.String()), secrets...).Error()
}

// Of reports what a provider warned of during a pass over an object. secrets returns those that the texts may repeat.
func (r *Reporter) Of(ctx context.Context, object api.Object, p *processes.Process, secrets func() [][]byte) {
	all := p.Warnings()
	if len(all) == 0 {
		return
	}
	hidden := secrets()
	for _, d := range all {
		if text := safe(d, hidden); r.objects.news(object.GetUID(), object.GetGeneration(), text) {
			r.emit(ctx, object, text)
		}
	}
}
