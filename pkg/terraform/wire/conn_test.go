// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/bowline-dev/bowline/pkg/terraform/wire"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	return listenOn(t, "unix", filepath.Join(t.TempDir(), "s"))
}

func listenTCP(t *testing.T) net.Listener {
	t.Helper()
	return listenOn(t, "tcp", "127.0.0.1:0")
}

func listenOn(t *testing.T, network, address string) net.Listener {
	t.Helper()
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// serve runs a process that accepts the certificate of a client, and returns the line that it prints. It answers calls of Plan with their
// own request, and those of Apply, Read and List with errors; it knows no other methods of providers.
func serve(t *testing.T, h *wire.Handshake, listener net.Listener, version int, client *wire.Handshake) (line string) {
	t.Helper()
	line, secure, err := h.Serve(listener, version, certificate(t, client))
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.Creds(secure), grpc.ForceServerCodec(wire.Raw{}), grpc.UnknownServiceHandler(answer))
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return line
}

// validated counts the calls of ValidateResourceConfig.
var validated atomic.Int64

func answer(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	switch method[strings.LastIndex(method, "/")+1:] {
	case "PlanResourceChange":
		message := wire.Message{}
		if err := stream.RecvMsg(&message); err != nil {
			return err
		}
		return stream.SendMsg(&message)
	case "ApplyResourceChange":
		return status.Error(codes.Unavailable, "geheim")
	case "StreamStdio":
		for _, printed := range []string{"some", " text\n"} {
			encoded, err := proto.Marshal(&wire.Output{Channel: 1, Data: []byte(printed)})
			if err != nil {
				return err
			}
			message := wire.Message(encoded)
			if err := stream.SendMsg(&message); err != nil {
				return err
			}
		}
		return nil
	case "ValidateResourceConfig":
		validated.Add(1)
	case "ListResource", "ReadResource":
		if _, dated := stream.Context().Deadline(); dated {
			return nil // the provider has looked at its clock
		}
		<-stream.Context().Done()
		return stream.Context().Err()
	}
	return status.Error(codes.Unimplemented, method)
}

func dial(t *testing.T, h *wire.Handshake, line string) *wire.Conn {
	t.Helper()
	conn, err := h.Dial(line)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return conn
}

func connect(t *testing.T, version int) *wire.Conn {
	t.Helper()
	client := newHandshake(t)
	return dial(t, client, serve(t, newHandshake(t), listen(t), version, client))
}

func TestMethodsHaveTheNamesOfTheirVersion(t *testing.T) {
	t.Parallel()
	got := []string{wire.MethodSchema.Path(5), wire.MethodSchema.Path(6), wire.MethodStop.Path(5), wire.MethodApply.Path(5), wire.MethodApply.Path(6)}
	want := []string{"/tfplugin5.Provider/GetSchema", "/tfplugin6.Provider/GetProviderSchema", "/tfplugin5.Provider/Stop",
		"/tfplugin5.Provider/ApplyResourceChange", "/tfplugin6.Provider/ApplyResourceChange"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestUnanswered(t *testing.T) {
	t.Parallel()
	errStopped := errors.New("stopped")
	for name, tc := range map[string]struct {
		method      wire.Method
		stop        bool // before the answer
		unsupported bool
		text        string
	}{
		"unsupported":      {method: wire.MethodSchema, unsupported: true, text: "the provider does not support GetProviderSchema"},
		"the process ends": {method: wire.MethodApply, text: "the provider did not answer ApplyResourceChange (Unavailable)"},
		"the caller ends":  {method: wire.MethodRead, stop: true, text: "the provider did not answer ReadResource (stopped)"},
	} {
		for version, conn := range map[string]*wire.Conn{"version 5": connect(t, 5), "version 6": connect(t, 6)} {
			t.Run(name+" "+version, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if tc.stop {
					cancel(errStopped)
				}
				err := conn.Call(ctx, tc.method, &wire.Read_Request{}, &wire.Read_Response{})
				unanswered, ok := errors.AsType[*wire.Unanswered](err)
				if !ok || unanswered.Unsupported != tc.unsupported || errors.Is(err, errStopped) != tc.stop {
					t.Fatalf("%#v", err)
				}
				if tc.text != "" && err.Error() != tc.text {
					t.Errorf("got %q, want %q", err, tc.text)
				}
			})
		}
	}
}

func TestCallsAreAnswered(t *testing.T) {
	t.Parallel()
	for _, version := range []int{5, 6} {
		conn := connect(t, version)
		request := &wire.Plan_Request{TypeName: "reef_berth"}
		echo := &wire.Plan_Request{}
		if err := conn.Call(t.Context(), wire.MethodPlan, request, echo); err != nil || !proto.Equal(request, echo) {
			t.Errorf("version %d: %v, %v", version, echo, err)
		}
		sent, got := wire.Message(bytes.Repeat([]byte{0, 0xff, 1}, 1<<20)), wire.Message(nil)
		sent = append(sent, 'x') // nothing that decodes
		err := conn.Pass(t.Context(), wire.MethodPlan.Path(version), &sent, &got)
		if err != nil || !bytes.Equal(sent, got) {
			t.Errorf("version %d: %d bytes, %v", version, len(got), err)
		}
	}
}

// A provider does not learn how long its caller waits: it could answer early, and a list look whole then.
func TestCallsHaveNoDeadline(t *testing.T) {
	t.Parallel()
	conn, late := connect(t, 6), errors.New("late")
	for name, call := range map[string]func(context.Context) error{
		"list": func(ctx context.Context) error {
			return conn.List(ctx, &wire.List_Request{}, func(*wire.List_Event) error { return nil })
		},
		"read": func(ctx context.Context) error {
			return conn.Call(ctx, wire.MethodRead, &wire.Read_Request{}, &wire.Read_Response{})
		},
	} {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, late)
		if err := call(ctx); !errors.Is(err, late) {
			t.Errorf("%s: error %v", name, err)
		}
		cancel()
	}
}

// A call whose caller has given up already is not made.
func TestEndedCallers(t *testing.T) {
	t.Parallel()
	conn := connect(t, 6)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 5000 {
		if err := conn.Call(ctx, wire.MethodValidate, &wire.ValidateResource_Request{}, &wire.ValidateResource_Response{}); !errors.Is(err, context.Canceled) {
			t.Fatalf("error %v", err)
		}
	}
	if err := conn.Call(t.Context(), wire.MethodValidate, &wire.ValidateResource_Request{}, &wire.ValidateResource_Response{}); err == nil {
		t.Error("a method that is not there was called")
	}
	if n := validated.Load(); n != 1 { // the last one
		t.Errorf("%d calls arrived", n)
	}
}

func TestCopyOutputWritesAllThatIsPrinted(t *testing.T) {
	t.Parallel()
	var printed strings.Builder
	if err := connect(t, 6).CopyOutput(t.Context(), &printed); !errors.Is(err, io.EOF) || printed.String() != "some text\n" {
		t.Errorf("got %q, %v", &printed, err)
	}
}

func TestRawMessagesAreCopies(t *testing.T) {
	t.Parallel()
	buffer := []byte("abc")
	var message wire.Message
	if err := (wire.Raw{}).Unmarshal(buffer, &message); err != nil {
		t.Fatal(err)
	}
	buffer[0] = 'x' // gRPC uses its buffers again
	encoded, err := wire.Raw{}.Marshal(&message)
	if err != nil || string(encoded) != "abc" {
		t.Errorf("got %q, %v", encoded, err)
	}
}
