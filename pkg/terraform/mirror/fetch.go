// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/dirhash"
)

// temporary begins the names of folders of downloads in progress. No host has such a name.
const temporary = ".download-"

// checksumsSuffix follows the name of a package's folder in that of the file with its checksums.
const checksumsSuffix = ".checksums"

// fetch downloads a package into its place. The folder of the download, whose name is the same in each attempt, is removed in any case.
func (m *mirror) fetch(ctx context.Context, p Package, name string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()
	defer m.transport.CloseIdleConnections()
	found, err := m.choose(ctx, p)
	if err != nil {
		return err
	}
	temp := filepath.Join(m.Folder, temporary+name)
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	unpacked := filepath.Join(temp, p.Platform)
	if err := errors.Join(os.RemoveAll(temp), os.MkdirAll(unpacked, 0o755)); err != nil {
		return err
	}
	zipped := filepath.Join(temp, "archive.zip")
	zh, err := m.download(ctx, found, zipped)
	if err != nil {
		return fmt.Errorf("downloading version %s: %w", found.version, err)
	}
	if err := match("zh:", zh, found.hashes); err != nil {
		return fmt.Errorf("version %s: %w", found.version, err)
	}
	program := "terraform-provider-" + path.Base(p.Source)
	if program, err = unpack(ctx, zipped, unpacked, program); err != nil {
		return fmt.Errorf("unpacking version %s: %w", found.version, err)
	}
	h1, err := dirhash.HashDir(unpacked, "", dirhash.Hash1)
	if err != nil {
		return fmt.Errorf("computing the checksum of version %s: %w", found.version, err)
	}
	if err := match("h1:", h1, found.hashes); err != nil {
		// That of an archive with entries for folders is another one.
		if of, failed := dirhash.HashZip(zipped, dirhash.Hash1); failed != nil || match("h1:", of, found.hashes) != nil {
			return fmt.Errorf("version %s: %w", found.version, err)
		}
	}
	if err := write(unpacked+checksumsSuffix, []byte(h1+"\n"+zh+"\n")); err != nil {
		return err
	}
	if err := p.Check(filepath.Join(unpacked, program)); err != nil {
		return err
	}
	return install(unpacked, filepath.Join(m.Folder, filepath.FromSlash(p.Source), found.version))
}

// download writes the archive to a file, and returns its checksum.
func (m *mirror) download(ctx context.Context, from archive, to string) (zh string, err error) {
	body, err := m.get(ctx, from.url)
	if err != nil {
		return "", err
	}
	defer body.Close()
	file, err := os.Create(to)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	size, err := io.Copy(io.MultiWriter(file, hash), io.LimitReader(body, archiveSize+1))
	if err == nil && size > archiveSize {
		err = fmt.Errorf("the archive has more than %d bytes", archiveSize)
	}
	return "zh:" + hex.EncodeToString(hash.Sum(nil)), errors.Join(withoutPorts(err), file.Close())
}

// match fails if the mirror lists checksums of a kind, and others than a package has.
func match(kind, have string, listed []string) error {
	of := slices.DeleteFunc(slices.Clone(listed), func(hash string) bool { return !strings.HasPrefix(hash, kind) })
	if len(of) == 0 || slices.Contains(of, have) {
		return nil
	}
	return fmt.Errorf("the archive has the checksum %s, and the mirror lists another one", have)
}

// unpack extracts an archive into an empty folder, and returns the name of the program. Archives of providers have regular files only, and
// nothing else is extracted.
func unpack(ctx context.Context, from, to, prefix string) (program string, err error) {
	archive, err := zip.OpenReader(from)
	if err != nil {
		return "", err
	}
	defer archive.Close()
	size := uint64(0)
	for _, file := range archive.File {
		size += min(file.UncompressedSize64, unpackedSize+1)
		switch regular := file.Mode().IsRegular(); {
		case !filepath.IsLocal(file.Name) || strings.ContainsAny(file.Name, "\\\n"):
			return "", fmt.Errorf("its file %.100q would be outside of the package", file.Name)
		case !regular && !file.Mode().IsDir():
			return "", fmt.Errorf("its file %.100q is no regular file", file.Name)
		case regular && strings.HasPrefix(file.Name, prefix) && path.Base(file.Name) == file.Name:
			program = file.Name
		}
	}
	switch {
	case size > unpackedSize || len(archive.File) > mostFiles:
		return "", fmt.Errorf("it has %d files with %d bytes, and at most %d with %d may be unpacked", len(archive.File), size, mostFiles, unpackedSize)
	case program == "":
		return "", fmt.Errorf("it has no program %s", prefix)
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return "", err
	}
	defer root.Close()
	for _, file := range archive.File {
		if file.Mode().IsDir() {
			continue
		}
		if err := errors.Join(ctx.Err(), extract(root, file)); err != nil {
			return "", fmt.Errorf("file %.100q: %w", file.Name, err)
		}
	}
	return program, root.Chmod(program, 0o755)
}

// extract writes one file, of which there must be none yet.
func extract(root *os.Root, file *zip.File) error {
	content, err := file.Open()
	if err != nil {
		return err
	}
	defer content.Close()
	if err := root.MkdirAll(path.Dir(file.Name), 0o755); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if file.Mode()&0o111 != 0 {
		mode = 0o755
	}
	to, err := root.OpenFile(file.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, content) // archive/zip ends with an error where there is more than was declared
	return errors.Join(err, to.Sync(), to.Close())
}

func write(name string, content []byte) error {
	to, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = to.Write(content)
	return errors.Join(err, to.Sync(), to.Close())
}

// install moves a package and its checksums to their places. The checksums come first: they count for a package with their h1 only. What
// was in the place was no package, or is the same one.
func install(unpacked, versionFolder string) error {
	place, former := filepath.Join(versionFolder, filepath.Base(unpacked)), unpacked+".former"
	if err := os.MkdirAll(versionFolder, 0o755); err != nil {
		return err
	}
	if err := os.Rename(unpacked+checksumsSuffix, place+checksumsSuffix); err != nil {
		return err
	}
	if err := os.Rename(place, former); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(unpacked, place); err != nil {
		return err
	}
	folder, err := os.Open(versionFolder)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// ArchiveChecksum returns the zh: checksum of the archive that a package was unpacked from, given the folder of the package and its h1:
// checksum. It is empty if it is not known, as for packages that others unpacked.
func ArchiveChecksum(folder, h1 string) string {
	content, err := os.ReadFile(folder + checksumsSuffix)
	lines := strings.Fields(string(content))
	if err != nil || len(lines) != 2 || lines[0] != h1 {
		return ""
	}
	return lines[1]
}
