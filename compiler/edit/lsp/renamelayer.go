package lsp

import (
	"cmp"
	"context"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/edit"
	"github.com/fleetc/fleetc/compiler/incremental"
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
	defer release()
	_, before, edits, err := r.compile(ctx)
	if err != nil {
		return nil, err
	}
	r.dir = r.rel(dir)
	if err := r.scanLayer(); err != nil {
		return nil, err
	}
	if err := r.verifyLayer(ctx, before, edits); err != nil {
		return nil, err
	}
	changes, err := r.edit()
	if err != nil {
		return nil, err
	}
	changes = cmp.Or(changes, &workspaceEdit{})
	changes.DocumentChanges = append(changes.DocumentChanges, renameFile{"rename", uriOf(dir), uriOf(target)})
	return changes, nil
}

// scanLayer scans the files, and refuses the rename if a mention of the layer cannot be changed.
func (r *renamer) scanLayer() error {
	layers, err := load.Layers(r.root)
	if err != nil {
		return err
	}
	for _, l := range layers {
		r.isShared = r.isShared || l.Name == r.before && l.Dir != r.dir
		if l.Name == r.after && (fleet.IsWithin(l.Dir, r.dir) || fleet.IsWithin(r.dir, l.Dir)) {
			return refuse("the layer %s above or below already has this name", l.Dir)
		}
	}
	if err := r.scan(); err != nil {
		return err
	}
	if data, err := os.ReadFile(filepath.Join(r.root, ".sops.yaml")); err == nil && strings.Contains(string(data), r.dir) {
		return refuse(".sops.yaml names %s: change its rules by hand, and rename the directory", r.dir)
	}
	if len(r.computed) > 0 {
		return refuse("%s: an expression computes the name of a layer or a cluster here: write the name as a literal first, or rename by hand", r.computed[0])
	}
	if len(r.ambiguous) > 0 {
		return refuse("%s: this refers to each layer called %s: rename by hand", r.ambiguous[0], r.before)
	}
	if len(r.patterns) > 0 {
		return r.refusePattern(r.patterns[0])
	}
	return nil
}

// verifyLayer compiles a copy of the fleet with the renamed directory, and refuses the rename if a
// fault appears, or if the releases or their values change.
func (r *renamer) verifyLayer(ctx context.Context, before *compiler.Fleet, unsaved load.Edits) error {
	edits := maps.Clone(unsaved) // the session compares with those of before
	r.addTo(edits)
	temp, copied, err := edit.CopyFleet(ctx, r.root, edits)
	defer os.RemoveAll(temp)
	target := path.Join(path.Dir(r.dir), r.after)
	if err == nil {
		err = os.Rename(filepath.Join(copied, filepath.FromSlash(r.dir)), filepath.Join(copied, filepath.FromSlash(target)))
	}
	if all := diag.All(err); len(all) > 0 && all[0].Code == diag.CodeImportFile {
		return refuse("%s: rename by hand, and run fleetc vet --render", all[0].Msg)
	}
	if err != nil {
		return err
	}
	after, err := incremental.NewSession(r.s.Compiler(copied)).Check(ctx, nil)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return refuse("the fleet would have a fault: %s", diag.All(err)[0].Error())
	}
	renamedID := func(c *fleet.Cluster) string {
		if dir := "environments/" + c.ID; fleet.IsWithin(dir, r.dir) {
			return strings.TrimPrefix(target+strings.TrimPrefix(dir, r.dir), "environments/")
		}
		return c.ID
	}
	clusters := slices.SortedFunc(slices.Values(before.Clusters), func(a, b *fleet.Cluster) int { return strings.Compare(renamedID(a), renamedID(b)) })
	if !slices.EqualFunc(clusters, after.Clusters, func(b, a *fleet.Cluster) bool {
		return renamedID(b) == a.ID && slices.Equal(r.namesOf(b, "", ""), r.namesOf(a, "", ""))
	}) {
		return refuse("the rename would change the clusters or their releases: an expression computes the name %s: write the name as a literal first, or rename by hand", r.before)
	}
	if field, at := r.changedValue(clusters, after.Clusters); field != "" {
		if rest, ok := strings.CutPrefix(at.File, target+"/"); ok {
			at.File = r.dir + "/" + rest
		}
		return refuse("%s: the rename would change %s: an expression computes the name %s: write the name as a literal first, or rename by hand", at, field, r.before)
	}
	return nil
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
