// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package backup restores the backup of a control plane under load beside the original.
package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	databasev1alpha1 "github.com/bowline-dev/bowline/apis/database/v1alpha1"
	sqlv1alpha1 "github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/test/inspect"
	"github.com/bowline-dev/bowline/test/plane"
)

func TestMain(m *testing.M) { os.Exit(plane.Main(m)) }

const (
	vault, team = "vault", "team"
	shared      = "shared" // the server of the tenants, and their class
	own         = "own"    // the class of claims with a server of their own
	broken      = "broken" // the server that the backup leaves out
	ownServers  = 2
	patience    = 10 * time.Minute
)

// load is a control plane with claims, and clients that write, create and delete.
type load struct {
	*plane.Plane
	claims []string

	mu   sync.Mutex
	rows map[string]int // committed, by claim
}

// BOWLINE_BACKUP_CLAIMS is the number of claims; `make backup-proof` has 200.
func TestBackupUnderLoadIsRestored(t *testing.T) {
	t.Parallel()
	l := &load{Plane: plane.New(t), rows: map[string]int{}}
	l.Up(t)
	l.prepare(t, size(t))

	file := filepath.Join(t.TempDir(), "backup.tar.gz")
	loaded, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	clients.Go(func() { l.write(loaded, t) })
	clients.Go(func() { l.churn(loaded, t) })
	l.Eventually(t, patience, "each database has a row", func(context.Context) error {
		if n := len(l.committed()); n < len(l.claims) {
			return fmt.Errorf("%d of %d", n, len(l.claims))
		}
		return nil
	})
	before, begin := l.committed(), time.Now()
	mustRun(t, l.Plane, "Without database/demo/broken", "backup", file, "--skip", "database/demo/broken")
	took := time.Since(begin)
	stop()
	clients.Wait()
	after := l.committed()
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the backup has mode %v, %v", info.Mode(), err)
	}

	r := &load{Plane: plane.New(t), claims: l.claims}
	begin = time.Now()
	mustRun(t, r.Plane, "Without database/demo/broken", "restore", file)
	restore := time.Since(begin)
	if host, err := os.Hostname(); err != nil || !strings.Contains(string(readFile(t, filepath.Join(r.Dir, "restored.json"))), strconv.Quote(host)) {
		t.Errorf("the restored folder does not have the original's host name %q, %v", host, err)
	}
	refuse(t, r.Plane, "is not empty", "restore", file)
	up := r.Up(t)
	begin = time.Now()
	var opened int
	r.Eventually(t, patience, "every Secret of a Ready claim opens its database", func(ctx context.Context) (err error) {
		opened, err = r.check(ctx, before, ports(t, l.Plane))
		return err
	})
	fmt.Fprintf(t.Output(), "backup: %d claims, %d MB in %.1f s under load; restored in %.1f s, started in %.1f s, %d Secrets checked after %.1f s\n",
		len(l.claims), info.Size()>>20, took.Seconds(), restore.Seconds(), up.Seconds(), opened, time.Since(begin).Seconds())
	l.checkUntouched(t, r, after)
}

func size(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("BOWLINE_BACKUP_CLAIMS"))
	if err != nil || n < ownServers+1 {
		return 12
	}
	return n
}

func mustRun(t *testing.T, p *plane.Plane, want string, args ...string) {
	t.Helper()
	if out, err := p.Run(t.Context(), args...); err != nil || !strings.Contains(out, want) {
		t.Fatalf("bowline %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func refuse(t *testing.T, p *plane.Plane, want string, args ...string) {
	t.Helper()
	if out, err := p.Run(t.Context(), args...); err == nil || !strings.Contains(out, want) {
		t.Errorf("bowline %s: %v, want %q\n%s", strings.Join(args, " "), err, want, out)
	}
}

// prepare creates the claims and waits until they are Ready.
func (l *load) prepare(t *testing.T, n int) {
	t.Helper()
	l.ConnectEverywhere(t)
	l.Create(t, plane.Database(shared, 200), plane.Database(broken, 50),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: vault}}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}})
	for _, server := range []string{shared, broken} {
		l.Eventually(t, patience, server+" works", func(ctx context.Context) error { return l.Works(ctx, server) })
	}
	config := &sqlv1alpha1.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	config.Spec.Credentials = xpv1.ProviderCredentials{Source: xpv1.CredentialsSourceSecret, SecretRef: &xpv1.SecretKeySelector{
		Namespace: plane.Namespace, Name: shared, Key: xpv1.ResourceCredentialsSecretPasswordKey,
	}}
	config.Spec.Limits = &xpv1.CallLimits{DeletionsPerMinute: new(int32(0))} // churn deletes many
	l.Create(t, config, plane.TenantClass(shared, vault, map[string]string{"room": shared}), plane.FavouriteClass(own, vault, map[string]string{"room": own}))
	for i := range n {
		room := shared
		if i < ownServers {
			room = own
		}
		claim := newClaim("db-"+strconv.Itoa(i), room)
		l.claims = append(l.claims, claim.Name)
		l.Create(t, claim)
	}
	l.Eventually(t, patience, "all claims are Ready", func(ctx context.Context) error {
		ready, err := l.ready(ctx)
		if err == nil && len(ready) < n {
			err = fmt.Errorf("%d of %d are", len(ready), n)
		}
		return err
	})
}

