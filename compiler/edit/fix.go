package edit

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/rogpeppe/go-internal/diff"
)

// A FixRequest says what [Fix] does.
type FixRequest struct {
	Paths  []string // files and directories, relative to the working directory; none for the fleet
	DryRun bool     // whether nothing is written
}

// A FixResult is the result of [Fix].
type FixResult struct {
	Files   []string       `json:"files"`   // changed files
	Changes []RenamedField `json:"changes"` // in the order of files and lines
	Unsure  []RenamedField `json:"unsure"`  // names that may be old, of structs whose type is not known
	Faults  int            `json:"faults"`  // faults that the fleet still has
	Written bool           `json:"written"`

	// Before and After are the contents of the changed files.
	Before map[string][]byte `json:"-"`
	After  map[string][]byte `json:"-"`
}

// Fix renames fields that have another name in the schema now, in the files of the fleet's
// layers and of the packages that they import. The fleet need not compile. Fix writes
// nothing if a file does not parse, if a reference would mean another value, or if a cluster
// that compiles would have a fault.
func Fix(ctx context.Context, c *compiler.Compiler, req FixRequest) (*FixResult, error) {
	root, module, err := load.Root(cmp.Or(c.Dir, "."))
	if err != nil {
		return nil, err
	}
	links, err := layerLinks(root)
	if err != nil {
		return nil, err
	}
	names, err := filesToFix(root, module, links, req.Paths)
	if err != nil {
		return nil, err
	}
	out := &FixResult{Files: []string{}, Changes: []RenamedField{}, Unsure: []RenamedField{}, Before: map[string][]byte{}, After: map[string][]byte{}}
	if len(diag.Renames) == 0 {
		return out, nil
	}
	var faults diag.List
	for _, name := range names {
		faults.Add(out.fixFile(root, name))
	}
	if err := faults.Err(); err != nil || len(out.Files) == 0 {
		return out, err
	}
	// Other names have other lengths, to which the values in the lines below are aligned.
	if err := formatEdits(root, out.Before, out.After); err != nil {
		return nil, err
	}
	edits := load.Edits(maps.Clone(out.After))
	for link, target := range links {
		if text, ok := out.After[target]; ok {
			edits[link] = text
		}
	}
	if out.Faults, err = compileFixed(ctx, c, edits); err != nil {
		return nil, err
	}
	if req.DryRun {
		return out, nil
	}
	out.Written = true
	return out, writeFiles(root, out.Before, out.After)
}

// fixFile adds the changes of a file.
func (r *FixResult) fixFile(root, name string) error {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		return err
	}
	renamed, err := renameFields(root, name, text)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(text, []byte(load.GeneratedBy)) { // its types are those of a chart's values
		r.Unsure = append(r.Unsure, renamed.unsure...)
	}
	if len(renamed.changes) == 0 {
		return nil
	}
	r.Files, r.Changes = append(r.Files, name), append(r.Changes, renamed.changes...)
	r.Before[name], r.After[name] = text, renamed.text
	return nil
}

// compileFixed compiles the fleet before and after the edits. It returns the number of
// faults after them, and an error if a cluster had none and has one.
func compileFixed(ctx context.Context, c *compiler.Compiler, after load.Edits) (int, error) {
	compile := func(edits load.Edits) error {
		edited := *c
		edited.Edits = edits
		_, err := edited.Load(ctx)
		return err
	}
	before := compile(nil)
	next := compile(after)
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	faults := diag.All(next)
	failed := clustersOf(diag.All(before))
	var worse diag.List
	for _, d := range faults {
		if before == nil || slices.ContainsFunc(d.Clusters, func(id string) bool { return !failed[id] }) && !failed[""] {
			worse = append(worse, d)
		}
	}
	if n := len(worse); n > 0 {
		worse = append(worse, &diag.Diag{
			Code: diag.CodeCannotEdit,
			Msg:  fmt.Sprintf("with the new names, clusters that compile now would have these faults (%d); nothing was written", n),
			Hint: "correct the lines above, then run fleetc fix again",
		})
		return 0, worse.Err()
	}
	return len(faults), nil
}

// clustersOf returns the clusters of faults, "" for a fault of no certain cluster.
func clustersOf(faults []*diag.Diag) map[string]bool {
	out := map[string]bool{}
	for _, d := range faults {
		if len(d.Clusters) == 0 {
			out[""] = true
		}
		for _, id := range d.Clusters {
			out[id] = true
		}
	}
	return out
}

// Diff returns the change of a file as a unified diff, in which the file has the given name.
func (r *FixResult) Diff(file, name string) string {
	return string(diff.Diff(name, r.Before[file], name, r.After[file]))
}
