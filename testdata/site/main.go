// Command site builds the website from docs, README.md and this repository, with VitePress,
// and checks its links. Run it at the top of a checkout: go run ./testdata/site.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/fleetc/fleetc/testdata/npm"
)

func main() {
	var b builder
	flag.StringVar(&b.out, "out", "bin/site", "write the site to this directory, which is replaced")
	flag.StringVar(&b.base, "base", "/", "the path of the site on its server, with a slash at both ends")
	flag.StringVar(&b.version, "version", "", "the version of the site (default: the tag of the commit, or main)")
	versions := flag.String("versions", "", "all versions that are published, separated by spaces: the site links to them")
	flag.Parse()
	b.versions = strings.Fields(*versions)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := b.build(ctx, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(1)
	}
}

// source is the directory with the pins and the configuration of VitePress.
const source = "site"

// A builder builds the site of one version.
type builder struct {
	out, base, version string
	versions           []string
}

// build writes the site to b.out. It replaces an earlier site only when the new one has no
// faults.
func (b *builder) build(ctx context.Context, log io.Writer) error {
	if !strings.HasPrefix(b.base, "/") || !strings.HasSuffix(b.base, "/") {
		return fmt.Errorf("-base %q: the path must start and end with a slash", b.base)
	}
	if b.version == "" {
		b.version = tag(ctx)
	}
	modules, err := npm.Install(ctx, "fleetc-site", source, log)
	if err != nil {
		return err
	}
	// VitePress resolves symbolic links and finds modules in the directories above.
	stage, err := os.MkdirTemp("", "fleetc-site-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(stage)
	if err := os.Symlink(modules, filepath.Join(stage, "node_modules")); err != nil {
		return err
	}
	if err := b.write(ctx, stage); err != nil {
		return err
	}
	if err := vitepress(ctx, stage, log); err != nil {
		return err
	}
	built := filepath.Join(stage, "out")
	if err := checkSite(built, b.base); err != nil {
		return err
	}
	if err := os.RemoveAll(b.out); err != nil {
		return err
	}
	return os.CopyFS(b.out, os.DirFS(built))
}

// tag returns the tag of the checked-out commit, or main.
func tag(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "git", "describe", "--tags", "--exact-match").Output()
	if err != nil {
		return "main"
	}
	return strings.TrimSpace(string(out))
}

// vitepress runs VitePress in a directory. It shows the output only when VitePress fails.
func vitepress(ctx context.Context, dir string, log io.Writer) error {
	cmd := exec.CommandContext(ctx, "node", "node_modules/vitepress/bin/vitepress.js", "build", ".")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(log, "%s\n", out)
		return fmt.Errorf("vitepress: %w", err)
	}
	return nil
}

// settings are the contents of site.json, which the configuration of VitePress reads.
type settings struct {
	Base     string    `json:"base"`
	Version  string    `json:"version"`
	Versions []link    `json:"versions"`
	Groups   []group   `json:"groups"`
	Sections []section `json:"sections"`
}

// write writes the pages and the settings to a directory for VitePress.
func (b *builder) write(ctx context.Context, dir string) error {
	if err := os.CopyFS(filepath.Join(dir, ".vitepress"), os.DirFS(filepath.Join(source, ".vitepress"))); err != nil {
		return err
	}
	pages, err := b.pages()
	if err != nil {
		return err
	}
	if pages["schema"], err = schemaReference(); err != nil {
		return err
	}
	if pages["commands"], err = commandReference(ctx, dir); err != nil {
		return err
	}
	nav, err := readNavigation(pages)
	if err != nil {
		return err
	}
	s := settings{Base: b.base, Version: b.version, Groups: groups(nav), Sections: nav, Versions: b.links()}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, ".vitepress", "site.json"), text, 0o644); err != nil {
		return err
	}
	return errors.Join(pages.write(dir), os.CopyFS(filepath.Join(dir, "pictures"), os.DirFS("docs/pictures")))
}

// commandReference returns the page that describes each command. The test that writes it sees
// the commands of package main.
func commandReference(ctx context.Context, dir string) (string, error) {
	file, err := filepath.Abs(filepath.Join(dir, "commands.md"))
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-vet=off", "-run", "^TestCommandReference$", "./cmd/fleetc", "-command-reference", file)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("reference of commands: %w\n%s", err, out)
	}
	text, err := os.ReadFile(file)
	return string(text), err
}

// links returns links to the other versions, which are directories beside this one.
func (b *builder) links() []link {
	out := []link{{Text: b.version + " (this site)", Link: "/"}}
	for _, v := range b.versions {
		if v != b.version {
			out = append(out, link{Text: v, Link: "../" + v + "/", Target: "_self"})
		}
	}
	return append(out, link{Text: "How versions are published", Link: "/contributing#the-site"})
}
