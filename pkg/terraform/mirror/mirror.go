// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mirror downloads packages of Terraform providers from a network mirror, by Terraform's provider network mirror protocol:
//
//	HOST/NAMESPACE/TYPE/index.json    the versions
//	HOST/NAMESPACE/TYPE/VERSION.json  the archives of a version, by operating system and processor
//
// A package is unpacked into a folder in the layout of a filesystem mirror, HOST/NAMESPACE/TYPE/VERSION/OS_ARCH, where it appears at once or
// not at all. Whether a package is needed is for the caller to decide: the mirror is asked at each call that does not find one in progress.
package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-version"
)

// Limits of what a mirror may return.
const (
	documentSize     = 4 << 20 // bytes
	archiveSize      = 1 << 30
	unpackedSize     = 4 << 30
	mostFiles        = 1000
	mostVersions     = 20 // newest ones of which archives are looked for
	mostRedirects    = 10
	documentTimeout  = 30 * time.Second
	downloadTimeout  = 30 * time.Minute // of a package, with all that it takes
	connectTimeout   = 10 * time.Second
	handshakeTimeout = 10 * time.Second
)

// Config is a network mirror, and where its packages go.
type Config struct {
	// URL below which the mirror is: https, or http of this machine's loopback addresses. Default: no mirror.
	URL string
	// TokenFile has the bearer token for the mirror's host. It is read at each request. Default: no token is sent.
	TokenFile string
	// Folder gets the packages. Nothing else may write to it.
	Folder string
}

// Validate returns the first mistake in the URL, and does not repeat it: it may have a password.
func (c Config) Validate() error {
	if c.URL == "" {
		if c.TokenFile != "" {
			return errors.New("a token for the mirror of Terraform providers has no use without the URL of the mirror")
		}
		return nil
	}
	u, err := url.Parse(c.URL)
	if err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && !isLocal(u) {
		return errors.New("the URL of the mirror of Terraform providers must be one such as https://mirror.example.com/providers/, " +
			"with https except for a loopback address, and without a password or a query")
	}
	return nil
}

func isLocal(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

// A Package is what to download: the newest version of a provider that satisfies a constraint and has an archive for a platform.
type Package struct {
	Source     string // HOST/NAMESPACE/TYPE
	Constraint string // as in Terraform's required_providers
	Platform   string // OS_ARCH
	Checksums  []string
	// Check refuses the program of the package, in a folder beside which is a file with the checksums; see ArchiveChecksum.
	Check func(program string) error
}

// An archive is that of one version.
type archive struct {
	version string
	url     *url.URL
	hashes  []string
}

type mirror struct {
	Config
	base      *url.URL
	transport *http.Transport
}

func open(c Config) (*mirror, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Folder == "" {
		return nil, errors.New("a mirror of Terraform providers needs a folder for its packages")
	}
	base, err := url.Parse(strings.TrimSuffix(c.URL, "/") + "/")
	if err != nil {
		return nil, err
	}
	return &mirror{Config: c, base: base, transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: connectTimeout}).DialContext, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: handshakeTimeout, ResponseHeaderTimeout: documentTimeout, IdleConnTimeout: documentTimeout,
	}}, nil
}

