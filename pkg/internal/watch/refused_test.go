// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Refused objects are enqueued by a quota that leaves room for their Secrets, not each time that it counts an object.
func TestQuotaThatLeavesMore(t *testing.T) {
	t.Parallel()
	state := func(spec, hard, used string, more ...corev1.ResourceName) *corev1.ResourceQuota {
		list := func(n string) corev1.ResourceList {
			all := corev1.ResourceList{}
			for _, name := range append(more, "count/secrets") {
				if n != "" {
					all[name] = resource.MustParse(n)
				}
			}
			return all
		}
		return &corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: list(spec)},
			Status: corev1.ResourceQuotaStatus{Hard: list(hard), Used: list(used)}}
	}
	pods := func(used string) *corev1.ResourceQuota {
		q := state("5", "5", "5")
		maps.Copy(q.Status.Hard, corev1.ResourceList{corev1.ResourcePods: resource.MustParse("9")})
		maps.Copy(q.Status.Used, corev1.ResourceList{corev1.ResourcePods: resource.MustParse(used)})
		return q
	}
	for name, tc := range map[string]struct {
		before, after *corev1.ResourceQuota
		more          bool
	}{
		"a Secret is deleted (R270)":                           {state("5", "5", "5"), state("5", "5", "4"), true},
		"a Secret is created (R270)":                           {state("5", "5", "4"), state("5", "5", "5"), false},
		"pods come and go (R270)":                              {pods("9"), pods("2"), false},
		"nothing changed (R270)":                               {state("5", "5", "5"), state("5", "5", "5"), false},
		"the limit is raised, and not in force yet (R270)":     {state("5", "5", "5"), state("6", "5", "5"), false},
		"the limit is raised (R270)":                           {state("6", "5", "5"), state("6", "6", "5"), true},
		"the limit is lowered (R270)":                          {state("4", "5", "4"), state("4", "4", "4"), false},
		"the limit ends (R270)":                                {state("", "5", "5"), state("", "", ""), true},
		"what exists is counted (R270)":                        {state("5", "", ""), state("5", "5", "1"), true},
		"the former name of the limit, which ends, too (R270)": {state("5", "5", "5", "secrets"), state("5", "5", "4", "secrets"), true},
		"the limit is raised while a Secret takes room (R270)": {state("6", "5", "4"), state("6", "6", "5"), false},
		"a limit begins, by which nothing was refused (R270)":  {state("", "", ""), state("5", "", ""), false},
		"a limit is counted that is reached already (R270)":    {state("5", "5", ""), state("5", "5", "9"), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := leavesMore(tc.before, tc.after); got != tc.more {
				t.Errorf("leaves more: %t, want %t", got, tc.more)
			}
		})
	}
}

// open keeps the watches that were opened.
type open struct {
	client.WithWatch
	mu      sync.Mutex
	watches []*apiwatch.FakeWatcher
}

func (o *open) Watch(context.Context, client.ObjectList, ...client.ListOption) (apiwatch.Interface, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := apiwatch.NewFake()
	o.watches = append(o.watches, w)
	return w, nil
}

func (o *open) Get(_ context.Context, _ client.ObjectKey, secret client.Object, _ ...client.GetOption) error {
	secret.SetResourceVersion("1")
	return nil
}

// However many Secrets are in the way of others, few requests stay open; the next one takes the place of one that ended.
func TestWatchesOfSecretsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api, woken := &open{}, 0
		s := Secrets{ctx: t.Context(), client: api, waiting: map[awaited]map[any]func(){}}
		await := func(n int) {
			secret := types.NamespacedName{Namespace: "team", Name: fmt.Sprint(n)}
			if n >= mostSecrets {
				secret.Namespace = fmt.Sprint(n % 10)
			}
			for range 2 { // once, however often an object asks
				s.Await(secret, AnyVersion, n, func() { woken++ })
			}
		}
		for n := range 3 * mostSecrets {
			await(n)
			if synctest.Wait(); n == mostSecrets-1 && len(api.watches) != mostOfANamespace {
				t.Errorf("%d watches of one namespace are open, want %d", len(api.watches), mostOfANamespace)
			}
		}
		if n := len(api.watches); n != mostSecrets {
			t.Errorf("%d watches are open, want %d", n, mostSecrets)
		}
		api.watches[0].Delete(&corev1.Secret{})
		synctest.Wait()
		await(1000)
		await(1001)
		synctest.Wait()
		if n := len(api.watches); n != mostSecrets+1 || woken != 1 {
			t.Errorf("%d watches were opened, want %d; %d objects were woken, want 1", n, mostSecrets+1, woken)
		}
		for _, w := range api.watches {
			w.Stop()
		}
	})
}