func newClaim(name, room string) *databasev1alpha1.PostgreSQLInstance {
	claim := &databasev1alpha1.PostgreSQLInstance{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name}}
	claim.Spec.ClassSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"room": room}}
	claim.Spec.WriteConnectionSecretToReference = &xpv1.LocalSecretReference{Name: name}
	return claim
}

// ready returns the names of the claims that are Ready and not being deleted.
func (l *load) ready(ctx context.Context) (names []string, err error) {
	claims := &databasev1alpha1.PostgreSQLInstanceList{}
	if err := l.Client.List(ctx, claims, client.InNamespace(team)); err != nil {
		return nil, err
	}
	for _, claim := range claims.Items {
		if claim.DeletionTimestamp == nil && claim.Status.GetCondition(xpv1.TypeReady).Status == corev1.ConditionTrue {
			names = append(names, claim.Name)
		}
	}
	return names, nil
}

// open runs a statement in the database of a claim, with its Secret only.
func (l *load) open(ctx context.Context, claim, statement string, into ...any) error {
	secret := &corev1.Secret{}
	if err := l.Client.Get(ctx, client.ObjectKey{Namespace: team, Name: claim}, secret); err != nil {
		return err
	}
	conn, err := inspect.Connect(ctx, secret.Data)
	if err != nil {
		return fmt.Errorf("claim %s: %w", claim, err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if len(into) == 0 {
		_, err = conn.Exec(ctx, statement)
		return err
	}
	return conn.QueryRow(ctx, statement).Scan(into...)
}

// write adds rows to all databases in turn until ctx ends.
func (l *load) write(ctx context.Context, t *testing.T) {
	for ctx.Err() == nil {
		for _, claim := range l.claims {
			err := l.open(ctx, claim, "create table if not exists item (n int); insert into item values (1)")
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				t.Errorf("writing: %v", err)
				return
			}
			l.mu.Lock()
			l.rows[claim]++
			l.mu.Unlock()
			pause(ctx, 20*time.Millisecond)
		}
	}
}

func (l *load) committed() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	rows := map[string]int{}
	for claim, n := range l.rows {
		rows[claim] = n
	}
	return rows
}

// churn creates and deletes further claims until ctx ends, the next one when the last one works: no faster than the machine.
func (l *load) churn(ctx context.Context, t *testing.T) {
	const alive = 5
	name := func(i int) string { return "churn-" + strconv.Itoa(i) }
	for i := 0; ctx.Err() == nil; {
		ready, err := l.ready(ctx)
		if i == 0 || slices.Contains(ready, name(i-1)) {
			err = errors.Join(err, l.Client.Create(ctx, newClaim(name(i), shared)))
			if i >= alive {
				err = errors.Join(err, l.Client.Delete(ctx, newClaim(name(i-alive), shared)))
			}
			i++
		}
		if err != nil && ctx.Err() == nil {
			t.Errorf("creating and deleting claims: %v", err)
		}
		pause(ctx, 200*time.Millisecond)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// ports returns the ports of the Secrets of a plane.
func ports(t *testing.T, p *plane.Plane) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	secrets := &corev1.SecretList{}
	if err := p.Client.List(t.Context(), secrets); err != nil {
		t.Fatal(err)
	}
	for _, secret := range secrets.Items {
		if port := string(secret.Data[xpv1.ResourceCredentialsSecretPortKey]); port != "" {
			found[port] = true
		}
	}
	return found
}

// check returns how many Secrets of Ready claims open databases with the rows of before the backup, on other ports than the original's.
func (l *load) check(ctx context.Context, rows map[string]int, others map[string]bool) (opened int, err error) {
	ready, err := l.ready(ctx)
	if err == nil && len(ready) < len(l.claims) {
		err = fmt.Errorf("%d of at least %d claims are Ready", len(ready), len(l.claims))
	}
	if err != nil {
		return 0, err
	}
	for _, claim := range ready {
		secret, err := l.Secret(ctx, team, claim)
		if err != nil {
			return 0, err
		}
		if port := secret[xpv1.ResourceCredentialsSecretPortKey]; others[port] {
			return 0, fmt.Errorf("the Secret of claim %s has port %s, of a server of the original", claim, port)
		}
		var n int
		statement := "select count(*) from item"
		if rows[claim] == 0 {
			statement = "select 0" // of churn
		}
		if err := l.open(ctx, claim, statement, &n); err != nil || n < rows[claim] {
			return 0, fmt.Errorf("claim %s has %d of at least %d rows: %w", claim, n, rows[claim], err)
		}
	}
	return len(ready), nil
}

// checkUntouched deletes a claim of the restored plane, and checks that the original still has everything.
func (l *load) checkUntouched(t *testing.T, restored *load, rows map[string]int) {
	t.Helper()
	gone := newClaim(l.claims[len(l.claims)-1], shared)
	if err := restored.Client.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	restored.Eventually(t, patience, "the claim is deleted", func(ctx context.Context) error {
		if err := restored.Client.Get(ctx, client.ObjectKeyFromObject(gone), gone); client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("it exists, %v", err)
		}
		return nil
	})
	for _, claim := range l.claims {
		var n int
		if err := l.open(t.Context(), claim, "select count(*) from item", &n); err != nil || n < rows[claim] {
			t.Errorf("the original of claim %s has %d of %d rows, %v", claim, n, rows[claim], err)
		}
	}
	if ready, err := l.ready(t.Context()); err != nil || len(ready) < len(l.claims) {
		t.Errorf("%d of %d claims of the original are Ready, %v", len(ready), len(l.claims), err)
	}
}
