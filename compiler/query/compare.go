package query

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/objects"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Comparison is the differences between clusters. The parts of a release are compared
// among the clusters that have the release.
type Comparison struct {
	Clusters []string          // IDs of the compared clusters
	Facts    []diff.Difference // of the clusters themselves
	Releases []diff.Difference // which clusters have a release, at the empty path, and its fields
	Charts   []diff.Difference
	Images   []diff.Difference // by repository
	Values   []diff.Difference // with the chart's default where no layer sets a value
	Objects  []diff.Difference // whether clusters have an object, and its digest, which must not be shown
	Changes  []diff.Change     // of objects from the first cluster to the second, when there are two

	// Ignored are the differences that a diff.ignore rule of any of the clusters hides, at
	// the ID of the object, the path of the field and the path of the rule. The fields above
	// do not have them. IgnoredChanges are the hidden changes from the first cluster to the
	// second.
	Ignored        []diff.Difference
	IgnoredChanges []diff.Change
}

// Empty reports whether the clusters do not differ.
func (c *Comparison) Empty() bool {
	return len(c.Facts)+len(c.Releases)+len(c.Charts)+len(c.Images)+len(c.Values)+len(c.Objects) == 0
}

// IgnoredCount counts the ignored fields that differ.
func (c *Comparison) IgnoredCount() diff.IgnoredCount {
	fields, objects := map[string]bool{}, map[string]bool{}
	for _, d := range c.Ignored {
		objects[d.Path[0]], fields[d.Path[1]] = true, true
	}
	return diff.IgnoredCount{Fields: len(fields), Objects: len(objects)}
}

// LoadPair is [compiler.Compiler.Load] for two clusters. Each pattern must select one
// cluster. The fleet has the clusters in the order of the patterns.
func LoadPair(ctx context.Context, c *compiler.Compiler, a, b string) (*compiler.Fleet, error) {
	e := c.Evaluate(ctx, []string{a, b})
	if e.Fleet == nil {
		return nil, e.Faults
	}
	var pair []*fleet.Cluster
	var faults diag.List
	for _, pattern := range []string{a, b} {
		selected := slices.DeleteFunc(slices.Clone(e.All().Clusters), func(c *fleet.Cluster) bool { return !load.Matches(pattern, c.ID) })
		if len(selected) > 1 {
			d := &diag.Diag{
				Code: diag.CodeSeveralMatches,
				Msg:  fmt.Sprintf("%s selects %d clusters, but must select one", pattern, len(selected)),
				Hint: "compare more than two with --all",
			}
			if len(selected) < 10 {
				d.Hint = "name one of " + strings.Join(fleet.IDs(selected), ", ") + ", or compare them with --all"
			}
			faults.Add(d)
		}
		pair = append(pair, selected...)
	}
	if faults.Add(e.Faults); len(faults) > 0 {
		return nil, faults.Err()
	}
	if pair[0] == pair[1] {
		return nil, &diag.Diag{Code: diag.CodeArguments, Msg: fmt.Sprintf("%s and %s select the same cluster", a, b), Hint: "name two clusters"}
	}
	e.Clusters = pair
	return c.LoadEvaluated(ctx, e)
}

// Compare returns how the clusters of the fleet differ. The patterns select releases, all
// when there are none; a pattern that selects none is a fault. Unless versions is set,
// objects that differ only in version labels and checksums are equal. Nondeterministic
// fields with keep are always equal. done is called after each rendered cluster. The error
// holds the faults of all clusters.
func Compare(ctx context.Context, f *compiler.Fleet, releases []string, versions bool, done func()) (*Comparison, error) {
	if err := checkComparable(f, releases); err != nil {
		return nil, err
	}
	c := newComparer(f, f.Clusters, releases)
	c.versions = versions
	f.KeepSame()
	if err := c.render(ctx, done); err != nil {
		return nil, err
	}
	out := c.comparison()
	out.Ignored = c.ignored.Differences(func(release string, path []string, cluster int) (diff.Cell, bool) {
		return diff.Cell{}, c.objects.Has(release, path[:1], cluster) // a cluster without the object is not compared
	})
	if len(c.clusters) == 2 {
		out.Changes, out.IgnoredChanges = diff.ObjectsIgnoring(c.pair[0], c.pair[1], nil, c.rules)
	}
	return out, nil
}

