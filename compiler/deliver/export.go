package deliver

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/git"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
	"github.com/fleetc/fleetc/compiler/deliver/export"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/objects"
	"github.com/fleetc/fleetc/compiler/stage/render"
)

// Exports compiles clusters of the fleet as [compiler.Fleet.Bundles] does, in their order,
// and yields the bundles to write in a layout. A Secret in plain text is a fault, unless
// its release allows it. allowExec says whether secrets may run commands. If take is not nil, it is called with each bundle before the
// bundle is yielded, concurrently and in any order. Its error is yielded beside the bundle.
func Exports(ctx context.Context, f *compiler.Fleet, layout fleet.Layout, clusters []*fleet.Cluster, allowExec bool, take func(*fleet.Bundle) error) iter.Seq2[*fleet.Bundle, error] {
	resolver, sizes := NewSecretResolver(f.Fleet, allowExec), &chartSizes{}
	return withRules(f, par.Map(ctx, f.Parallel, len(clusters), func(ctx context.Context, i int) (*fleet.Bundle, error) {
		b, err := exportCluster(ctx, f, clusters[i], layout, resolver, sizes)
		if err == nil && take != nil {
			err = diag.In(b.Cluster.ID, take(b))
		}
		return b, err
	}))
}

// withRules yields the results, and then the faults of rules that match no object in any of the
// clusters.
func withRules[T any](f *compiler.Fleet, results iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for one, err := range results {
			if !yield(one, err) {
				return
			}
		}
		if err := f.CheckRules(); err != nil {
			var none T
			yield(none, err)
		}
	}
}

// exportCluster compiles one cluster and lays out its bundle.
func exportCluster(ctx context.Context, f *compiler.Fleet, c *fleet.Cluster, layout fleet.Layout, resolver *SecretResolver, sizes *chartSizes) (*fleet.Bundle, error) {
	plain, err := f.Compile(ctx, c)
	b := plain
	if err == nil {
		f.NoteRules(plain)
		b, err = encrypted(ctx, f, plain, layout, resolver)
	}
	if err == nil {
		var faults diag.List
		b, err = layOut(f, plain, b, layout)
		faults.Add(err)
		faults.Add(apply.CheckOrder(plain))
		if layout == fleet.FluxLayout {
			faults.Add(checkSizes(f, plain, layout, sizes))
		}
		err = faults.Err()
	}
	return b, fleet.InCluster(c, err)
}

