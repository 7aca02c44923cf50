// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package etcd runs an embedded etcd on a Unix socket, for one process.
package etcd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/controlplane/internal/files"
)

const (
	maxSocketPath    = 100                     // the kernel's limit is 108 bytes, on other systems 104
	storeQuota       = 8 << 30                 // bytes on disk, beyond which the store refuses writes
	electionLimit    = 5 * time.Second         // a hundred times as long as an election takes, if the disk is not slow
	bookmarkInterval = time.Minute             // for watches without changes; far below compactInterval
	healthLimit      = 2 * time.Second         // for the store's part of a probe
	storeStopLimit   = 1500 * time.Millisecond // for a store whose loop died and cannot stop in order

	// logFileSize is how many bytes etcd allocates for each file of its log, one file ahead. A store that cannot allocate one ends at the
	// next, so this is less than what remains free when the API server refuses writes.
	logFileSize     = 16 << 20
	newDatabaseSize = 8 << 20 // bytes that the database has at most after a first start
)

var setLogFileSize = sync.OnceFunc(func() { wal.SegmentSizeBytes = logFileSize })

// A Store is the embedded etcd. It listens only on a Unix socket in the data folder, which only this user can enter.
type Store struct {
	Etcd   *embed.Etcd
	dir    string
	mark   string // file that records that the store was in use
	log    logr.Logger
	folder *os.File // kept open while the socket is reached through it, else nil
	socket string
	failed chan error

	client    *kubernetes.Client // of the compactor
	compactor compactor          // removes old revisions
}

// Start starts etcd on dataDir/etcd and returns when it listens, or when ctx ends. noSync acknowledges writes before they are on
// disk. A DamagedError reports files that cannot be read.
func Start(ctx context.Context, dataDir string, noSync bool, log logr.Logger) (*Store, error) {
	setLogFileSize()
	s := &Store{failed: make(chan error, 1), dir: filepath.Join(dataDir, "etcd"), mark: markPath(dataDir), log: log}
	if err := check(dataDir); err != nil {
		return nil, err
	}
	if err := s.openSocket(dataDir); err != nil {
		return nil, err
	}
	if err := s.open(ctx, s.config(noSync, log)); err != nil {
		return nil, errors.Join(err, s.closeFolder())
	}
	go s.elect()
	return s, nil
}

// StartSpace returns how many bytes of the disk a start allocates: those of the next log file, which a killed server left, and in a new
// folder those of the first one and of the database, too. A folder of an earlier version has no mark, but a database; so has one whose
// first start was killed, which is as good as new until the database has content.
func StartSpace(dataDir string) (needed uint64, isNew bool) {
	_, err := os.Stat(markPath(dataDir))
	database, errDatabase := os.Stat(DatabasePath(dataDir))
	if errors.Is(err, fs.ErrNotExist) && (errDatabase != nil || database.Size() <= emptySize) {
		return 2*logFileSize + newDatabaseSize, true
	}
	next, err := os.Stat(filepath.Join(dataDir, "etcd", "member", "wal", "0.tmp"))
	if err == nil && next.Size() >= logFileSize {
		return 0, false
	}
	return logFileSize, false
}