// A comparer compares some clusters of a fleet. It renders them, or a caller that renders them
// for several queries passes their objects to collect.
type comparer struct {
	f          *compiler.Fleet
	clusters   []*fleet.Cluster
	patterns   []string                    // of releases
	versions   bool                        // whether version labels and checksums are compared
	releases   []map[string]*fleet.Release // by cluster index and name
	secrets    diff.SecretTexts            // of all clusters
	images     *diff.Table
	objects    *diff.Table
	ignored    *diff.Table             // fields of objects that the rules ignore
	rules      []fleet.IgnoreRule      // of all clusters
	headers    map[string]fleet.Object // objects without content, by release and ID, from the first cluster that has them
	namespaces map[string]string       // the namespace of a release in most clusters, by release
	pair       [2][]fleet.Object       // objects of the releases that both have, when there are two clusters
}

// checkComparable returns a fault if there are not two clusters to compare, or a pattern
// matches no release.
func checkComparable(f *compiler.Fleet, releases []string) error {
	if len(f.Clusters) < 2 {
		return &diag.Diag{Code: diag.CodeArguments, Msg: "only one cluster is selected", Hint: "select at least two, or leave out the names to compare all"}
	}
	names := f.ReleaseNames()
	var faults diag.List
	for _, p := range releases {
		if _, err := path.Match(p, ""); err != nil {
			faults.Add(&diag.Diag{Code: diag.CodeFlagValue, Msg: "release pattern " + p + " has a syntax error", Hint: `write it as in "ingress" or "ingress-*"`})
		} else if !slices.ContainsFunc(names, func(name string) bool { return fleet.PathPattern{p}.Matches(name) }) {
			faults.Add(&diag.Diag{Code: diag.CodeNoMatch, Msg: "no release of these clusters matches " + p, Hint: fleet.ReleaseHint(p, names)})
		}
	}
	return faults.Err()
}

// newComparer returns a comparer of some clusters of the fleet, and of the releases that the
// patterns select, all without patterns. Version labels and checksums are ignored. Call
// [compiler.Fleet.KeepSame] before the clusters are rendered.
func newComparer(f *compiler.Fleet, clusters []*fleet.Cluster, patterns []string) *comparer {
	c := &comparer{
		f: f, clusters: clusters, patterns: patterns, secrets: diff.SecretTexts{},
		headers: map[string]fleet.Object{}, namespaces: map[string]string{},
		images: diff.NewTable(fleet.IDs(clusters)), objects: diff.NewTable(fleet.IDs(clusters)), ignored: diff.NewTable(fleet.IDs(clusters)), rules: ignoreRules(clusters),
	}
	count := map[[2]string]int{} // clusters by release and namespace
	for _, cluster := range clusters {
		releases := map[string]*fleet.Release{}
		for _, r := range cluster.Releases {
			if !c.compares(r.Name) {
				continue
			}
			releases[r.Name] = r
			key := [2]string{r.Name, r.Namespace}
			if count[key]++; count[key] > count[[2]string{r.Name, c.namespaces[r.Name]}] {
				c.namespaces[r.Name] = r.Namespace
			}
		}
		c.releases = append(c.releases, releases)
	}
	return c
}

// compares reports whether the patterns select a release.
func (c *comparer) compares(name string) bool {
	return len(c.patterns) == 0 || slices.ContainsFunc(c.patterns, func(p string) bool { return fleet.PathPattern{p}.Matches(name) })
}

// render renders all clusters and collects the digests of their objects and the names of
// their images. If there are two clusters, it also stores their objects in pair.
func (c *comparer) render(ctx context.Context, done func()) error {
	rendered := par.Map(ctx, c.f.Parallel, len(c.clusters), func(ctx context.Context, i int) ([]fleet.Object, error) {
		objs, _, err := c.f.CheckedObjects(ctx, c.clusters[i])
		return objs, diag.In(c.clusters[i].ID, err)
	})
	var faults diag.List
	i := 0
	for objs, err := range rendered {
		faults.Add(err)
		for _, o := range objs {
			c.secrets.Add(o)
		}
		objs = slices.DeleteFunc(objs, func(o fleet.Object) bool { return c.releases[i][o.Release.Name] == nil })
		objs = c.collect(i, objs)
		if len(c.clusters) == 2 {
			c.pair[i] = slices.DeleteFunc(objs, func(o fleet.Object) bool { return c.releases[1-i][o.Release.Name] == nil })
		}
		done()
		i++
	}
	return faults.Err()
}

