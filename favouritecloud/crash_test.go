// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
)

func TestServersOutliveTheCloudAndAreAdopted(t *testing.T) {
	t.Parallel()
	dir := newDataDir(t)
	c, cloudProcess := spawnCloud(t, dir)
	created := c.create(t, database.CreateInstanceInput{Name: "orders", FancinessLevel: 20})
	online := c.awaitOnline(t, "orders")
	before := serversIn(t, dir)
	if session, err := unix.Getsid(before[0]); err != nil || session != before[0] {
		t.Errorf("server %d is in session %d, error %v: a terminal's Ctrl-C would reach it", before[0], session, err)
	}

	cloudProcess.end(t, syscall.SIGKILL)
	query(t, online, created.Password, "select 'nobody noticed'")
	c, _ = spawnCloud(t, dir)
	i, err := c.databases.GetInstance(t.Context(), "orders")
	if err != nil || i.Status != database.StatusOnline {
		t.Errorf("an adopted server is not online from the first moment: %v, error %v", i, err)
	}
	if after := serversIn(t, dir); len(before) != 1 || len(after) != 1 || before[0] != after[0] {
		t.Fatalf("servers before %v, after %v", before, after)
	}

	killServer(t, c, created)
	c.stop()
	if left := serversIn(t, dir); len(left) > 0 {
		t.Errorf("servers outlive a cloud that was asked to stop: %v", left)
	}
}

// killServer kills the only server and returns when another one answers.
func killServer(t *testing.T, c *cloud, created *database.CreatedInstance) {
	t.Helper()
	before := serversIn(t, c.dir)
	if len(before) != 1 {
		t.Fatalf("servers: %v", before)
	}
	if err := syscall.Kill(before[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another server to answer", func() string {
		i, err := c.databases.GetInstance(t.Context(), created.Name)
		if err != nil || i.Status != database.StatusOnline {
			return fmt.Sprint(i, err)
		}
		conn, err := pgx.Connect(t.Context(), i.URL(created.Password))
		if err != nil {
			return err.Error() // Until the cloud notices, the dead server counts as online.
		}
		if err := conn.Close(t.Context()); err != nil {
			return err.Error()
		}
		if after := serversIn(t, c.dir); len(after) != 1 || after[0] == before[0] {
			return fmt.Sprint(after)
		}
		return ""
	})
}

// TestReusedPidIsNotBelieved makes what a crash of the machine leaves: a pid file whose pid is now another server's.
func TestReusedPidIsNotBelieved(t *testing.T) {
	t.Parallel()
	dir := newDataDir(t)
	c, cloudProcess := spawnCloud(t, dir)
	stranger := c.create(t, database.CreateInstanceInput{Name: "stranger", FancinessLevel: 20})
	c.awaitOnline(t, "stranger")
	strangerPid := serversIn(t, dir)[0]
	victim := c.create(t, database.CreateInstanceInput{Name: "victim", FancinessLevel: 20})
	c.awaitOnline(t, "victim")

	cloudProcess.end(t, syscall.SIGKILL)
	pidFile := filepath.Join(dir, "instances", fmt.Sprintf("database-%d", victim.ID), "data", "postmaster.pid")
	content, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, rest, _ := strings.Cut(string(content), "\n")
	victimPid, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(victimPid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(pidFile, fmt.Appendf(nil, "%d\n%s", strangerPid, rest), 0o600); err != nil {
		t.Fatal(err)
	}

	c, _ = spawnCloud(t, dir)
	query(t, c.awaitOnline(t, "victim"), victim.Password, "select 'restarted'")
	query(t, c.awaitOnline(t, "stranger"), stranger.Password, "select 'left alone'")
	if servers := serversIn(t, dir); len(servers) != 2 || !slices.Contains(servers, strangerPid) {
		t.Errorf("servers %v; the other server was %d", servers, strangerPid)
	}
}

func TestLeftoversWithoutRecordAreRemoved(t *testing.T) {
	t.Parallel()
	dir := newDataDir(t)
	c, cloudProcess := spawnCloud(t, dir)
	c.create(t, database.CreateInstanceInput{Name: "orders", FancinessLevel: 20})
	c.awaitOnline(t, "orders")
	cloudProcess.end(t, syscall.SIGKILL)
	bystander := filepath.Join(dir, "instances", "not-ours")
	if err := errors.Join(os.Remove(filepath.Join(dir, "state.db")), os.Mkdir(bystander, 0o700)); err != nil {
		t.Fatal(err)
	}
	spawnCloud(t, dir)
	if left := serversIn(t, dir); len(left) > 0 {
		t.Errorf("servers without a record: %v", left)
	}
	if _, err := os.Stat(filepath.Join(dir, "instances", "database-1")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("folder without a record: %v", err)
	}
	if _, err := os.Stat(bystander); err != nil {
		t.Errorf("a folder that is none of the cloud's: %v", err)
	}
}

// seedVariable repeats a run of TestKilledAtAnyTime.
const seedVariable = "FAVOURITECLOUD_TEST_SEED"

// TestKilledAtAnyTime kills the cloud again and again while it makes, changes and removes instances. After each kill
// there must be one server for each instance that the client knows of, and nothing else.
func TestKilledAtAnyTime(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	if s := os.Getenv(seedVariable); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("repeat with %s=%d", seedVariable, seed)
	v := &victim{dir: newDataDir(t), random: rand.New(rand.NewPCG(seed, 0)), passwords: map[string]string{}}
	const rounds = 12
	for v.round = range rounds {
		v.disturb(t)
		v.verify(t)
	}
}

// victim is a cloud that is killed, and what its client knows of it.
type victim struct {
	dir       string
	random    *rand.Rand
	round     int
	passwords map[string]string // of the instances that must exist
}

// disturb asks for a change and kills the cloud while that is being made; then it asks again, as every client must
// whose request may have been lost.
func (v *victim) disturb(t *testing.T) {
	t.Helper()
	const names, longest = 2, 1500
	name := fmt.Sprintf("db-%d", v.random.IntN(names))
	action, delay := v.choose(name), time.Duration(v.random.IntN(longest))*time.Millisecond
	t.Logf("round %d: %s %s, killed after %s", v.round, action.name, name, delay)

	c, cloudProcess := spawnCloud(t, v.dir)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		_ = action.do(t, c, name) // Repeated below: this answer may get lost.
	}()
	<-time.After(delay)
	cloudProcess.end(t, syscall.SIGKILL)
	<-answered

	c, _ = spawnCloud(t, v.dir)
	defer c.stop()
	if err := action.do(t, c, name); err != nil {
		t.Fatalf("round %d: repeating %s: %v", v.round, action.name, err)
	}
	action.await(t, c, name)
}

