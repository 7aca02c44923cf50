// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// BackupEnd is the name of the last entry of a backup. Its content is empty, or the error that ended the backup.
const BackupEnd = "end"

// BackupWait is the name of entries with the instance whose server cannot be copied yet, and the cause.
const BackupWait = "wait"

// A Backup has the files of a cloud, as a tar.Reader. Only Next returns io.EOF, when every file was read.
type Backup struct {
	*tar.Reader
	Waits func(cause string) // is called with each instance that the cloud waits for, and the cause; nil: waits in silence
	body  io.Closer
}

// StartBackup makes the cloud copy its records and the data of its servers. adminToken is in the file admin.token of the data folder.
// Instances to skip, such as database/demo/orders, are not restored.
func StartBackup(ctx context.Context, endpoint, adminToken string, skip ...string) (*Backup, error) {
	c, err := newAdmin(endpoint, adminToken, "none")
	if err != nil {
		return nil, err
	}
	r, err := c.newRequest(ctx, request{method: http.MethodPost, path: "/v1/backup", query: url.Values{"skip": skip}})
	if err != nil {
		return nil, err
	}
	resp, err := (&http.Client{}).Do(r) // without a timeout: the copies take time
	if err != nil {
		return nil, newConnectionError(c.endpoint, err)
	}
	if resp.StatusCode != http.StatusOK {
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes))
		return nil, errors.Join(newAPIError(resp, body), err, resp.Body.Close())
	}
	return &Backup{Reader: tar.NewReader(resp.Body), body: resp.Body}, nil
}

// Next returns the next file.
func (b *Backup) Next() (*tar.Header, error) {
	header, err := b.Reader.Next()
	for err == nil && header.Name == BackupWait {
		var cause []byte
		if cause, err = io.ReadAll(io.LimitReader(b.Reader, maxAnswerBytes)); err == nil && b.Waits != nil {
			b.Waits(string(cause))
		}
		if err == nil {
			header, err = b.Reader.Next()
		}
	}
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading backup: %w", io.ErrUnexpectedEOF)
	}
	if err != nil || header.Name != BackupEnd {
		return header, err
	}
	text, err := io.ReadAll(io.LimitReader(b.Reader, maxAnswerBytes))
	if err == nil && len(text) > 0 {
		err = errors.New(string(text))
	}
	if err != nil {
		return nil, fmt.Errorf("the local cloud cannot be copied: %w", err)
	}
	return nil, io.EOF
}

// Close ends the backup.
func (b *Backup) Close() error { return b.body.Close() }
