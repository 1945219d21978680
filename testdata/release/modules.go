package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// mainModule is the module of fleetc. Its licence is in the archives itself.
const mainModule = "github.com/fleetc/fleetc"

// platforms are the systems that releases are built for.
var platforms = []string{"darwin/amd64", "darwin/arm64", "linux/amd64", "linux/arm64", "windows/amd64", "windows/arm64"}

// allowedLicenses are the SPDX identifiers that linked modules may have, and the
// identifiers of licensecheck for Google's patent grants.
var allowedLicenses = []string{
	"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0", "Unlicense",
	"GooglePatentClause", "GooglePatentsFile",
}

// A module is a Go module that is linked into the binary of a platform.
type module struct {
	Path, Version string
	Licenses      []string // SPDX identifiers, sorted
	Files         []licenseFile
}

// A licenseFile is a file of a module that must be distributed with it.
type licenseFile struct{ Name, Text string }

// A goPackage is a package as go list prints it.
type goPackage struct {
	Dir      string
	Standard bool
	Module   *struct{ Path, Version, Dir string }
}

// linkedModules returns the modules that are linked into the binary of one of the
// platforms, and Go's standard library, sorted by path.
func linkedModules(ctx context.Context, root string, platforms ...string) ([]module, error) {
	type source struct {
		module
		dir      string
		packages map[string]bool
	}
	found := map[string]*source{}
	for _, platform := range platforms {
		goos, arch, _ := strings.Cut(platform, "/")
		cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-tags=kustomize_disable_go_plugin_support", "-json=Dir,Standard,Module", "./cmd/fleetc")
		cmd.Dir, cmd.Env = root, append(os.Environ(), "GOOS="+goos, "GOARCH="+arch, "CGO_ENABLED=0")
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list for %s: %w", platform, err)
		}
		for d := json.NewDecoder(bytes.NewReader(out)); ; {
			var p goPackage
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
			if p.Standard || p.Module == nil || p.Module.Path == mainModule {
				continue
			}
			if found[p.Module.Path] == nil {
				found[p.Module.Path] = &source{module{Path: p.Module.Path, Version: p.Module.Version}, p.Module.Dir, map[string]bool{}}
			}
			found[p.Module.Path].packages[p.Dir] = true
		}
	}
	standard, err := standardLibrary(ctx)
	if err != nil {
		return nil, err
	}
	modules := []module{standard}
	var errs []error
	for _, s := range found {
		s.Files, s.Licenses, err = licensesOf(s.dir, slices.Sorted(maps.Keys(s.packages)))
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.Path, err))
		}
		modules = append(modules, s.module)
	}
	slices.SortFunc(modules, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(errs, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return modules, errors.Join(errs...)
}

// standardLibrary returns Go's standard library as a module.
func standardLibrary(ctx context.Context) (module, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT", "GOVERSION").Output()
	if err != nil {
		return module{}, fmt.Errorf("go env: %w", err)
	}
	root, version, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	m := module{Path: "std", Version: strings.TrimPrefix(version, "go")}
	if m.Files, m.Licenses, err = licensesOf(root, nil); err != nil {
		return m, fmt.Errorf("the standard library: %w", err)
	}
	return m, nil
}

// These match the names of files with a licence, a notice or a patent grant.
// Documentation is not linked, so its licences are left out.
var (
	licenseName   = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicense)([-_.].*)?$`)
	noticeName    = regexp.MustCompile(`(?i)^(notice|patents)(\.(txt|md))?$`)
	otherFileName = regexp.MustCompile(`(?i)\.(go|docs)$`)
)

// licensesOf reads the licence files in the directory of a module and in those
// of its linked packages. A module must have a licence, and all of its licences
// must be allowed.
func licensesOf(dir string, packages []string) ([]licenseFile, []string, error) {
	dirs := map[string]bool{dir: true}
	for _, p := range packages {
		for ; len(p) > len(dir); p = filepath.Dir(p) {
			dirs[p] = true
		}
	}
	var files []licenseFile
	ids := map[string]bool{}
	for _, d := range slices.Sorted(maps.Keys(dirs)) {
		entries, err := os.ReadDir(d)
		if err != nil {
			return nil, nil, err
		}
		for _, e := range entries {
			isLicense := licenseName.MatchString(e.Name())
			if !e.Type().IsRegular() || otherFileName.MatchString(e.Name()) || !isLicense && !noticeName.MatchString(e.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(d, e.Name()))
			if err != nil {
				return nil, nil, err
			}
			name, err := filepath.Rel(dir, filepath.Join(d, e.Name()))
			if err != nil {
				return nil, nil, err
			}
			files = append(files, licenseFile{filepath.ToSlash(name), string(text)})
			if !isLicense {
				continue
			}
			found, err := classify(text)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", filepath.ToSlash(name), err)
			}
			for _, id := range found {
				ids[id] = true
			}
		}
	}
	if len(ids) == 0 {
		return nil, nil, errors.New("no licence file")
	}
	return files, slices.Sorted(maps.Keys(ids)), nil
}

// classify returns the licences of a text. It must consist mainly of known
// licences, all of which are allowed.
func classify(text []byte) ([]string, error) {
	const enough = 60 // percent; copyright lines and lists of authors are unknown text
	coverage := licensecheck.Scan(text)
	var ids []string
	for _, m := range coverage.Match {
		if !slices.Contains(allowedLicenses, m.ID) {
			return nil, fmt.Errorf("licence %s is not allowed", m.ID)
		}
		if !strings.HasPrefix(m.ID, "Google") && !slices.Contains(ids, m.ID) {
			ids = append(ids, m.ID)
		}
	}
	if len(ids) == 0 || coverage.Percent < enough {
		return nil, fmt.Errorf("unknown licence: %.0f%% of the text is known: %v", coverage.Percent, ids)
	}
	return ids, nil
}

// writeLicenses writes all licence texts, each text once.
func writeLicenses(w io.Writer, modules []module) error {
	users := map[string][]string{}
	var texts []string
	for _, m := range modules {
		for _, f := range m.Files {
			if users[f.Text] == nil {
				texts = append(texts, f.Text)
			}
			users[f.Text] = append(users[f.Text], fmt.Sprintf("%s %s (%s)", m.Path, m.Version, f.Name))
		}
	}
	rule := strings.Repeat("=", 80)
	if _, err := fmt.Fprintf(w, "fleetc contains the Go modules below. Each text follows the modules that it is for.\n"); err != nil {
		return err
	}
	for _, text := range texts {
		if _, err := fmt.Fprintf(w, "\n%s\n%s\n%s\n\n%s\n", rule, strings.Join(users[text], "\n"), rule, strings.TrimRight(text, "\n")); err != nil {
			return err
		}
	}
	return nil
}