// Preview returns the objects that an export in a layout would write for a cluster, without
// the metadata of [fleet.Mark], and the separate hooks. It finds no values of secrets, see
// [SecretResolver.Preview].
func Preview(ctx context.Context, f *compiler.Fleet, c *fleet.Cluster, layout fleet.Layout) (objs, hooks []fleet.Object, err error) {
	resolver := NewSecretResolver(f.Fleet, false)
	resolver.Preview = true
	plain, err := f.Assemble(ctx, c)
	b := plain
	if err == nil {
		b, err = encrypted(ctx, f, plain, layout, resolver)
	}
	if err == nil {
		b, err = layouter(f).Lay(b, layout)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, o := range b.Objects {
		o.Unstructured = fleet.Unmark(o.Unstructured)
		objs = append(objs, o)
	}
	for _, f := range b.Files {
		if r := c.Release(export.ApplicationRelease(c.ID, f.Name)); r != nil {
			object, err := objectIn(b, f)
			if err != nil {
				return nil, nil, err
			}
			objs = append(objs, fleet.Object{Unstructured: fleet.Unmark(&unstructured.Unstructured{Object: object}), Release: r, Pos: r.Pos})
		}
	}
	return objs, plain.Hooks, nil
}

// encrypted returns a bundle whose Secrets with references are encrypted for the cluster.
// Those that did not change stay as in the previous export.
func encrypted(ctx context.Context, f *compiler.Fleet, b *fleet.Bundle, layout fleet.Layout, resolver *SecretResolver) (*fleet.Bundle, error) {
	from := func(objects func(cluster string) ([]fleet.Object, error)) func(fleet.Object) (map[string]any, error) {
		if objects == nil {
			return func(fleet.Object) (map[string]any, error) { return nil, nil }
		}
		keep := render.KeepFrom(func() ([]fleet.Object, error) { return objects(b.Cluster.ID) })
		return func(o fleet.Object) (map[string]any, error) {
			v, _, err := keep(o, nil)
			before, _ := v.(map[string]any)
			return before, err
		}
	}
	return resolver.Encrypted(ctx, b, layout, LastExport{Object: from(f.Last), Intact: from(f.Exported)})
}

// layOut lays out a bundle, given it before and after the encryption of its Secrets. A Secret
// that stays in plain text is a fault.
func layOut(f *compiler.Fleet, plain, b *fleet.Bundle, layout fleet.Layout) (*fleet.Bundle, error) {
	laid, err := layouter(f).Lay(b, layout)
	var faults diag.List
	faults.Add(export.CheckExposedSecrets(plain, layout))
	faults.Add(err)
	return laid, faults.Err()
}

func layouter(f *compiler.Fleet) export.Layouter {
	return export.Layouter{Fleet: f.Module, Names: export.FileNames, Encode: objects.Encode}
}

// CheckOutput returns a fault for a directory that exports must not write to, because it is
// in .git or among the files of the fleet.
func CheckOutput(c *compiler.Compiler, dir string) error {
	root, _, err := load.Root(cmp.Or(c.Dir, "."))
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	real := resolvedAbove(abs)
	if git.IsDotGit(filepath.ToSlash(real)) {
		return refuseOutput(dir, "is in .git")
	}
	// Some file systems ignore case, so that Environments is environments.
	for at := real; at != filepath.Dir(at); at = filepath.Dir(at) {
		own := strings.EqualFold(filepath.Base(at), "cue.mod") || strings.EqualFold(filepath.Base(at), "environments")
		if own && sameFile(filepath.Dir(at), root) {
			return refuseOutput(dir, "is among the files of the fleet")
		}
	}
	return nil
}

func refuseOutput(dir, why string) error {
	return &diag.Diag{Code: diag.CodeDestination, Msg: diag.Visible(dir, diag.MaxText) + " " + why, Hint: "export to another directory"}
}

// CheckOutputSources returns a fault for an absolute directory that is, or is in, a directory
// from which the clusters read charts, manifests or CRDs: they would read the exported files.
// Kustomizations read the files that they list. Other clusters of the fleet are evaluated only
// if their layers mention the directory.
func CheckOutputSources(ctx context.Context, c *compiler.Compiler, root string, clusters []*fleet.Cluster, dir string) error {
	others, err := otherReaders(ctx, c, root, fleet.IDs(clusters), dir)
	if err != nil {
		return err
	}
	readers := map[string]string{} // by path: the field that names it
	for _, c := range slices.Concat(clusters, others) {
		for _, name := range c.CRDs {
			readers[name] = "cluster.crds of " + c.ID
		}
		for _, r := range c.Releases {
			for _, name := range []string{r.Chart.Path, r.Manifests} {
				// A chart in the root does not read all files below it.
				if name != "" && readers[name] == "" && (name == r.Manifests || path.Clean(name) != ".") {
					readers[name] = r.Path() + " of " + c.ID
				}
			}
		}
	}
	var parents []fs.FileInfo
	for at, last := resolvedAbove(dir), ""; at != last; at, last = filepath.Dir(at), at {
		if info, err := os.Stat(at); err == nil {
			parents = append(parents, info)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(readers)) {
		source, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
		if err == nil && slices.ContainsFunc(parents, func(p fs.FileInfo) bool { return os.SameFile(p, source) }) {
			return refuseOutput(dir, "is among the files of the fleet: "+readers[name]+" reads "+name)
		}
	}
	return nil
}

// otherReaders returns the unselected clusters whose layers mention dir or a directory of the
// fleet above it.
func otherReaders(ctx context.Context, c *compiler.Compiler, root string, selected []string, dir string) ([]*fleet.Cluster, error) {
	var names, words []string
	for at := resolvedAbove(dir); !sameFile(at, root); at = filepath.Dir(at) {
		if at == filepath.Dir(at) {
			return nil, nil // outside of the fleet
		}
		names = append([]string{filepath.Base(at)}, names...)
	}
	for i := range names {
		name := path.Join(names[:i+1]...)
		words = append(words, name+`"`, name+`/"`)
	}
	ids, err := c.ClusterIDs()
	ids = slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(selected, id) })
	if err == nil {
		ids, err = load.Mentioning(root, c.Edits, ids, words, "")
	}
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	loaded, err := load.Load(root, ids, c.Edits)
	e := c.Unify(ctx, loaded, err)
	if e.Fleet == nil {
		return nil, ctx.Err() // runs with these clusters report their faults
	}
	return e.All().Clusters, ctx.Err()
}

// sameFile reports whether two paths lead to the same file.
func sameFile(a, b string) bool {
	one, err1 := os.Stat(a)
	other, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(one, other)
}

// resolvedAbove returns an absolute path with its links resolved, as far as it exists.
func resolvedAbove(abs string) string {
	real, err := filepath.EvalSymlinks(abs)
	if err == nil || abs == filepath.Dir(abs) {
		return cmp.Or(real, abs)
	}
	return filepath.Join(resolvedAbove(filepath.Dir(abs)), filepath.Base(abs))
}

// maxTrailers is the maximum number of clusters that a commit lists.
const maxTrailers = 20

// ExportCommit returns the changed files and the commit message of an export. digests are the
// digests of bundles by cluster ID, source is the commit of the fleet, and version that of
// fleetc.
func ExportCommit(sum export.Summary, digests map[string]string, source, version string) export.BranchChange {
	var c export.BranchChange
	var trailers, ids []string
	all := sha256.New()
	for _, r := range sum.Clusters {
		for _, f := range r.Files {
			c.Files = append(c.Files, f.Name)
		}
		if r.Changes() == 0 {
			continue
		}
		ids = append(ids, r.Cluster)
		line := "Bundle-Digest: " + r.Cluster + " " + cmp.Or(digests[r.Cluster], "none")
		trailers = append(trailers, line)
		fmt.Fprintln(all, line)
	}
	if len(trailers) > maxTrailers {
		trailers = []string{fmt.Sprintf("Bundle-Digest: %d clusters sha256:%x", len(ids), all.Sum(nil))}
	}
	if source != "" {
		trailers = append(trailers, "Source-Commit: "+source)
	}
	trailers = append(trailers, "Fleetc-Version: "+version)
	subject := fmt.Sprintf("%d clusters changed", len(ids))
	if len(ids) == 1 {
		subject = ids[0] + " changed"
	}
	c.Directories = slices.Sorted(maps.Keys(digests))
	c.Message = fmt.Sprintf("fleetc: %s\n\nFiles: %d added, %d changed, %d removed\n\n%s\n",
		subject, sum.Added, sum.Changed, sum.Removed, strings.Join(trailers, "\n"))
	return c
}
