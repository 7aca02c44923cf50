// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	databasev1alpha1 "github.com/bowline-dev/bowline/apis/database/v1alpha1"
	"github.com/bowline-dev/bowline/test/inspect"
	"github.com/bowline-dev/bowline/test/plane"
)

// The classes of the crowd, by the label that claims ask for.
const (
	ownServer  = "own"    // a server of the cloud for each claim
	sharedRoom = "shared" // a database of the server that all share
	smallRoom  = "small"  // such a one, with settings of its own
)

// vault is the namespace of the classes' connection Secrets, and team that of the claims.
const vault, team = "vault", "team"

// Many claims at once, over two providers and three classes, and kills of the whole process: each claim is bound to one managed
// resource and the other way round, each of these has one database, and Secrets are the same on both sides and open it.
// BOWLINE_CLAIMS_SERVERS, BOWLINE_CLAIMS_DATABASES and BOWLINE_CLAIMS_KILLS are its size; `make claims-storm` has five hundred
// claims and five kills. Some more are deleted before they have anything, or shortly after. At last all claims are deleted, with
// one kill more, and nothing is left.
func TestClaims_N11_R268(t *testing.T) {
	t.Parallel()
	c := &crowd{
		run:       newRun(t),
		servers:   int(plane.Setting(t, "BOWLINE_CLAIMS_SERVERS", 2)),
		databases: int(plane.Setting(t, "BOWLINE_CLAIMS_DATABASES", 28)),
		kills:     int(plane.Setting(t, "BOWLINE_CLAIMS_KILLS", 2)),
	}
	c.cloud = c.p.ConnectEverywhere(t)
	c.p.Share(t, "max_connections=50")
	c.prepare()
	c.begin = time.Now()
	created, regretted := make(chan error, 1), make(chan error, 1)
	go func() { regretted <- c.regret() }()
	go func() { created <- c.createAll() }() // the first kill falls into it, the others are spread over what follows
	for i := range c.kills {
		c.p.Eventually(t, stormTime(len(c.all)), "it is time for the next kill", func(ctx context.Context) error {
			return c.settled(ctx, func(s sight) bool { return s.bound >= i*len(c.all)/c.kills })
		})
		<-time.After(c.uptime())
		c.kill()
	}
	c.do(errors.Join(<-created, <-regretted))
	c.p.Eventually(t, stormTime(len(c.all)), "all claims are bound", c.allBound)
	c.verdict.took = time.Since(c.begin)
	c.judge()
	c.leave()
	fmt.Fprintln(t.Output(), c.verdict)
	if want := (verdict{bound: len(c.all), managed: len(c.all), databases: len(c.all), secrets: len(c.all)}); c.verdict.found() != want {
		t.Error("the crowd left damage")
	}
}

// A crowd is claims that come at once.
type crowd struct {
	run

	cloud                     *inspect.Project
	servers, databases, kills int
	all                       []*databasev1alpha1.PostgreSQLInstance // as they are created
	verdict                   verdict
}

// A verdict is the result of a run.
type verdict struct {
	bound, managed, databases int
	doubled                   int // managed resources beside one for each claim
	orphans                   int // managed resources of no claim, databases of no managed resource, Secrets of neither
	secrets                   int // that are the same on both sides and open the database
	left                      int // after all claims were deleted

	claims, kills int
	took          time.Duration
}

// found is what was counted.
func (v verdict) found() verdict {
	v.claims, v.kills, v.took = 0, 0, 0
	return v
}

func (v verdict) String() string {
	return fmt.Sprintf("claims: %d of %d bound, managed=%d databases=%d doubled=%d orphans=%d secrets=%d/%d left=%d, %d kills, %.0f s",
		v.bound, v.claims, v.managed, v.databases, v.doubled, v.orphans, v.secrets, v.claims, v.left, v.kills, v.took.Seconds())
}

// prepare creates namespaces and classes, and prepares the claims.
func (c *crowd) prepare() {
	c.t.Helper()
	small := plane.TenantClass(smallRoom, vault, map[string]string{"room": smallRoom})
	small.SpecTemplate.ForProvider.Settings = map[string]string{"work_mem": "1MB"}
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: vault}}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}},
		plane.FavouriteClass(ownServer, vault, map[string]string{"room": ownServer}),
		plane.TenantClass(sharedRoom, vault, map[string]string{"room": sharedRoom}), small,
	} {
		c.do(c.p.Client.Create(c.t.Context(), o))
	}
	for i := range c.servers + c.databases {
		room := ownServer
		if i >= c.servers {
			room = []string{sharedRoom, smallRoom}[i%2]
		}
		claim := &databasev1alpha1.PostgreSQLInstance{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "db-" + strconv.Itoa(i)}}
		claim.Spec.ClassSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"room": room}}
		claim.Spec.WriteConnectionSecretToReference = &xpv1.LocalSecretReference{Name: claim.Name}
		c.all = append(c.all, claim)
	}
	c.random.Shuffle(len(c.all), func(i, j int) { c.all[i], c.all[j] = c.all[j], c.all[i] })
	c.verdict.claims = len(c.all)
}

// regret has one claim for ten others that its team deletes again before long, one after the other: they leave nothing.
func (c *crowd) regret() error {
	for i, like := range c.all[:len(c.all)/10] {
		claim := like.DeepCopy()
		claim.Name, claim.Spec.WriteConnectionSecretToReference.Name = "regretted-"+like.Name, "regretted-"+like.Name
		err := c.insist(func(ctx context.Context) error { return c.p.Client.Create(ctx, claim.DeepCopy()) }, apierrors.IsAlreadyExists)
		if err != nil {
			return err
		}
		<-time.After(time.Duration(i%10) * 100 * time.Millisecond)
		if err := c.insist(func(ctx context.Context) error { return c.p.Client.Delete(ctx, claim.DeepCopy()) }, isNotFound); err != nil {
			return err
		}
	}
	return nil
}

func (c *crowd) createAll() error {
	return each(c.all, func(claim *databasev1alpha1.PostgreSQLInstance) error {
		return c.insist(func(ctx context.Context) error { return c.p.Client.Create(ctx, claim.DeepCopy()) }, apierrors.IsAlreadyExists)
	})
}

// uptime is how long the process runs until it is killed: short enough that a small crowd is not done.
func (c *crowd) uptime() time.Duration {
	return time.Duration(c.random.Int64N(int64(min(stormLife, time.Second/2+time.Duration(len(c.all))*10*time.Millisecond))))
}

func (c *crowd) kill() {
	before, err := c.list(c.t.Context())
	c.do(err)
	c.p.Kill(c.t)
	c.verdict.kills++
	c.logf("kill %d: %s", c.verdict.kills, before)
	c.logf("up again after %.1f s", c.p.Up(c.t).Seconds())
}
