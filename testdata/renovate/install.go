// Package renovate tests lib/renovate.json with Renovate itself.
package renovate

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/fleetc/fleetc/testdata/npm"
)

// A Renovate is an installed Renovate.
type Renovate struct {
	Node string // program
	Dir  string // of the package
}

// Install returns Renovate from the user's cache, or installs it there with npm: 460 MB
// on disk, with the Node.js that it needs. dir has the pins. Scripts of packages do not run.
func Install(ctx context.Context, dir string, log io.Writer) (*Renovate, error) {
	modules, err := npm.Install(ctx, "fleetc-renovate", dir, log)
	if err != nil {
		return nil, err
	}
	r := &Renovate{Dir: filepath.Join(modules, "renovate"), Node: filepath.Join(modules, node(), "bin", "node")}
	if _, err := os.Stat(r.Node); err != nil {
		return nil, fmt.Errorf("npm has installed no Node.js for this machine: %w", err)
	}
	// C headers, which are not needed here.
	return r, os.RemoveAll(filepath.Join(modules, node(), "include"))
}

// node returns the package of Node.js for this machine.
func node() string {
	arch := runtime.GOARCH
	if arch == "amd64" {
		arch = "x64"
	}
	return "node-" + runtime.GOOS + "-" + arch
}
