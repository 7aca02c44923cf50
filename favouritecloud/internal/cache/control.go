// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
)

// controlTimeout is how long a server may take to answer all commands of a connection.
const controlTimeout = 5 * time.Second

// maxReply is the largest reply that is read, far more than this package needs.
const maxReply = 1 << 20

// A replyError is an error reply of the server.
type replyError struct{ code, message string }

func (e *replyError) Error() string { return "server replied: " + e.message }

func isRefusal(err error) bool {
	_, refused := errors.AsType[*replyError](err)
	return refused
}

// A control is a connection to a server, of the cloud's own user but for Opens.
type control struct {
	conn    net.Conn
	replies *bufio.Reader
}

// dial connects to the server that uses the data folder, the only one that can listen there.
func dial(ctx context.Context, data, user, password string) (*control, error) {
	folder, err := os.Open(data)
	if err != nil {
		return nil, fmt.Errorf("connecting to server: %w", err)
	}
	defer folder.Close() // only read
	conn, err := (&net.Dialer{Timeout: controlTimeout}).DialContext(ctx, "unix", filepath.Join(host.ShortPath(folder.Fd()), socketName))
	if err != nil {
		return nil, fmt.Errorf("connecting to server: %w", err)
	}
	c := &control{conn: conn, replies: bufio.NewReader(conn)}
	deadline := time.Now().Add(controlTimeout)
	if earlier, ok := ctx.Deadline(); ok && earlier.Before(deadline) {
		deadline = earlier
	}
	err = conn.SetDeadline(deadline)
	if err == nil {
		_, err = c.do("AUTH", user, password)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connecting to server: %w", err), conn.Close())
	}
	return c, nil
}

func (c *control) close() { _ = c.conn.Close() } // All replies were read.

// do sends a command and returns the reply as text, a list as lines. The error is a *replyError when the server refuses.
func (c *control) do(command ...string) (string, error) {
	var request strings.Builder
	fmt.Fprintf(&request, "*%d\r\n", len(command))
	for _, word := range command {
		fmt.Fprintf(&request, "$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := io.WriteString(c.conn, request.String()); err != nil {
		return "", err
	}
	return c.reply()
}

func (c *control) reply() (string, error) {
	line, err := c.replies.ReadString('\n')
	line = strings.TrimSuffix(line, "\r\n")
	if err != nil {
		return "", err
	}
	if line == "" {
		return "", errors.New("not a reply of Redis")
	}
	kind, rest := line[0], line[1:]
	switch kind {
	case '+', ':':
		return rest, nil
	case '-':
		code, _, _ := strings.Cut(rest, " ")
		return "", &replyError{code, rest}
	}
	n, err := strconv.Atoi(rest)
	if err != nil || n > maxReply || kind != '$' && kind != '*' {
		return "", errors.New("not a reply of Redis")
	}
	if n < 0 {
		return "", nil
	}
	if kind == '$' {
		text := make([]byte, n+len("\r\n"))
		_, err := io.ReadFull(c.replies, text)
		return string(text[:n]), err
	}
	var items []string
	for range n {
		item, err := c.reply()
		if err != nil {
			return "", err
		}
		items = append(items, item)
	}
	return strings.Join(items, "\n"), nil
}

// status is the part of INFO that this package needs.
type status struct {
	pid      int
	port     int
	version  string // major and minor
	loading  bool   // it loads its data and does not serve clients yet
	readOnly bool   // it refuses writes because it could not store the last ones
}

func (c *control) status() (status, error) {
	server, err := c.do("INFO", "server", "persistence")
	if err != nil {
		return status{}, fmt.Errorf("reading status of server: %w", err)
	}
	return parseStatus(server)
}

func parseStatus(info string) (status, error) {
	fields := map[string]string{}
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	pid, pidErr := strconv.Atoi(fields["process_id"])
	port, portErr := strconv.Atoi(fields["tcp_port"])
	numbers := strings.Split(fields["redis_version"], ".")
	if pidErr != nil || portErr != nil || len(numbers) < 2 || pid <= 0 {
		return status{}, errors.New("reading status of server: the reply has no process, port or version")
	}
	return status{
		pid: pid, port: port, version: numbers[0] + "." + numbers[1], loading: fields["loading"] != "0",
		readOnly: fields["aof_last_write_status"] == "err",
	}, nil
}
