// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command image makes a container image of a Go program for several platforms: nothing but the program, the certificates of public
// authorities, an account without rights, and the list of what the program is made of. It needs no container engine and pulls nothing,
// and the same programs always give the same digest.
//
//	go run github.com/bowline-dev/bowline/deploy/image@latest --name widgets --version v1.2.3 --out bin/image linux/amd64=bin/widgets
//
// It writes a folder and an archive in the OCI image layout, which podman load, Docker with containerd's image store, ctr image import, crane push and skopeo
// copy read, and pushes to a registry if told to.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

var nameFormat = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintf(os.Stderr, "image: %v\n", err)
		os.Exit(1)
	}
}

// run makes the image that the arguments describe, and prints its digest.
func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), "Usage: image --name NAME --version VERSION --out FOLDER [flags] OS/ARCH=PROGRAM...\n\nMakes a container image "+
			"of a static Go program, without a container engine.\n\n")
		flags.PrintDefaults()
	}
	flags.StringVar(&o.name, "name", "", "`name` of the program in the image, and of the archive")
	flags.StringVar(&o.version, "version", "", "version of the program, and tag of the image in the archive")
	flags.StringVar(&o.source, "source", "", "`URL` of the source code (optional)")
	folder := flags.String("out", "", "`folder` that gets the layout and the archive; a layout that it has is replaced")
	seconds := flags.Int64("created", 0, "time of the image and its files, in `seconds` since 1970, such as that of the commit")
	push := flags.String("push", "", "also push the image to this `reference`, with the credentials of docker login")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.name == "" || o.version == "" || *folder == "" || flags.NArg() == 0 {
		return errors.New("give --name, --version, --out and, for each platform, an argument such as linux/amd64=bin/program (see --help)")
	}
	if !nameFormat.MatchString(o.name) {
		return fmt.Errorf("--name %q: want lower-case letters, digits, and hyphens between them", o.name)
	}
	if _, err := name.NewTag(o.name + ":" + o.version); err != nil {
		return fmt.Errorf("--version %q must be a tag of an image, of letters, digits, _, . and -: %w", o.version, err)
	}
	var to name.Reference
	if *push != "" {
		var err error
		if to, err = name.ParseReference(*push); err != nil {
			return fmt.Errorf("--push: %w", err)
		}
	}
	o.created = time.Unix(*seconds, 0).UTC()
	for _, arg := range flags.Args() {
		platform, file, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("%q is not a platform and its program, such as linux/amd64=bin/program", arg)
		}
		p, err := readProgram(platform, file)
		if err == nil {
			p.bom, err = o.billOfMaterials(p)
		}
		if err != nil {
			return err
		}
		o.programs = append(o.programs, p)
	}
	image, err := o.image()
	if err != nil {
		return err
	}
	if err := o.store(image, *folder); err != nil {
		return err
	}
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s:%s %s in %s\n", o.name, o.version, digest, filepath.Join(*folder, o.name+".tar"))
	if to == nil {
		return nil
	}
	if err := remote.WriteIndex(to, image, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return fmt.Errorf("pushing to %s: %w", to, err)
	}
	fmt.Fprintf(out, "pushed %s\n", to)
	return nil
}
