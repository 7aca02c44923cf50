// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

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
)

// controlTimeout is how long a server may take to answer, all commands of a connection together.
const controlTimeout = 5 * time.Second

// maxReply is far more than any reply that this package asks for.
const maxReply = 1 << 20

// A replyError is what a server says instead of doing what it was told.
type replyError struct{ message string }

func (e *replyError) Error() string { return "the server says: " + e.message }

// A control is a connection of the cloud's own user to a server.
type control struct {
	conn    net.Conn
	replies *bufio.Reader
}

// dial connects to the server that uses the data folder. Nobody else's server can listen there.
func dial(ctx context.Context, data, secret string) (*control, error) {
	folder, err := os.Open(data)
	if err != nil {
		return nil, fmt.Errorf("connecting to server: %w", err)
	}
	defer folder.Close() //nolint:errcheck // Read only.
	// The system takes names of sockets of up to 107 characters, and the folder's may be longer.
	short := filepath.Join("/proc/self/fd", strconv.Itoa(int(folder.Fd())), socketName)
	conn, err := (&net.Dialer{Timeout: controlTimeout}).DialContext(ctx, "unix", short)
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
		_, err = c.do("AUTH", controlUser, secret)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connecting to server: %w", err), conn.Close())
	}
	return c, nil
}

func (c *control) close() { _ = c.conn.Close() } // Nothing is left unsaid.

// do sends a command and returns the reply as text, lists as lines. The error is a *replyError when the server refuses.
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
		return "", &replyError{message: rest}
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

// status is what a server says about itself.
type status struct {
	pid     int
	port    int
	version string // major and minor
	loading bool   // its data, and so it does not serve yet
}

func (c *control) status() (status, error) {
	server, err := c.do("INFO", "server", "persistence")
	if err != nil {
		return status{}, fmt.Errorf("asking server what it is: %w", err)
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
		return status{}, errors.New("asking server what it is: the answer lacks its process, port or version")
	}
	return status{pid: pid, port: port, version: numbers[0] + "." + numbers[1], loading: fields["loading"] != "0"}, nil
}
