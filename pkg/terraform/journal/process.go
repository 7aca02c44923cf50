// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/bowline-dev/bowline/pkg/terraform/plugin"
	"github.com/bowline-dev/bowline/pkg/terraform/wire"
)

const (
	// variable in the environment makes a program a journal, for the provider that it names.
	variable = "BOWLINE_TERRAFORM_JOURNAL"
	// patience is how long a journal without its controllers waits for changes that are in progress.
	patience = 2 * time.Hour
)

// Command returns the command that runs a provider with the journal: this program once more, which has to call Main. A nil journal changes
// nothing.
func (j *Journal) Command(of plugin.Command) (plugin.Command, error) {
	if j == nil {
		return of, nil
	}
	self, err := os.Executable()
	if err != nil {
		return of, fmt.Errorf("finding this program: %w", err)
	}
	of.Env = append(of.Env, variable+"="+j.folder)
	of.Args = append([]string{of.Path}, of.Args...)
	of.Path, of.Outlives = self, true
	return of, nil
}

// starter is the process that started this one. It may have ended since.
var starter = os.Getppid()

// Outlives is true where a journal goes on after this program has been asked to end. Containers, which have a file of their runtime or a variable of
// Kubernetes, end with their first process, and services of systemd with all their processes.
func Outlives() bool {
	return outlives(os.Getpid(), starter, func(name string) bool { _, set := os.LookupEnv(name); return set }, func(name string) bool {
		_, err := os.Stat(name)
		return err == nil
	})
}

// outlives is Outlives of a process. Its starter is 1 for the first process of its machine or container, and 0 for one of another namespace.
func outlives(pid, starter int, isSet, exists func(string) bool) bool {
	return pid > 1 && starter > 1 && !isSet("INVOCATION_ID") && !isSet("KUBERNETES_SERVICE_HOST") && !exists("/.dockerenv") && !exists("/run/.containerenv")
}

// Main runs a journal, and does not return, in a process that Command started. Elsewhere it does nothing. Call it first in main.
func Main() {
	folder := os.Getenv(variable)
	if folder == "" {
		return
	}
	_ = os.Unsetenv(variable)
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE) // it ends with the controllers, when its work is done
	if err := run(&Journal{folder: folder}, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "Error: journal of a Terraform provider:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

type proxy struct {
	journal  *Journal
	provider *plugin.Process
	stopped  atomic.Bool // the provider was asked to stop
}

// run passes calls on from its client to a provider, until the client ends and no change is in progress.
func run(j *Journal, command []string) error {
	defer os.RemoveAll(os.Getenv("TMPDIR")) // which is of this process alone
	client := os.Getenv("PLUGIN_CLIENT_CERT")
	provider, err := plugin.Start(context.Background(), plugin.Command{Path: command[0], Args: command[1:], Env: os.Environ(), Dir: ".", Output: os.Stderr})
	if err != nil {
		return err
	}
	defer provider.Close()
	handshake, err := wire.NewHandshake()
	if err != nil {
		return err
	}
	listener, err := net.Listen("unix", filepath.Join(os.Getenv("TMPDIR"), "journal.sock"))
	if err != nil {
		return err
	}
	line, secure, err := handshake.Serve(listener, provider.Version, client)
	if err != nil {
		return err
	}
	p := &proxy{journal: j, provider: provider}
	server := grpc.NewServer(grpc.Creds(secure), grpc.ForceServerCodec(wire.Raw{}), grpc.UnknownServiceHandler(p.pass),
		grpc.MaxRecvMsgSize(wire.MostReceived), grpc.MaxSendMsgSize(wire.MostReceived))
	go func() { _ = server.Serve(listener) }()
	fmt.Println(line)
	left := make(chan struct{})
	go func() {
		defer close(left)
		_, _ = io.Copy(io.Discard, os.Stdin) // the controllers hold the other end
	}()
	select {
	case <-provider.Done():
	case <-left:
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.GracefulStop() // when all calls have ended, and are noted
	}()
	select {
	case <-done:
	case <-time.After(patience):
	}
	return nil
}

// pass passes one call on.
func (p *proxy) pass(_ any, from grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(from)
	if method == wire.MethodApply.Path(p.provider.Version) {
		return p.change(from, method)
	}
	if method == wire.MethodStop.Path(p.provider.Version) {
		p.stopped.Store(true)
	}
	ctx, cancel := context.WithCancel(from.Context())
	defer cancel()
	to, err := p.provider.Stream(ctx, method)
	if err != nil {
		return err
	}
	go func() {
		if err := forward(from, to); !errors.Is(err, io.EOF) {
			cancel()
			return
		}
		_ = to.CloseSend()
	}()
	if err := forward(to, from); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

type stream interface {
	SendMsg(any) error
	RecvMsg(any) error
}

func forward(from, to stream) error {
	for {
		message := wire.Message{}
		if err := from.RecvMsg(&message); err != nil {
			return err
		}
		if err := to.SendMsg(&message); err != nil {
			return err
		}
	}
}

// changeOf returns the change that a call makes, by its headers.
func changeOf(ctx context.Context) (change Change, err error) {
	change.After = strings.Join(metadata.ValueFromIncomingContext(ctx, wire.HeaderAfter), "")
	if version := metadata.ValueFromIncomingContext(ctx, wire.HeaderVersion); len(version) > 0 {
		change.Version = new(int64)
		*change.Version, err = strconv.ParseInt(version[0], 10, 64)
	}
	return change, err
}

// change passes a change on, which continues when the client is gone, and notes it.
func (p *proxy) change(from grpc.ServerStream, method string) error {
	request := wire.Message{}
	if err := from.RecvMsg(&request); err != nil {
		return err
	}
	end := func([]byte, bool) error { return nil }
	if objects := metadata.ValueFromIncomingContext(from.Context(), wire.HeaderObject); len(objects) > 0 {
		change, err := changeOf(from.Context())
		if err == nil {
			end, err = p.journal.begin(objects[0], change)
		}
		switch {
		case errors.Is(err, errInProgress):
			return status.Error(codes.FailedPrecondition, err.Error())
		case err != nil:
			return wire.Unnoted(err)
		}
	}
	answer := wire.Message{}
	err := p.provider.Pass(context.WithoutCancel(from.Context()), method, &request, &answer)
	if err != nil {
		return errors.Join(err, end(nil, p.stopped.Load()))
	}
	if err := end(answer, p.stopped.Load()); err != nil { // the client stores the answer itself
		fmt.Fprintln(os.Stderr, "Cannot write the journal:", err)
	}
	return from.SendMsg(&answer)
}
