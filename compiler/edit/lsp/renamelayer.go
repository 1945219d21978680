package lsp

import (
	"cmp"
	"context"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// renameFile is the operation of a workspace edit that renames a file or a directory.
type renameFile struct {
	Kind   string `json:"kind"`
	OldURI string `json:"oldUri"`
	NewURI string `json:"newUri"`
}

// layerName matches the names of directories that layers may have.
var layerName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// layer returns the edit that renames the directory of a layer, with the mentions of its name
// and of its path.
func (r *renamer) layer(ctx context.Context, c *cursor) (any, error) {
	r.s.mu.Lock()
	can := r.s.client.Workspace.WorkspaceEdit
	r.s.mu.Unlock()
	dir := filepath.Join(r.root, filepath.FromSlash(r.layerDir(c)))
	target := filepath.Join(filepath.Dir(dir), r.after)
	_, exists := os.Lstat(target)
	switch {
	case !can.DocumentChanges || !slices.Contains(can.ResourceOperations, "rename"):
		return nil, refuse("this editor cannot rename directories: rename the directory and the references to it by hand")
	case r.before == "root":
		return nil, refuse("the root layer is the directory environments, which has a fixed name")
	case dir == r.root:
		return nil, refuse("%s is not the name of a layer that this file can rename: open a file of the layer", r.before)
	case !layerName.MatchString(r.after) || r.after == "root" || r.after == "charts":
		return nil, refuse("%q is not a valid name of a layer: use letters, digits and inner - _ and .", r.after)
	case exists == nil:
		return nil, refuse("the directory %s already exists", r.rel(target))
	}
	release, err := r.s.evaluation.acquire(ctx)
	if err != nil {
		return nil, err
	}
	_, _, _, err = r.compile(ctx)
	release()
	if err != nil {
		return nil, err
	}
	layers, err := load.Layers(r.root)
	if err != nil {
		return nil, err
	}
	r.dir = r.rel(dir)
	for _, l := range layers {
		r.isShared = r.isShared || l.Name == r.before && l.Dir != r.dir
		if l.Name == r.after && (fleet.IsWithin(l.Dir, r.dir) || fleet.IsWithin(r.dir, l.Dir)) {
			return nil, refuse("the layer %s above or below already has this name", l.Dir)
		}
	}
	if err := r.scan(); err != nil {
		return nil, err
	}
	if data, err := os.ReadFile(filepath.Join(r.root, ".sops.yaml")); err == nil && strings.Contains(string(data), r.dir) {
		return nil, refuse(".sops.yaml names %s: change its rules by hand, and rename the directory", r.dir)
	}
	if len(r.computed) > 0 {
		return nil, refuse("%s: an expression computes the name of a layer or a cluster here: write the name first, or rename by hand", r.computed[0])
	}
	if len(r.ambiguous) > 0 {
		return nil, refuse("%s: this refers to each layer called %s: rename by hand", r.ambiguous[0], r.before)
	}
	if len(r.patterns) > 0 {
		return nil, r.refusePattern(r.patterns[0])
	}
	edit := cmp.Or(r.s.workspaceEdit(r.texts, r.edits), &workspaceEdit{})
	edit.DocumentChanges = append(edit.DocumentChanges, renameFile{"rename", uriOf(dir), uriOf(target)})
	return edit, nil
}

// layerDir returns the directory of the layer whose name is at the cursor: that of the file,
// or one above it, relative to the root; empty when there is none.
func (r *renamer) layerDir(c *cursor) string {
	for dir := c.layer(); strings.HasPrefix(dir, "environments/"); dir = path.Dir(dir) {
		if path.Base(dir) == r.before {
			return dir
		}
	}
	return ""
}

// rel returns the path of a file below the root.
func (r *renamer) rel(file string) string {
	rel, err := filepath.Rel(r.root, file)
	if err != nil {
		return file
	}
	return filepath.ToSlash(rel)
}

// isInLayer reports whether a field of the file with names of layers may name the layer: the
// file is in the layer or below it, or above it for a waiver.
func (r *renamer) isInLayer(field string) bool {
	dir := path.Dir(r.rel(r.file))
	return fleet.IsWithin(dir, r.dir) || field == "overridden" && fleet.IsWithin(r.dir, dir)
}

// layerText changes a text that names the layer: a path, or a pattern of cluster IDs.
func (r *renamer) layerText(lit *ast.BasicLit, text string, isPattern bool) {
	renamed := path.Join(path.Dir(r.dir), r.after)
	_, module, _ := load.Root(r.root)
	for _, prefix := range []string{r.dir, "./" + r.dir, module + "/" + r.dir} {
		if rest, ok := strings.CutPrefix(text, prefix); ok && (rest == "" || rest[0] == '/' || rest[0] == ':') {
			r.replace(lit, strings.TrimSuffix(prefix, r.dir)+renamed+rest)
			return
		}
	}
	if !isPattern {
		return
	}
	keys, dir := strings.Split(text, "/"), strings.Split(strings.TrimPrefix(r.dir, "environments/"), "/")
	if len(keys) < len(dir) {
		return
	}
	for i, segment := range dir {
		if ok, err := path.Match(keys[i], segment); !ok || err != nil {
			return
		}
	}
	last := len(dir) - 1
	switch matches, _ := path.Match(keys[last], r.after); {
	case keys[last] == r.before:
		keys[last] = r.after
		r.replace(lit, strings.Join(keys, "/"))
	case !matches:
		r.patterns = append(r.patterns, r.pos(lit))
	}
}
