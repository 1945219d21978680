package importer

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// checkReplaced returns a fault when the import would remove all clusters of the last import,
// or when another tool made that one.
func (w *work) checkReplaced(tool string) error {
	d := &diag.Diag{Code: diag.CodeImportCluster, Hint: "delete " + sumFile + " to keep the imported files as files of the fleet, and import again; to remove them, delete the directories of the clusters first"}
	ids, err := load.ClusterIDs(w.root)
	if err != nil {
		return err
	}
	for _, name := range sortedKeys(w.before) {
		id, ok := strings.CutSuffix(strings.TrimPrefix(name, "environments/"), "/cluster.cue")
		if ok && slices.Contains(ids, id) {
			d.Clusters = append(d.Clusters, id)
		}
	}
	switch {
	case w.opts.DryRun || len(d.Clusters) == 0:
		return nil
	case tool != "" && tool != w.model.Tool:
		d.Msg = "this import would remove that of " + tool + ": an import replaces the last one"
		return d
	case !slices.ContainsFunc(d.Clusters, w.model.has):
		d.Msg = "this import would remove all clusters of the last import: an import replaces the last one"
		return d
	}
	return nil
}

// has reports whether the model has a cluster.
func (m *Model) has(id string) bool {
	return slices.ContainsFunc(m.Clusters, func(c *Cluster) bool { return c.ID == id })
}

// replaceImport removes the last import from the copy of the fleet, and finds the clusters
// that are left and that this import does not write.
func (w *work) replaceImport() error {
	tool, err := w.recorded()
	if err != nil {
		return err
	}
	if err := w.checkReplaced(tool); err != nil {
		return err
	}
	if err := w.removeImported(); err != nil {
		return err
	}
	w.existing, err = load.ClusterIDs(w.stage)
	w.existing = slices.DeleteFunc(w.existing, w.model.has)
	return err
}

// hasExisting reports whether a directory of clusters has one that the import does not write.
func (w *work) hasExisting(dir string) bool {
	return slices.ContainsFunc(w.existing, func(id string) bool { return fleet.IsWithin(id, dir) })
}

// checkExisting returns a fault for each cluster that the import does not write and whose
// bundle it would change.
func (w *work) checkExisting(ctx context.Context) error {
	if len(w.existing) == 0 {
		return nil
	}
	before, _ := w.digests(ctx, w.root)
	after, err := w.digests(ctx, w.stage)
	var faults diag.List
	for _, id := range sortedKeys(before) {
		if after[id] == before[id] {
			continue
		}
		d := &diag.Diag{
			Code: diag.CodeImportCluster, At: []diag.Pos{{File: path.Join("environments", id)}}, Clusters: []string{id},
			Msg:  "the import would change the bundle of this cluster, which it does not name",
			Hint: "name the cluster in the import too, or import into a new fleet and copy the files",
		}
		if why := diag.All(faultsIn(id, err)); after[id] == "" && len(why) > 0 {
			d.Msg = "the import would break this cluster, which it does not name: " + why[0].Msg
		}
		faults = append(faults, d)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return faults.Err()
}

// digests returns the digests of the bundles of the existing clusters, without those that
// have faults, and the faults.
func (w *work) digests(ctx context.Context, dir string) (map[string]string, error) {
	f, err := w.compiler(dir).Load(ctx, w.existing...)
	out := map[string]string{}
	if f == nil {
		return out, err
	}
	f.KeepSame()
	var faults diag.List
	faults.Add(err)
	for _, c := range f.Clusters {
		if !f.CanRender(c) {
			continue
		}
		b, err := f.Compile(ctx, c)
		if faults.Add(diag.In(c.ID, err)); err == nil {
			out[c.ID] = b.Digest
		}
	}
	return out, faults.Err()
}
