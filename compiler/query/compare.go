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
	"github.com/fleetc/fleetc/compiler/base/ordered"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/patch"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A Comparison is how clusters differ. What a release has is compared among the
// clusters that have the release.
type Comparison struct {
	Clusters []string          // IDs of those that are compared
	Facts    []diff.Difference // of the clusters themselves
	Releases []diff.Difference // which clusters have a release, at the empty path, and its fields
	Charts   []diff.Difference
	Images   []diff.Difference // by repository
	Values   []diff.Difference // with the chart's default where nobody sets one
	Objects  []diff.Difference // whether clusters have an object, and its digest, which is not to be shown
	Changes  []diff.Change     // of objects from the first cluster to the second, when there are two

	// Ignored are fields of objects that diff.ignore of one of the clusters leaves out,
	// at the ID of the object, the path of the field and that of the rule. They are in
	// nothing above. IgnoredChanges are those from the first cluster to the second.
	Ignored        []diff.Difference
	IgnoredChanges []diff.Change
}

// Empty reports whether the clusters do not differ.
func (c *Comparison) Empty() bool {
	return len(c.Facts)+len(c.Releases)+len(c.Charts)+len(c.Images)+len(c.Values)+len(c.Objects) == 0
}

// IgnoredCount counts the fields that differ and are left out.
func (c *Comparison) IgnoredCount() diff.IgnoredCount {
	fields, objects := map[string]bool{}, map[string]bool{}
	for _, d := range c.Ignored {
		objects[d.Path[0]], fields[d.Path[1]] = true, true
	}
	return diff.IgnoredCount{Fields: len(fields), Objects: len(objects)}
}

// LoadPair is [Compiler.Load] for two clusters, each the only one that its
// pattern selects. They are in that order in the fleet.
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
				Msg:  fmt.Sprintf("%s selects %d clusters, and two single ones are compared", pattern, len(selected)),
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
		return nil, &diag.Diag{Msg: fmt.Sprintf("%s and %s select the same cluster", a, b), Hint: "name two clusters"}
	}
	e.Clusters = pair
	return c.LoadEvaluated(ctx, e)
}

// Compare says how the clusters of the fleet differ. The patterns select
// releases, all when there are none; one that selects none is a fault. Objects that
// differ in version labels and checksums alone count as equal, unless versions is
// set. done is called for each cluster that is rendered. Values that are kept from one bundle
// to the next count as equal. The error holds the faults of all clusters.
func Compare(ctx context.Context, f *compiler.Fleet, releases []string, versions bool, done func()) (*Comparison, error) {
	if err := comparable(f, releases); err != nil {
		return nil, err
	}
	c := newComparing(f, f.Clusters, releases)
	c.versions = versions
	f.KeepSame()
	if err := c.render(ctx, done); err != nil {
		return nil, err
	}
	out := c.layers()
	out.Images = c.images.Differences(c.without)
	out.Objects = c.objects.Differences(c.without)
	out.Ignored = c.ignored.Differences(c.withoutField)
	if len(c.clusters) == 2 {
		out.Changes, out.IgnoredChanges = diff.ObjectsIgnoring(c.pair[0], c.pair[1], nil, c.rules)
	}
	return out, nil
}

// A comparing compares some clusters of a fleet.
type comparing struct {
	f        *compiler.Fleet
	clusters []*fleet.Cluster
	patterns []string                    // of releases
	versions bool                        // whether version labels and checksums are compared
	has      []map[string]*fleet.Release // by the place of the cluster
	secrets  diff.SecretTexts            // of all clusters
	images   *diff.Table
	objects  *diff.Table
	ignored  *diff.Table             // fields of objects that the rules leave out
	rules    []fleet.IgnoreRule      // of any of the clusters
	seen     map[string]fleet.Object // one of those that count as the same, by release and path; its content is let go
	spaces   map[string]string       // of releases: the namespace in most clusters
	pair     [2][]fleet.Object       // of the releases that both have, when there are two clusters
}

// comparable reports what keeps the clusters, or the releases that the patterns
// select, from being compared.
func comparable(f *compiler.Fleet, releases []string) error {
	if len(f.Clusters) < 2 {
		return &diag.Diag{Msg: "there is one cluster, and nothing to compare it with", Hint: "select more, or none for all"}
	}
	names := f.ReleaseNames()
	var faults diag.List
	for _, p := range releases {
		if _, err := path.Match(p, ""); err != nil {
			faults.Add(&diag.Diag{Msg: "release pattern " + p + " has a syntax error", Hint: `write it as in "ingress" or "ingress-*"`})
		} else if !slices.ContainsFunc(names, func(name string) bool { return matches(p, name) }) {
			faults.Add(&diag.Diag{Msg: "no release of these clusters matches " + p, Hint: diag.OneOf(p, names)})
		}
	}
	return faults.Err()
}

