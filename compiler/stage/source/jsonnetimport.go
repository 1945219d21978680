package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

const (
	vendorDir = "vendor" // libraries of jsonnet-bundler
	library   = "fleetc.libsonnet"
	embedded  = "<fleetc>/" // prefix of file names that are not in the fleet

	maxJsonnetReads     = 10_000    // files of one render
	maxJsonnetReadBytes = 128 << 20 // total bytes of the files of one render
)

// A run is one evaluation.
type run struct {
	renderer *JsonnetRenderer
	ctx      context.Context // for native functions
	req      JsonnetRequest
	args     map[string]any // by parameter

	reads       map[string]*jsonnetFile
	bytes       int
	knownFaults map[string]*diag.Diag // faults of the importer and natives, by message
}

func newRun(ctx context.Context, r *JsonnetRenderer, req JsonnetRequest) *run {
	return &run{renderer: r, ctx: ctx, req: req, reads: map[string]*jsonnetFile{}, knownFaults: map[string]*diag.Diag{}}
}

func (t *run) readFiles() []string { return slices.Sorted(maps.Keys(t.reads)) }

// isUsers reports whether a file name of the library is a file of the fleet.
func isUsers(name string) bool { return name != "" && name[0] != '<' }

// parse returns the syntax tree of a file.
func (m *machine) parse(name string) (ast.Node, error) {
	m.meter.code = true
	node, _, err := m.vm.ImportAST("", name)
	return node, err
}

// Import finds and reads a file for the library: next to the importing file, in
// the vendor directory, or the embedded library.
func (m *machine) Import(from, name string) (jsonnet.Contents, string, error) {
	t := m.run
	found, f, err := t.find(from, name)
	if err == nil && f.notUTF8 != nil && (m.meter.code || !m.meter.binary) {
		d := *f.notUTF8
		d.Msg = fmt.Sprintf("%q is not UTF-8", name)
		if !m.meter.code {
			d.Hint += ", or read its bytes with importbin"
		}
		err = t.register(&d)
	}
	if err == nil && m.meter.code {
		if parseErr := f.checkParse(); parseErr != nil {
			err = t.register(&diag.Diag{Code: diag.CodeJsonnet, Msg: fmt.Sprintf("%q is not evaluated: %v", name, parseErr), Hint: "split the file, or take data by std.parseJson(importstr ...)"})
		}
	}
	if err != nil {
		return jsonnet.Contents{}, "", err
	}
	return f.contents, found, nil
}

// register returns a fault as an error for the library, which only passes on
// its text, and records it under that text.
func (t *run) register(d *diag.Diag) error {
	t.knownFaults[d.Msg] = d
	return errors.New(d.Msg)
}

// find returns the file that an import names.
func (t *run) find(from, name string) (string, *jsonnetFile, error) {
	inFleet := "copy the file into the fleet, and write its path relative to the file that imports it"
	if from == "" {
		inFleet = "name a file of the fleet, relative to its root"
	}
	fault := func(hint, format string, args ...any) (string, *jsonnetFile, error) {
		return "", nil, t.register(&diag.Diag{Code: diag.CodeSourceFile, Msg: fmt.Sprintf("%q %s", name, fmt.Sprintf(format, args...)), Hint: hint})
	}
	if path.IsAbs(name) || strings.ContainsAny(name, "\\\x00") || strings.Contains(name, "://") {
		return fault(inFleet, "is not a relative path with slashes: imports must be files of the fleet")
	}
	places := importPaths(from, name)
	for _, at := range places {
		if at == ".." || strings.HasPrefix(at, "../") {
			return fault(inFleet, "is outside of the fleet's directory")
		}
		f := t.renderer.files.load(t.renderer.Dir, at)
		if f.missing {
			continue
		}
		if f.err != nil {
			return fault("name a file of the fleet that can be read", "cannot be read: %v", f.err)
		}
		if err := t.count(at, f); err != nil {
			return "", nil, err
		}
		return at, f, nil
	}
	if f := t.renderer.library(); f != nil && name == library && from != "" {
		return embedded + library, f, nil
	}
	return fault(missingHint(from, name, places), "is not there")
}

// importPaths returns the candidate files of an import, in order.
func importPaths(from, name string) []string {
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

// missingHint returns the hint for an import of a missing file.
func missingHint(from, name string, places []string) string {
	first, _, ok := strings.Cut(name, "/")
	switch {
	case from == "":
		return "create it, or correct the path of the release"
	case len(places) == 0:
		return "name a file beside this one, or in the directory vendor"
	case ok && strings.Contains(strings.Trim(first, "."), "."): // a host name
		return "run jb install, and commit the directory vendor"
	}
	return "add " + strings.Join(places, " or ")
}

// count limits the files of one render.
func (t *run) count(name string, f *jsonnetFile) error {
	if t.reads[name] != nil {
		return nil
	}
	t.reads[name] = f
	t.bytes += len(f.contents.Data())
	if len(t.reads) > maxJsonnetReads || t.bytes > maxJsonnetReadBytes {
		return t.register(&diag.Diag{
			Code: diag.CodeSourceLimits,
			Msg:  fmt.Sprintf("%q exceeds the limit of %d files and %d MiB", name, maxJsonnetReads, maxJsonnetReadBytes>>20),
			Hint: "import fewer files, or make it several releases",
		})
	}
	return nil
}

// library returns the embedded library, or nil.
func (r *JsonnetRenderer) library() *jsonnetFile {
	r.once.Do(func() {
		if r.Library != nil {
			r.lib = &jsonnetFile{contents: jsonnet.MakeContentsRaw(r.Library)}
		}
	})
	return r.lib
}