type action struct {
	name  string
	do    func(t *testing.T, c *cloud, name string) error
	await func(t *testing.T, c *cloud, name string)
}

func (v *victim) choose(name string) action {
	_, exists := v.passwords[name]
	switch {
	case !exists:
		return action{"create", v.create(fmt.Sprintf("round-%d", v.round)), v.awaitOnline}
	case v.random.IntN(3) == 0:
		return action{"delete", deleteOnce, v.awaitGone}
	case v.random.IntN(2) == 0:
		return action{"password", v.setPassword(fmt.Sprintf("password of round %d", v.round)), v.awaitOnline}
	default:
		return action{"update", v.update(11 + v.random.IntN(50)), v.awaitOnline}
	}
}

func (v *victim) create(token string) func(*testing.T, *cloud, string) error {
	return func(t *testing.T, c *cloud, name string) error {
		in := database.CreateInstanceInput{Name: name, FancinessLevel: 20}
		created, err := c.databases.CreateInstance(t.Context(), in, sdk.WithIdempotencyKey(token))
		if err != nil {
			return err
		}
		if first, ok := v.passwords[name]; ok && first != created.Password {
			return errors.New("the repeat was answered with another password")
		}
		v.passwords[name] = created.Password
		return nil
	}
}

func (v *victim) update(level int) func(*testing.T, *cloud, string) error {
	return func(t *testing.T, c *cloud, name string) error {
		_, err := c.databases.UpdateInstance(t.Context(), name, database.UpdateInstanceInput{FancinessLevel: &level})
		return err
	}
}

// setPassword is repeated after a kill like every action. verify uses the password, and so finds one that got lost.
func (v *victim) setPassword(password string) func(*testing.T, *cloud, string) error {
	return func(t *testing.T, c *cloud, name string) error {
		_, err := c.databases.UpdateInstance(t.Context(), name, database.UpdateInstanceInput{Password: &password})
		if err == nil {
			v.passwords[name] = password
		}
		return err
	}
}

func deleteOnce(t *testing.T, c *cloud, name string) error {
	err := c.databases.DeleteInstance(t.Context(), name)
	if sdk.IsNotFound(err) {
		return nil
	}
	return err
}

func (v *victim) awaitOnline(t *testing.T, c *cloud, name string) {
	t.Helper()
	c.awaitOnline(t, name)
}

func (v *victim) awaitGone(t *testing.T, c *cloud, name string) {
	t.Helper()
	c.awaitGone(t, name)
	delete(v.passwords, name)
}

// verify compares servers, folders and records, and uses every password.
func (v *victim) verify(t *testing.T) {
	t.Helper()
	if left := serversIn(t, v.dir); len(left) > 0 {
		t.Fatalf("round %d: servers outlive a stopped cloud: %v", v.round, left)
	}
	c, _ := spawnCloud(t, v.dir)
	defer c.stop()
	listed, err := c.databases.ListInstances(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range listed {
		online := c.awaitOnline(t, i.Name)
		if got := query(t, online, v.passwords[i.Name], "show max_connections"); got != strconv.Itoa(online.FancinessLevel) {
			t.Errorf("round %d: %s: max_connections %s, level %d", v.round, i.Name, got, online.FancinessLevel)
		}
	}
	folders, err := os.ReadDir(filepath.Join(v.dir, "instances"))
	if err != nil {
		t.Fatal(err)
	}
	servers := serversIn(t, v.dir)
	if want := len(v.passwords); len(listed) != want || len(folders) != want || len(servers) != want {
		t.Fatalf("round %d: %d instances, %d folders, %d servers; want %d of each", v.round, len(listed), len(folders), len(servers), want)
	}
}