func newComparing(f *compiler.Fleet, clusters []*fleet.Cluster, patterns []string) *comparing {
	c := &comparing{
		f: f, clusters: clusters, patterns: patterns, secrets: diff.SecretTexts{},
		seen: map[string]fleet.Object{}, spaces: map[string]string{},
		images: diff.NewTable(fleet.IDs(clusters)), objects: diff.NewTable(fleet.IDs(clusters)), ignored: diff.NewTable(fleet.IDs(clusters)), rules: ignoreRules(clusters),
	}
	in := map[[2]string]int{}
	for _, cluster := range clusters {
		has := map[string]*fleet.Release{}
		for _, r := range cluster.Releases {
			if !c.compares(r.Name) {
				continue
			}
			has[r.Name] = r
			of := [2]string{r.Name, r.Namespace}
			if in[of]++; in[of] > in[[2]string{r.Name, c.spaces[r.Name]}] {
				c.spaces[r.Name] = r.Namespace
			}
		}
		c.has = append(c.has, has)
	}
	return c
}

// compares reports whether the releases of a name are compared.
func (c *comparing) compares(name string) bool {
	return len(c.patterns) == 0 || slices.ContainsFunc(c.patterns, func(p string) bool { return matches(p, name) })
}

// matches reports whether a pattern, as path.Match has them, matches a text.
func matches(pattern, text string) bool {
	ok, err := path.Match(pattern, text)
	return ok && err == nil
}

// render renders all clusters, one after the other, and keeps the digests of
// their objects and the names of their images; of two, the objects too.
func (c *comparing) render(ctx context.Context, done func()) error {
	rendered := ordered.Map(ctx, c.f.Parallel, len(c.clusters), func(ctx context.Context, i int) ([]fleet.Object, error) {
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
		objs = slices.DeleteFunc(objs, func(o fleet.Object) bool { return c.has[i][o.Release.Name] == nil })
		for j := range objs {
			objs[j] = c.inUsual(objs[j])
		}
		c.note(i, objs)
		if len(c.clusters) == 2 {
			c.pair[i] = slices.DeleteFunc(objs, func(o fleet.Object) bool { return c.has[1-i][o.Release.Name] == nil })
		}
		done()
		i++
	}
	return faults.Err()
}

// inUsual returns the object in the namespace that its release has in most
// clusters, if it is in that of the release: it is the same object then.
func (c *comparing) inUsual(o fleet.Object) fleet.Object {
	usual := c.spaces[o.Release.Name]
	if o.GetNamespace() != o.Release.Namespace || o.Release.Namespace == usual {
		return o
	}
	o.Unstructured, o.Shared = o.DeepCopy(), false
	o.SetNamespace(usual)
	return o
}

// note notes the images and objects of a cluster.
func (c *comparing) note(cluster int, objs []fleet.Object) {
	versions := map[[2]string][]string{}
	for i, images := range patch.Images(c.clusters[cluster], objs) {
		for _, image := range images {
			repository, version := splitImage(image)
			key := [2]string{objs[i].Release.Name, repository}
			versions[key] = append(versions[key], version)
		}
	}
	for key, v := range versions {
		slices.Sort(v)
		c.images.Add(key[0], []string{key[1]}, cluster, diff.Cell{Value: strings.Join(slices.Compact(v), ", "), Exists: true})
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
		if key := o.Release.Name + " " + o.ID(); c.seen[key].Unstructured == nil {
			c.seen[key] = header(o)
		}
	}
}

// header returns the object with what it is chosen by, and nothing else.
func header(o fleet.Object) fleet.Object {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion(o.GetAPIVersion())
	u.SetKind(o.GetKind())
	u.SetNamespace(o.GetNamespace())
	u.SetName(o.GetName())
	u.SetLabels(o.GetLabels())
	return fleet.Object{Unstructured: u, Release: o.Release, Pos: o.Pos}
}

// splitImage splits the name of an image before its tag and digest.
func splitImage(image string) (repository, version string) {
	end := len(image)
	if i := strings.IndexByte(image, '@'); i >= 0 {
		end = i
	}
	if i := strings.LastIndexByte(image[:end], ':'); i > strings.LastIndexByte(image[:end], '/') {
		end = i
	}
	return image[:end], strings.TrimPrefix(cmp.Or(image[end:], "latest"), ":")
}

// ignoreRules returns the rules of diff.ignore of all clusters, each once.
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

// withoutField is the cell of a cluster whose object lacks a field; clusters without
// the object have no part in it.
func (c *comparing) withoutField(release string, path []string, cluster int) (diff.Cell, bool) {
	return diff.Cell{}, c.objects.Has(release, path[:1], cluster)
}

// without is the cell of a cluster that has nothing in a row; clusters without
// the release have no part in it.
func (c *comparing) without(release string, _ []string, cluster int) (diff.Cell, bool) {
	return diff.Cell{}, release == "" || c.has[cluster][release] != nil
}
