package jsonnet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"

	"github.com/fleetc/fleetc/compiler/diag"
)

const (
	vendorDir = "vendor" // where jsonnet-bundler puts libraries
	library   = "fleetc.libsonnet"
	embedded  = "<fleetc>/" // begins the name of what is no file of the fleet's

	maxReads     = 10_000    // files of one render
	maxReadBytes = 128 << 20 // bytes of them
)

// A run is one evaluation.
type run struct {
	renderer *Renderer
	ctx      context.Context // of the natives
	req      Request
	args     map[string]any // by the parameter that takes it

	reads map[string]*file
	bytes int
	told  map[string]*diag.Diag // what importer and natives said, by its text
	trace bytes.Buffer
}

func newRun(ctx context.Context, r *Renderer, req Request) *run {
	return &run{renderer: r, ctx: ctx, req: req, reads: map[string]*file{}, told: map[string]*diag.Diag{}}
}

func (t *run) readFiles() []string { return slices.Sorted(maps.Keys(t.reads)) }

// isUsers reports whether a file name of the library's is that of a file in
// the fleet.
func isUsers(name string) bool { return name != "" && name[0] != '<' }

// parse returns the syntax tree of a file.
func (m *machine) parse(name string) (ast.Node, error) {
	m.meter.code = true
	node, _, err := m.vm.ImportAST("", name)
	return node, err
}

// Import finds and reads a file: beside the one that imports it, in the vendor
// directory, or what every fleet has.
func (m *machine) Import(from, name string) (jsonnet.Contents, string, error) {
	t := m.run
	found, f, err := t.find(from, name)
	if err == nil && m.meter.code {
		if nested := f.parsable(); nested != nil {
			err = t.tell(&diag.Diag{Msg: fmt.Sprintf("%q is not evaluated: %v", name, nested)})
		}
	}
	if err != nil {
		return jsonnet.Contents{}, "", err
	}
	return f.contents, found, nil
}

// tell returns a fault as an error that passes through the library, which
// keeps its text alone.
func (t *run) tell(d *diag.Diag) error {
	t.told[d.Msg] = d
	return errors.New(d.Msg)
}

// find returns the file that an import names.
func (t *run) find(from, name string) (string, *file, error) {
	fault := func(hint, format string, args ...any) (string, *file, error) {
		return "", nil, t.tell(&diag.Diag{Msg: fmt.Sprintf("%q %s", name, fmt.Sprintf(format, args...)), Hint: hint})
	}
	if path.IsAbs(name) || strings.ContainsAny(name, "\\\x00") || strings.Contains(name, "://") {
		return fault("", "is no relative path with slashes: files come from the repository alone")
	}
	places := whereToLook(from, name)
	for _, at := range places {
		if at == ".." || strings.HasPrefix(at, "../") {
			return fault("", "leads out of the repository")
		}
		f := t.renderer.files.load(t.renderer.Dir, at)
		if f.missing {
			continue
		}
		if f.err != nil {
			return fault("", "cannot be read: %v", f.err)
		}
		if err := t.count(at, f); err != nil {
			return "", nil, err
		}
		return at, f, nil
	}
	if f := t.renderer.library(); f != nil && name == library && from != "" {
		return embedded + library, f, nil
	}
	return fault(toPutThere(from, name, places), "is not there")
}

// whereToLook returns the files that an import may mean, in order.
func whereToLook(from, name string) []string {
	if from == "" {
		return []string{path.Clean(name)}
	}
	var places []string
	if isUsers(from) {
		places = append(places, path.Join(path.Dir(from), name))
	}
	if !strings.HasPrefix(name, "./") && !strings.HasPrefix(name, "../") {
		places = append(places, path.Join(vendorDir, name))
	}
	return places
}

// toPutThere returns the hint for an import of a file that is in none of the
// places.
func toPutThere(from, name string, places []string) string {
	first, _, ok := strings.Cut(name, "/")
	switch {
	case from == "" || len(places) == 0:
		return ""
	case ok && strings.Contains(strings.Trim(first, "."), "."): // a host's name
		return "run jb install, and commit the directory vendor"
	}
	return "add " + strings.Join(places, " or ")
}

// count bounds what one render reads.
func (t *run) count(name string, f *file) error {
	if t.reads[name] != nil {
		return nil
	}
	t.reads[name] = f
	t.bytes += len(f.contents.Data())
	if len(t.reads) > maxReads || t.bytes > maxReadBytes {
		return t.tell(&diag.Diag{Msg: fmt.Sprintf("%q is one file too many: at most %d files and %d MiB are read", name, maxReads, maxReadBytes>>20)})
	}
	return nil
}

// library returns the library of all fleets; nil when there is none.
func (r *Renderer) library() *file {
	r.once.Do(func() {
		if r.Library != nil {
			r.lib = &file{contents: jsonnet.MakeContentsRaw(r.Library)}
		}
	})
	return r.lib
}
