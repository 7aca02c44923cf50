// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/process"
	"github.com/bowline-dev/bowline/pkg/core"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/providers/fcp"
	networkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/network/v1alpha3"
	"github.com/bowline-dev/bowline/providers/fcp/apis/v1alpha3"
	"github.com/bowline-dev/bowline/test/bench/usage"
	"github.com/bowline-dev/bowline/test/inspect"
	"github.com/bowline-dev/bowline/test/plane"
)

// Two processes divide the objects of a provider by their ProviderConfigs. One is killed while objects are created, then each ProviderConfig
// moves to the other process while its objects are changed: nothing is doubled or forgotten.
// BOWLINE_SHARDS_OBJECTS and BOWLINE_SHARDS_REST are how many, and for how many seconds they are polled; `make shards` has 20,000.
func TestShards(t *testing.T) {
	t.Parallel()
	s := newShards(t, int(plane.Setting(t, "BOWLINE_SHARDS_OBJECTS", 60)))
	var creations errgroup.Group
	creations.Go(func() error {
		return s.eachObject(func(n *networkv1alpha3.Network) error { return s.client.Create(t.Context(), n) })
	})
	s.kill(s.random.IntN(len(s.processes)), s.objects/8+s.random.IntN(s.objects/2))
	s.do(creations.Wait())
	s.logf("all %d objects are created", s.objects)
	s.allReady()
	s.judge("created")
	s.rest(time.Duration(plane.Setting(t, "BOWLINE_SHARDS_REST", 0)) * time.Second)
	s.exchange()
	s.change()
	s.allReady()
	s.judge("changed while they moved")
	networks, err := s.cloud.Networks.List(t.Context(), nil)
	if unchanged := slices.IndexFunc(networks, func(n network.Network) bool { return n.Description != description }); err != nil || unchanged >= 0 {
		t.Errorf("%v; not all external resources are changed, such as number %d", err, unchanged)
	}
	s.do(s.eachObject(func(n *networkv1alpha3.Network) error { return s.client.Delete(t.Context(), n) }))
	plane.Eventually(t, stormTime(s.objects), "all are deleted", func(ctx context.Context) error {
		pause(ctx)
		left := &metav1.PartialObjectMetadataList{}
		left.SetGroupVersionKind(networkv1alpha3.NetworkGroupVersionKind)
		err := s.client.List(ctx, left, client.Limit(1))
		if err == nil && len(left.Items) > 0 {
			err = fmt.Errorf("%s is left, with finalizers %v", left.Items[0].Name, left.Items[0].Finalizers)
		}
		return err
	})
	s.objects = 0
	s.judge("deleted")
}

// shards are two ProviderConfigs, and a process for each.
type shards struct {
	run

	objects   int
	bowline   string
	server    *process.APIServer
	client    client.WithWatch
	cloud     *inspect.Project
	processes [2]*process.Process
}

func newShards(t *testing.T, objects int) *shards {
	t.Helper()
	s := &shards{run: run{t: t, random: plane.Random(t), begin: time.Now()}, objects: objects}
	root, err := testkit.Make("build")
	s.do(err)
	s.bowline = filepath.Join(root, "bin", "bowline")
	definitions, err := provider.Definitions(core.Provider(), fcp.Provider())
	s.do(err)
	s.server, err = process.StartAPIServer(t.Context(), s.bowline, t.TempDir(), func(err error) { t.Error(err) }, definitions...)
	s.do(err)
	t.Cleanup(func() { s.stop(s.server.Process) })
	s.client = plane.NewClient(t, s.server.Config)
	cloud, err := inspect.StartCloud(favouritecloud.Config{DataDir: t.TempDir(), Listen: "127.0.0.1:0"})
	s.do(err)
	t.Cleanup(func() {
		if err := cloud.Stop(); err != nil {
			t.Error(err)
		}
	})
	key, err := cloud.NewKey(t.Context(), plane.Project)
	s.do(err)
	s.cloud, err = inspect.NewProject(cloud.URL(), plane.Project, key)
	s.do(err)
	s.do(s.client.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: plane.Namespace, Name: "cloud"}, StringData: map[string]string{"key": key},
	}))
	for i := range s.processes {
		pc := &v1alpha3.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: configName(i), Labels: map[string]string{"shard": configName(i)}}}
		pc.Spec.ProjectID, pc.Spec.Endpoint = plane.Project, cloud.URL()
		pc.Spec.Credentials = xpv1.ProviderCredentials{Source: xpv1.CredentialsSourceSecret,
			SecretRef: &xpv1.SecretKeySelector{Namespace: plane.Namespace, Name: "cloud", Key: "key"}}
		pc.Spec.Limits = &xpv1.CallLimits{DeletionsPerMinute: new(int32(0))}
		s.do(s.client.Create(t.Context(), pc))
		s.start(i)
	}
	return s
}

// description of changed objects.
const description = "changed"

func configName(i int) string { return string(rune('a' + i)) }

