// Package renovate tests lib/renovate.json with Renovate itself.
package renovate

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// pins are the files that pin Renovate, all its dependencies, and the Node.js that it needs.
var pins = []string{"package.json", "package-lock.json"}

// A Renovate is an installed Renovate.
type Renovate struct {
	Node string // program
	Dir  string // of the package
}

// Install returns Renovate from the user's cache, or installs it there with npm: 460 MB
// on disk, with the Node.js that it needs. dir has the pins. Scripts of packages do not run.
func Install(ctx context.Context, dir string, log io.Writer) (*Renovate, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	texts := map[string][]byte{}
	for _, name := range pins {
		if texts[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
		sum.Write(texts[name])
	}
	const key = 12 // bytes
	place := filepath.Join(cache, "fleetc-renovate", fmt.Sprintf("%x", sum.Sum(nil)[:key]))
	if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
		return nil, err
	}
	if _, err := os.Stat(place); errors.Is(err, os.ErrNotExist) {
		if err := install(ctx, place, texts, log); err != nil {
			return nil, fmt.Errorf("install Renovate: %w", err)
		}
	}
	modules := filepath.Join(place, "node_modules")
	r := &Renovate{Dir: filepath.Join(modules, "renovate"), Node: filepath.Join(modules, node(), "bin", "node")}
	if _, err := os.Stat(r.Node); err != nil {
		return nil, fmt.Errorf("npm has installed no Node.js for this machine: %w", err)
	}
	return r, nil
}

// node returns the package of Node.js for this machine.
func node() string {
	arch := runtime.GOARCH
	if arch == "amd64" {
		arch = "x64"
	}
	return "node-" + runtime.GOOS + "-" + arch
}

func install(ctx context.Context, place string, texts map[string][]byte, log io.Writer) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return fmt.Errorf("%w: install Node.js with npm, for example with apt-get install npm", err)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(place), "install-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(tmp, name), text, 0o644); err != nil {
			return err
		}
	}
	fmt.Fprintln(log, "installing Renovate, once")
	cmd := exec.CommandContext(ctx, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error")
	cmd.Dir, cmd.Stdout, cmd.Stderr = tmp, log, log
	if err := cmd.Run(); err != nil {
		return err
	}
	// C headers, which nothing here compiles with.
	if err := os.RemoveAll(filepath.Join(tmp, "node_modules", node(), "include")); err != nil {
		return err
	}
	err = os.Rename(tmp, place)
	if _, exists := os.Stat(place); exists == nil {
		return nil // another process may have been faster
	}
	return err
}
