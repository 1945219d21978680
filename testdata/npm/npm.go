// Package npm installs npm packages for tests.
package npm

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// pins are the files that pin packages and all their dependencies.
var pins = []string{"package.json", "package-lock.json"}

// Install installs the packages that the files in dir pin, and returns their node_modules
// directory. npm installs them into the named directory of the user's cache, once for each
// content of these files, without install scripts.
func Install(ctx context.Context, name, dir string, log io.Writer) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	texts := map[string][]byte{}
	for _, name := range pins {
		if texts[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			return "", err
		}
		sum.Write(texts[name])
	}
	const key = 12 // bytes
	place := filepath.Join(cache, name, fmt.Sprintf("%x", sum.Sum(nil)[:key]))
	if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
		return "", err
	}
	if _, err := os.Stat(place); errors.Is(err, os.ErrNotExist) {
		if err := install(ctx, place, texts, log); err != nil {
			return "", fmt.Errorf("install %s: %w", name, err)
		}
	}
	return filepath.Join(place, "node_modules"), nil
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
	fmt.Fprintln(log, "installing", filepath.Base(filepath.Dir(place))+", once")
	cmd := exec.CommandContext(ctx, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error")
	cmd.Dir, cmd.Stdout, cmd.Stderr = tmp, log, log
	if err := cmd.Run(); err != nil {
		return err
	}
	err = os.Rename(tmp, place)
	if _, exists := os.Stat(place); exists == nil {
		return nil // another process may have been faster
	}
	return err
}
