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

// vendored returns the archive of a pin from the fleet's repository, or nil. An
// archive with another digest is a fault.
func (s *Source) vendored(ref fleet.ChartRef) ([]byte, error) {
	return s.readVendored(vendoredName(ref), "archive", ref.String(), ref.Digest)
}

// readVendored reads a vendored file and checks its digest. It returns nil when the
// file does not exist.
func (s *Source) readVendored(name, kind, of, want string) ([]byte, error) {
	if s.Root == "" {
		return nil, nil
	}
	root, err := os.OpenRoot(s.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	wrong := func(msg string) error {
		return &diag.Diag{Code: diag.CodeVendoredCopy, At: []diag.Pos{{File: name}}, Msg: msg, Hint: "run fleetc chart vendor, which fetches it again", Cause: err}
	}
	if err != nil || !info.Mode().IsRegular() {
		return nil, wrong("the " + kind + " of " + of + " cannot be read")
	}
	data, err := readFile(root, name, maxDownload)
	if err != nil {
		return nil, wrong("the " + kind + " of " + of + " cannot be read")
	}
	if got := digest(data); got != want {
		return nil, wrong(fmt.Sprintf("the %s has the digest %s, the pin of %s says %s", kind, got, of, want))
	}
	return data, nil
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
		faults.Add(v.vendorSchemas(ctx, ref))
		for _, of := range append(dependencies(ref), ref) {
			faults.Add(forParent(ref, of, v.vendorChart(ctx, of)))
		}
	}
	for _, src := range sources {
		if !src.IsChart() {
			faults.Add(v.vendorRemote(ctx, src))
		}
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

// vendorChart writes the archive of a remote chart.
func (v *vendoring) vendorChart(ctx context.Context, ref fleet.ChartRef) error {
	if ref.Path != "" {
		return nil
	}
	vendored := func() ([]byte, error) { return v.source.vendored(ref) }
	return v.file(vendoredName(ref), vendored, func() ([]byte, error) { return v.source.stored(ctx, ref) })
}

// file writes the result of stored to a vendored file, unless the file is up to date.
func (v *vendoring) file(name string, vendored, stored func() ([]byte, error)) error {
	if v.keep[name] {
		return nil
	}
	v.keep[name] = true
	if data, err := vendored(); data != nil && err == nil {
		return nil
	}
	data, err := stored()
	if err == nil {
		err = writeVendored(v.root, name, data)
	}
	if err == nil {
		v.written = append(v.written, name)
	}
	return err
}

// writeVendored writes a file atomically.
func writeVendored(root *os.Root, name string, data []byte) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", name, err)
		}
	}()
	file := filepath.FromSlash(name)
	if err := root.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	temp := filepath.Join(filepath.Dir(file), tempPrefix+filepath.Base(file))
	defer func() {
		if err != nil {
			err = errors.Join(err, root.RemoveAll(temp))
		}
	}()
	if err := root.WriteFile(temp, data, 0o644); err != nil {
		return err
	}
	return root.Rename(temp, file)
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