// choose asks for the versions, and for the archive of the newest one that will do.
func (m *mirror) choose(ctx context.Context, p Package) (archive, error) {
	constraint, err := version.NewConstraint(p.Constraint)
	if err != nil {
		return archive{}, fmt.Errorf("%q is no constraint of versions", p.Constraint)
	}
	provider := m.base.JoinPath(p.Source)
	var index struct{ Versions map[string]struct{} }
	if err := m.read(ctx, provider.JoinPath("index.json"), &index); err != nil {
		return archive{}, err
	}
	var versions []*version.Version
	for name := range index.Versions {
		if v, err := version.NewVersion(name); err == nil && constraint.Check(v) {
			versions = append(versions, v)
		}
	}
	slices.SortFunc(versions, func(a, b *version.Version) int { return b.Compare(a) })
	for _, v := range versions[:min(len(versions), mostVersions)] {
		var one struct {
			Archives map[string]struct {
				URL    string
				Hashes []string
			}
		}
		document := provider.JoinPath(v.Original() + ".json")
		if err := m.read(ctx, document, &one); err != nil {
			return archive{}, err
		}
		if found, ok := one.Archives[p.Platform]; ok {
			at, err := document.Parse(found.URL)
			if err != nil {
				return archive{}, fmt.Errorf("the archive of version %s has no URL", v)
			}
			return archive{version: v.Original(), url: at, hashes: found.Hashes}, nil
		}
	}
	if len(versions) > 0 {
		return archive{}, fmt.Errorf("no archive for %s in the newest versions that satisfy %q, from %s down", p.Platform, p.Constraint, versions[0])
	}
	return archive{}, fmt.Errorf("none of its %d versions satisfies %q", len(index.Versions), p.Constraint)
}

// read decodes a JSON document.
func (m *mirror) read(ctx context.Context, at *url.URL, into any) error {
	ctx, cancel := context.WithTimeout(ctx, documentTimeout)
	defer cancel()
	body, err := m.get(ctx, at)
	if err != nil {
		return err
	}
	defer body.Close()
	content, err := io.ReadAll(io.LimitReader(body, documentSize))
	if err != nil {
		return fmt.Errorf("reading %s: %w", at.Redacted(), withoutPorts(err))
	}
	if err := json.Unmarshal(content, into); err != nil {
		return fmt.Errorf("%s is not a document of Terraform's provider network mirror protocol: is the URL of the mirror right?", at.Redacted())
	}
	return nil
}

// get follows redirects by itself: net/http would repeat their URLs, which may be signed, in its errors, and send the token along.
func (m *mirror) get(ctx context.Context, at *url.URL) (io.ReadCloser, error) {
	for range mostRedirects {
		if at.Scheme != "https" && !(isLocal(at) && isLocal(m.base)) {
			return nil, fmt.Errorf("the mirror refers to host %s without https", at.Host)
		}
		request := (&http.Request{Method: http.MethodGet, URL: at, Header: http.Header{}}).WithContext(ctx)
		if at.Host == m.base.Host && at.Scheme == m.base.Scheme && m.TokenFile != "" {
			token, err := os.ReadFile(m.TokenFile)
			if err != nil {
				return nil, fmt.Errorf("reading the token for the mirror: %w", err)
			}
			request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
		}
		response, err := m.transport.RoundTrip(request)
		if err != nil {
			return nil, fmt.Errorf("asking %s: %w", at.Host, withoutPorts(err))
		}
		if response.StatusCode == http.StatusOK {
			return response.Body, nil
		}
		response.Body.Close()
		location := response.Header.Get("Location")
		if response.StatusCode/100 != 3 || location == "" {
			return nil, fmt.Errorf("%s answers %d %s for %s", at.Host, response.StatusCode, http.StatusText(response.StatusCode), at.Path)
		}
		if at, err = at.Parse(location); err != nil {
			return nil, errors.New("the mirror redirects to what is no URL")
		}
	}
	return nil, fmt.Errorf("the mirror redirects more than %d times", mostRedirects)
}

// withoutPorts leaves the addresses out of an error, since each connection has another port of ours, and the message of a condition must not
// change with each attempt. That of a resolver's timeout has the port, too.
func withoutPorts(err error) error {
	if of, ok := errors.AsType[*net.DNSError](err); ok {
		if of.IsNotFound {
			return fmt.Errorf("no DNS server knows the host %s", of.Name)
		}
		return fmt.Errorf("the DNS servers do not resolve the host %s", of.Name)
	}
	if of, ok := errors.AsType[*net.OpError](err); ok {
		return fmt.Errorf("%s: %w", of.Op, of.Err)
	}
	return err
}