// inCommonNamespace moves an object from the namespace of its release to the namespace that
// the release has in most clusters, so that objects are equal if only the namespace of the
// release differs.
func (c *comparer) inCommonNamespace(o fleet.Object) fleet.Object {
	common := c.namespaces[o.Release.Name]
	if o.GetNamespace() != o.Release.Namespace || o.Release.Namespace == common {
		return o
	}
	o.Unstructured, o.Shared = o.DeepCopy(), false
	o.SetNamespace(common)
	return o
}

// collect adds the images and objects of the cluster with the given index to the tables, and
// returns the objects in their common namespaces.
func (c *comparer) collect(cluster int, objs []fleet.Object) []fleet.Object {
	objs = slices.Clone(objs)
	for i, o := range objs {
		objs[i] = c.inCommonNamespace(o)
	}
	versions := map[[2]string][]string{}
	for i, images := range objects.Images(c.clusters[cluster], objs) {
		for _, image := range images {
			repository, version := splitImage(image.Image)
			key := [2]string{objs[i].Release.Name, repository}
			versions[key] = append(versions[key], version)
		}
	}
	for key, v := range versions {
		c.images.Add(key[0], []string{key[1]}, cluster, diff.Cell{Value: strings.Join(diag.Distinct(v), ", "), Exists: true})
	}
	for _, o := range objs {
		content, ignored := diff.WithoutIgnored(o, c.rules)
		for why, values := range ignored {
			c.ignored.Add(o.Release.Name, []string{o.ID(), why.Field, why.Rule}, cluster, diff.Cell{Value: diff.Sum(values), Exists: true})
		}
		if !c.versions {
			content = diff.WithoutVersions(content)
		}
		c.objects.Add(o.Release.Name, []string{o.ID()}, cluster, diff.Cell{Value: diff.Sum(content), Exists: true, Origin: originAt(o.Pos)})
		if key := o.Release.Name + " " + o.ID(); c.headers[key].Unstructured == nil {
			c.headers[key] = header(o)
		}
	}
	return objs
}

// comparison returns the differences between the collected clusters.
func (c *comparer) comparison() *Comparison {
	out := c.compareLayers()
	out.Images = c.images.Differences(c.missingCell)
	out.Objects = c.objects.Differences(c.missingCell)
	return out
}

// header returns the object with only the fields that selectors match.
func header(o fleet.Object) fleet.Object {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion(o.GetAPIVersion())
	u.SetKind(o.GetKind())
	u.SetNamespace(o.GetNamespace())
	u.SetName(o.GetName())
	u.SetLabels(o.GetLabels())
	return fleet.Object{Unstructured: u, Release: o.Release, Pos: o.Pos}
}

// splitImage splits an image reference into the repository, and the tag and digest.
func splitImage(text string) (repository, version string) {
	repository = fleet.ParseImage(text).Repository
	return repository, strings.TrimPrefix(cmp.Or(text[len(repository):], "latest"), ":")
}

// ignoreRules returns the diff.ignore rules of all clusters without duplicates.
func ignoreRules(clusters []*fleet.Cluster) []fleet.IgnoreRule {
	var out []fleet.IgnoreRule
	for _, c := range clusters {
		for _, r := range c.IgnoreRules() {
			if !slices.ContainsFunc(out, func(other fleet.IgnoreRule) bool { return reflect.DeepEqual(r, other) }) {
				out = append(out, r)
			}
		}
	}
	return out
}

// missingCell returns the cell for a cluster without an entry in a row, and false for a
// cluster without the release, which is not compared.
func (c *comparer) missingCell(release string, _ []string, cluster int) (diff.Cell, bool) {
	return diff.Cell{}, release == "" || c.releases[cluster][release] != nil
}
