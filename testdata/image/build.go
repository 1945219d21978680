package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// A program is fleetc, compiled for a platform.
type program struct {
	platform          *v1.Platform
	file              string
	source            string // URL of the repository
	version, revision string
	time              time.Time // when the commit was made
}

// build compiles fleetc. GOFLAGS has the other flags of the project's builds, see the
// Makefile.
func build(ctx context.Context, file string, platform *v1.Platform) (*program, error) {
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=true", "-trimpath", "-o", file, "./cmd/fleetc")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+platform.OS, "GOARCH="+platform.Architecture)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go build for %s, at the top of a checkout: %w", platform, err)
	}
	return describe(file, platform)
}

// describe reads what go build has recorded in the file.
func describe(file string, platform *v1.Platform) (*program, error) {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return nil, err
	}
	p := &program{platform: platform, file: file, source: "https://" + info.Main.Path, version: info.Main.Version}
	modified := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			p.revision = s.Value
		case "vcs.time":
			p.time, err = time.Parse(time.RFC3339, s.Value)
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	if err == nil && p.time.IsZero() {
		err = fmt.Errorf("%s has no commit: build it in a git clone, since go records none in a worktree", file)
	}
	// The cache tells builds that are not releases apart by the time of the program file.
	if modified {
		p.revision, p.time = p.revision+"-dirty", time.Now().Truncate(time.Second)
	}
	return p, err
}
