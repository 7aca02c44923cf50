// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"debug/buildinfo"
	"debug/elf"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// A program is an executable for a platform.
type program struct {
	platform v1.Platform
	content  []byte
	info     *buildinfo.BuildInfo
	bom      []byte // the list of its modules, of billOfMaterials
}

// machines are the architectures of Go that an image may have.
var machines = map[string]elf.Machine{
	"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64, "riscv64": elf.EM_RISCV, "s390x": elf.EM_S390, "ppc64le": elf.EM_PPC64,
}

// readProgram reads a program that runs in an image that has no other file.
func readProgram(platform, file string) (program, error) {
	parsed, err := v1.ParsePlatform(platform)
	if err != nil {
		return program{}, fmt.Errorf("platform %q: %w", platform, err)
	}
	machine, known := machines[parsed.Architecture]
	if parsed.OS != "linux" || !known {
		return program{}, fmt.Errorf("platform %q: want linux/%s", platform, strings.Join(slices.Sorted(maps.Keys(machines)), ", linux/"))
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return program{}, err
	}
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return program{}, fmt.Errorf("%s is not a program that Go built: %w", file, err)
	}
	executable, err := elf.Open(file)
	if err != nil {
		return program{}, fmt.Errorf("%s is not a program for Linux: %w", file, err)
	}
	defer executable.Close()
	if executable.Machine != machine {
		return program{}, fmt.Errorf("%s is for %s, not for %s: build it with GOARCH=%s", file, executable.Machine, platform, parsed.Architecture)
	}
	for _, p := range executable.Progs {
		if p.Type == elf.PT_INTERP {
			return program{}, fmt.Errorf("%s needs a dynamic linker, which the image does not have: build it with CGO_ENABLED=0 and without -buildmode=pie", file)
		}
	}
	return program{platform: *parsed, content: content, info: info}, nil
}