// open starts etcd in a goroutine of its own: etcd ends that goroutine if it cannot read its files, and cannot be interrupted.
func (s *Store) open(ctx context.Context, cfg *embed.Config) error {
	opened := make(chan error, 1)
	var started *embed.Etcd
	go func() {
		defer func() {
			if cause := recover(); cause != nil {
				s.fail(fmt.Errorf("%v", cause))
			}
		}()
		var err error
		if started, err = embed.StartEtcd(cfg); err == nil && ctx.Err() != nil {
			started.Close() // open may have returned
			err = ctx.Err()
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		if s.Etcd = started; err != nil {
			return damage(s.dir, err)
		}
		return nil
	case err := <-s.failed:
		return damage(s.dir, err)
	case <-ctx.Done():
		select { // so that an orderly stop leaves nothing behind
		case err := <-opened:
			if err == nil {
				started.Close()
			}
		case <-time.After(storeStopLimit):
		}
		return ctx.Err()
	}
}

// WaitReady returns when etcd has elected itself and serves, and records that the store is in use. It waits for a slow disk.
func (s *Store) WaitReady(ctx context.Context) error {
	limit := time.NewTicker(electionLimit)
	defer limit.Stop()
	for ready := false; !ready; {
		select {
		case <-s.Etcd.Server.ReadyNotify():
			ready = true
		case <-limit.C:
			s.log.Info("The store is waiting for the disk of the data folder, which is slow", "folder", s.dir)
		case err := <-s.Etcd.Err():
			return err
		case err := <-s.failed:
			return damage(s.dir, err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if _, err := os.Stat(s.mark); err != nil {
		if err := files.Write(s.mark, nil, 0o600); err != nil {
			return fmt.Errorf("recording that the store is in use: %w", err)
		}
	}
	go s.watch()
	s.maintain()
	return nil
}

// openSocket chooses the socket's path. If it is too long for the kernel, it leads through this process's handle of the folder.
func (s *Store) openSocket(dataDir string) error {
	s.socket = filepath.Join(dataDir, "etcd.sock")
	if len(s.socket) <= maxSocketPath {
		return nil
	}
	var err error
	if s.folder, err = os.Open(dataDir); err != nil {
		return fmt.Errorf("opening data folder: %w", err)
	}
	s.socket = fmt.Sprintf("/proc/self/fd/%d/etcd.sock", s.folder.Fd())
	return nil
}

func (s *Store) closeFolder() error {
	if s.folder == nil {
		return nil
	}
	return s.folder.Close()
}

func (s *Store) config(noSync bool, log logr.Logger) *embed.Config {
	cfg := embed.NewConfig()
	cfg.Dir = s.dir
	cfg.ListenClientUrls = []url.URL{{Scheme: "unix", Path: s.socket}}
	cfg.ListenPeerUrls = nil
	cfg.AdvertiseClientUrls = []url.URL{{Scheme: "http", Host: "localhost:2379"}} // required, but not used
	cfg.QuotaBackendBytes = storeQuota
	cfg.UnsafeNoFsync = noSync
	// A single member needs no log entries for slow followers. Each tick wakes an idle process; see elect. The entries since a snapshot are
	// in memory, and read at the next start.
	cfg.TickMs = 200
	cfg.ElectionMs = 1000
	cfg.InitialElectionTickAdvance = false
	cfg.SnapshotCount = 1000
	cfg.SnapshotCatchUpEntries = 100
	cfg.WatchProgressNotifyInterval = bookmarkInterval
	cfg.EnableGRPCGateway = false
	cfg.WarningUnaryRequestDuration = embed.DefaultWarningUnaryRequestDuration // else every request is reported as slow
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.New(zapCore{log.WithName("etcd")},
		zap.WithFatalHook(endGoroutine(s.fail)), zap.WithPanicHook(endGoroutine(s.fail))))
	return cfg
}

// Failed delivers the first failure after WaitReady.
func (s *Store) Failed() <-chan error { return s.failed }

// fail records the first failure for which etcd would have ended the process.
func (s *Store) fail(err error) {
	select {
	case s.failed <- err:
	default:
	}
}

func (s *Store) watch() {
	select {
	case err, ok := <-s.Etcd.Err():
		if ok && err != nil {
			s.fail(err)
		}
	case <-s.Etcd.Server.StopNotify():
		s.fail(errors.New("stopped unexpectedly"))
	}
}

// Stop ends etcd, which flushes its data. It gives up on an etcd that is too broken to end in order.
func (s *Store) Stop() error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if s.compactor != nil {
			s.compactor.Stop()
			_ = s.client.Close() // reports only that its context has ended
		}
		s.Etcd.Close()
	}()
	var err error
	select {
	case <-done:
	case <-time.After(storeStopLimit):
		err = fmt.Errorf("did not stop within %v", storeStopLimit)
	}
	return errors.Join(err, s.closeFolder())
}

// Endpoint is the address of etcd for clients in this process.
func (s *Store) Endpoint() string { return "unix://" + s.socket }

// Count returns the number of objects of a custom kind.
func (s *Store) Count(ctx context.Context, kind schema.GroupResource) (int64, error) {
	prefix := "/registry/" + kind.Group + "/" + kind.Resource + "/"
	end := prefix[:len(prefix)-1] + "0" // the character after the slash
	r, err := s.Etcd.Server.Range(ctx, &etcdserverpb.RangeRequest{Key: []byte(prefix), RangeEnd: []byte(end), CountOnly: true})
	if err != nil {
		return 0, fmt.Errorf("counting %s: %w", kind, err)
	}
	return r.Count, nil
}

// CheckHealth returns an error if the store does not serve a consistent read.
func (s *Store) CheckHealth(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, healthLimit)
	defer cancel()
	_, err := s.Etcd.Server.Range(ctx, &etcdserverpb.RangeRequest{Key: []byte("health")})
	return err
}

// endGoroutine replaces what ends the process or panics: it reports the error, and only the current goroutine ends.
type endGoroutine func(error)

func (fail endGoroutine) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	cause := errors.New("no cause given")
	for _, f := range fields {
		if err, ok := f.Interface.(error); ok && f.Type == zapcore.ErrorType {
			cause = err
		}
	}
	fail(fmt.Errorf("%s: %w", entry.Message, cause))
	runtime.Goexit()
}

func decode(fields []zapcore.Field) map[string]any {
	enc := zapcore.NewMapObjectEncoder()
	for _, f := range fields {
		f.AddTo(enc)
	}
	return enc.Fields
}

// zapCore writes zap's entries to a logr.Logger: warnings as information, information at V(1), debugging at V(5).
type zapCore struct{ log logr.Logger }

// raftLogger is the name of the logger that warns of elections which cannot be held yet. A single member holds one at each start.
const raftLogger = "raft"

func (c zapCore) Enabled(level zapcore.Level) bool {
	return level >= zapcore.DPanicLevel || c.log.V(verbosity(level)).Enabled()
}

func verbosity(level zapcore.Level) int {
	switch {
	case level >= zapcore.WarnLevel:
		return 0
	case level == zapcore.InfoLevel:
		return 1
	}
	return 5
}

func (c zapCore) With(fields []zapcore.Field) zapcore.Core {
	return zapCore{c.log.WithValues(keysAndValues(fields)...)}
}

func (c zapCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if entry.LoggerName == raftLogger && entry.Level == zapcore.WarnLevel {
		entry.Level = zapcore.InfoLevel
	}
	if c.Enabled(entry.Level) {
		return checked.AddCore(entry, c)
	}
	return checked
}

func (c zapCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	c.log.V(verbosity(entry.Level)).Info(entry.Message, keysAndValues(fields)...)
	return nil
}

func (zapCore) Sync() error { return nil }

func keysAndValues(fields []zapcore.Field) (list []any) {
	for key, value := range decode(fields) {
		list = append(list, key, value)
	}
	return list
}