// start starts the controllers of a shard. The second one has what has no label, too.
func (s *shards) start(i int) {
	s.t.Helper()
	p, err := process.Start(s.t.Context(), process.Config{
		Args: []string{s.bowline, "controllers", "--kubeconfig", s.server.Kubeconfig, "--leader-elect", "--metrics-listen", "", "--providers", "core,fcp",
			"--watch-label-selector", []string{"shard=a", "shard!=a"}[i]},
		Dir: s.t.TempDir(), Ready: "The controllers work", Detached: true,
	})
	s.do(err)
	s.processes[i] = p
	s.t.Cleanup(func() { s.stop(p) })
}

// kill kills the process of a shard once so many external resources exist, and starts it again.
func (s *shards) kill(i, have int) {
	s.t.Helper()
	plane.Eventually(s.t, stormTime(s.objects), "some are created", func(ctx context.Context) error {
		<-time.After(time.Duration(s.objects) * 100 * time.Microsecond) // a list of many takes long
		networks, err := s.cloud.Networks.List(ctx, nil)
		if err == nil && len(networks) < have {
			err = fmt.Errorf("%d of %d external resources exist", len(networks), have)
		}
		return err
	})
	s.do(s.processes[i].Kill())
	s.logf("process %s is killed when %d external resources exist", configName(i), have)
	s.start(i)
	s.logf("it runs again")
}

func (s *shards) stop(p *process.Process) {
	if s.t.Failed() {
		s.t.Logf("end of its log:\n%s", p.Log())
	}
	if err := p.Stop(); err != nil {
		s.t.Error(err)
	}
}

// eachObject does something with all objects, every second one of each ProviderConfig.
func (s *shards) eachObject(do func(*networkv1alpha3.Network) error) error {
	all := make([]*networkv1alpha3.Network, s.objects)
	for i := range all {
		block := fmt.Sprintf("10.%d.%d.0/24", i/256%256, i%256)
		all[i] = &networkv1alpha3.Network{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("net-%d", i)}}
		all[i].Spec.ForProvider.CIDRBlock = &block
		all[i].Spec.ProviderConfigReference = &xpv1.ProviderConfigReference{Name: configName(i % 2)}
	}
	return each(all, do)
}

func (s *shards) list(ctx context.Context) ([]networkv1alpha3.Network, error) {
	list := &networkv1alpha3.NetworkList{}
	err := s.client.List(ctx, list)
	return list.Items, err
}

func (s *shards) allReady() {
	s.t.Helper()
	begin := time.Now()
	plane.Eventually(s.t, stormTime(s.objects), "all are Ready", func(ctx context.Context) error {
		pause(ctx)
		all, err := s.list(ctx)
		if err != nil {
			return err
		}
		var unsettled []error
		for i := range all {
			if err := testkit.IsSettled(&all[i]); err != nil {
				unsettled = append(unsettled, err)
			}
		}
		if len(unsettled) > 0 {
			s.progress(func() string { return fmt.Sprintf("%d of %d are Ready", len(all)-len(unsettled), len(all)) })
			return unsettled[0]
		}
		return nil
	})
	s.logf("all are Ready %.1f s later", time.Since(begin).Seconds())
}

// judge compares the objects with what exists outside, and logs what each process used.
func (s *shards) judge(what string) {
	s.t.Helper()
	all, err := s.list(s.t.Context())
	s.do(err)
	have, err := s.cloud.Census(s.t.Context())
	s.do(err)
	var objects []types.UID
	for i := range all {
		objects = append(objects, all[i].UID)
	}
	missing, double := inspect.Compare(have["network"], objects)
	s.logf("%s: %d objects, missing=%d superfluous=%d", what, len(all), missing, double)
	if len(all) != s.objects || missing+double > 0 {
		s.t.Errorf("%d objects, want %d, %d without an external resource, and %d external resources too many", len(all), s.objects, missing, double)
	}
	s.usage([2]usage.Usage{})
}

// usage logs what the processes use, and their processor time since a former call.
func (s *shards) usage(before [2]usage.Usage) (now [2]usage.Usage) {
	s.t.Helper()
	for i, p := range s.processes {
		u, err := usage.Read(p.PID())
		s.do(err)
		s.logf("  process %s: %.1f s of a core, %.0f MB resident, %.0f MB anonymous", configName(i), u.CPU-before[i].CPU, u.Resident, u.Anonymous)
		now[i] = u
	}
	return now
}

// rest measures the processes while they poll.
func (s *shards) rest(lasts time.Duration) {
	if lasts == 0 {
		return
	}
	s.logf("at rest for %s:", 2*lasts)
	<-time.After(lasts) // the status of the last ones is on its way, and polls spread
	before := s.usage([2]usage.Usage{})
	<-time.After(lasts)
	s.logf("in the second half:")
	s.usage(before)
}

// exchange moves each ProviderConfig to the other process.
func (s *shards) exchange() {
	s.t.Helper()
	for i := range s.processes {
		pc := &v1alpha3.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: configName(i)}}
		label := fmt.Sprintf(`{"metadata":{"labels":{"shard":%q}}}`, configName(1-i))
		s.do(s.client.Patch(s.t.Context(), pc, client.RawPatch(types.MergePatchType, []byte(label))))
	}
}

// change changes all objects.
func (s *shards) change() {
	s.t.Helper()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"forProvider":{"description":%q}}}`, description))
	s.do(s.eachObject(func(n *networkv1alpha3.Network) error { return s.client.Patch(s.t.Context(), n, patch) }))
	s.logf("all are changed")
}
