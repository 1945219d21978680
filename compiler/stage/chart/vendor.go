package chart

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// vendor is the directory of archives in the fleet's repository.
const vendor = "vendor/charts"

// vendoredForm matches the names of vendored files, which end in the first digits of
// their sha256.
var vendoredForm = regexp.MustCompile(`-([0-9a-f]{12})\.(?:tgz|json|yaml)$`)

// vendoredName returns the path of a vendored archive relative to the fleet's root.
// It contains name, version and digest for readers.
func vendoredName(ref fleet.ChartRef) string {
	const short = 12
	name, version := ref.Name, ref.Version
	if ref.Git.URL != "" {
		name = path.Base(strings.TrimSuffix(path.Join(ref.Git.URL, ref.Git.Path), ".git"))
		version = ref.Git.Ref[:min(short, len(ref.Git.Ref))]
	}
	plain := strings.NewReplacer("/", "_", "+", "_").Replace(name + "-" + version)
	return vendor + "/" + plain + "-" + strings.TrimPrefix(ref.Digest, "sha256:")[:short] + ".tgz"
}

// Vendor writes archives of charts and pinned sources to vendor/charts of the
// fleet's repository, which the compiler prefers to the network, and removes
// vendored files of old pins. It returns the written and removed files, sorted,
// relative to the fleet's root. It skips charts by path.
func (s *Source) Vendor(ctx context.Context, refs []fleet.ChartRef, sources []fleet.RemoteSource) (written, removed []string, err error) {
	root, err := os.OpenRoot(s.Root)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	var faults diag.List
	v := vendoring{source: s, root: root, keep: map[string]bool{}}
	refs = slices.Clone(refs)
	for _, src := range sources {
		if src.IsChart() {
			faults.Add(checkSource(src))
			refs = append(refs, src.Chart)
		}
	}
	for _, ref := range refs {
		if err := checkRef(ref); err != nil {
			faults.Add(err)
			continue
		}
		for at, want := range ref.Schemas.All() {
			faults.Add(v.file(ctx, s.schema(ref, at, want)))
		}
		for _, of := range append(dependencies(ref), ref) {
			if of.Path == "" {
				faults.Add(forParent(ref, of, v.file(ctx, s.archive(of))))
			}
		}
	}
	for _, src := range sources {
		if src.IsChart() {
			continue
		}
		if err := checkSource(src); err != nil {
			faults.Add(err)
			continue
		}
		faults.Add(v.file(ctx, s.remote(src)))
	}
	if len(faults) == 0 {
		removed, err = removeVendored(root, v.keep)
		faults.Add(err)
	}
	slices.Sort(v.written)
	return v.written, removed, faults.Err()
}

// A vendoring is the state of [Source.Vendor].
type vendoring struct {
	source  *Source
	root    *os.Root        // of the fleet
	keep    map[string]bool // files of pins
	written []string
}

// file writes a pinned file into the fleet's repository, unless its copy is up to date.
func (v *vendoring) file(ctx context.Context, p pinnedFile) error {
	if v.keep[p.name] {
		return nil
	}
	v.keep[p.name] = true
	if data, err := v.source.vendored(p); data != nil && err == nil {
		return nil
	}
	data, err := v.source.stored(ctx, p)
	if err == nil {
		err = writeVendored(v.root, p.name, data)
	}
	if err == nil {
		v.written = append(v.written, p.name)
	}
	return err
}

// writeVendored writes a file atomically.
func writeVendored(root *os.Root, name string, data []byte) error {
	file := filepath.FromSlash(name)
	dir, base := filepath.Split(file)
	err := root.MkdirAll(filepath.Clean(dir), 0o755)
	if err == nil {
		err = fleet.Replacement{File: file, Temp: dir + tempPrefix + base, Mode: 0o644}.WriteIn(root, data)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// removeVendored removes vendored files of old pins. It removes only files whose
// name has the digest of their content.
func removeVendored(root *os.Root, keep map[string]bool) (removed []string, err error) {
	dir, err := root.Open(filepath.FromSlash(vendor))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name := vendor + "/" + e.Name()
		m := vendoredForm.FindStringSubmatch(e.Name())
		if m == nil || keep[name] || !e.Type().IsRegular() {
			continue
		}
		data, err := readFile(root, name, maxDownload)
		if err != nil || !strings.HasPrefix(digest(data), "sha256:"+m[1]) {
			continue
		}
		if err := root.Remove(filepath.FromSlash(name)); err != nil {
			return removed, err
		}
		removed = append(removed, name)
	}
	slices.Sort(removed)
	return removed, nil
}
