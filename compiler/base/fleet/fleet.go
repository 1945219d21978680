// Package fleet holds the data that the stages of the compiler hand to each
// other. It is data only: nothing here reads files, renders or talks to a
// network.
package fleet

import (
	"iter"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A Fleet is all clusters under one root.
type Fleet struct {
	Dir      string     // absolute path of the CUE module's root
	Module   string     // the module's path, which is the fleet's name
	Clusters []*Cluster // sorted by ID
}

// ReleaseNames returns the names of the releases of all clusters, each once, sorted.
func (f *Fleet) ReleaseNames() []string {
	var names []string
	for _, c := range f.Clusters {
		for _, r := range c.Releases {
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// A Cluster is one directory that sets cluster, with its layers unified.
type Cluster struct {
	ID          string            // path below environments/, slash-separated
	Name        string            // as users and dashboards call it
	Environment string            // the layer between root and cluster, as the fleet names it; may be empty
	KubeVersion string            // 1.36 or 1.36.2
	KubeContext string            // kubeconfig context; may be empty
	UID         string            // of the namespace kube-system; may be empty
	History     int               // how many bundles that were applied are kept in the cluster; 0 when it is not known
	Labels      map[string]string // for selection
	Facts       map[string]any    // as decoded from JSON
	APIs        []API             // kinds that the cluster serves and no release brings, sorted
	CRDs        []string          // files and directories of CRDs that no release brings, relative to the root
	Stages      []string          // in the order in which they apply; at least one
	Releases    []*Release        // sorted by name
	Selectors   []ClusterSelector // of releases, also of those that the cluster does not get; sorted by release
	Defaults    DefaultUses       // which defaults of its layers have an effect
	Checks      []RuleCheck       // of what must hold in a cluster of the fleet, as far as the layers decide it
	Policies    []Policy          // sorted by name
	Health      []HealthRule      // when objects are ready, sorted by name
	Actions     []Action          // before and after stages, sorted by name
	Ignore      []IgnoreRule      // fields that comparisons leave out, sorted by name
	GitOps      GitOps            // what Flux and Argo CD are told
	Pos         diag.Pos          // where the cluster is set
	KubePos     diag.Pos          // where its Kubernetes version is set
	ContextPos  diag.Pos          // where its kubeconfig context is set; the zero value when it has none
}

// A Layer is one directory of CUE files between the root and a cluster.
type Layer struct {
	Name string // of the directory; root for the topmost
	Dir  string // relative to the fleet's root, slash-separated
}

// An API is one kind that a cluster serves.
type API struct {
	APIVersion string // group/version
	Kind       string
	Namespaced bool
}

// A Release is one thing installed in a cluster.
type Release struct {
	Name      string
	Namespace string       // of its objects that name none
	Stage     string       // one of the cluster's stages
	Depends   []string     // names of the releases that it applies after, sorted; each is in its stage or an earlier one
	Level     int          // one more than the highest of the releases of its stage that it depends on; 0 when it depends on none
	Delivery  Delivery     // how it gets into the cluster
	Chart     ChartRef     // the zero value when the source is another
	Jsonnet   string       // file, relative to the root, slash-separated; empty when the source is another
	Kustomize string       // directory of a kustomization, in the same way
	Manifests string       // file or directory of manifests, in the same way
	Objects   []*Tree      // objects written in CUE, sorted by key or as listed
	Keys      []string     // of Objects, in their order; nil when they are listed
	Values    *Tree        // merged and unified, a map; never nil
	Open      []Waiver     // where the types of Values are wrong, sorted by path
	Typed     bool         // whether every value that is set needs a type
	Patches   []Patch      // sorted by name
	Ownership []Ownership  // who has fields of its objects, sorted by name
	Ignore    []IgnoreRule // fields of its objects that comparisons leave out, sorted by name
	Replace   []Replace    // kinds whose objects may be deleted and made anew, as listed
	Random    []Random     // fields that the chart makes up anew at every render, sorted by object and field
	Actions   []Action     // before and after it applies, sorted by name
	Health    []HealthRule // when its objects are ready, before what the cluster says; sorted by name
	Plaintext []Waiver     // Secrets that may be exported as they are, by Secret/name; sorted by that
	Tests     bool         // whether Helm's test hooks are rendered
	Pos       diag.Pos     // where the release is set
	SourcePos diag.Pos     // where its source is named: the pin of its chart, its file or its directory
}

// A Delivery says how a release gets into its cluster.
type Delivery string

// The ways into a cluster. Of a release that Helm delivers, the bundle has the
// objects all the same: for checks, comparisons and people.
const (
	ByManifests Delivery = "manifests" // its objects are applied
	ByHelm      Delivery = "helm"      // it is a release of Helm's own
)

// plain matches the names that CUE takes as labels without quotes.
var plain = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]*$`)

// Path returns the path of a field of the release, as CUE writes it:
// releases.app.values.x, releases."my-app".chart.
func (r *Release) Path(field ...string) string {
	return strings.Join(append([]string{"releases", label(r.Name)}, field...), ".")
}

func label(name string) string {
	if plain.MatchString(name) {
		return name
	}
	return strconv.Quote(name)
}

// A Waiver says what a check does not hold for: the types of a chart's values
// for a value, or the check of what is exported for a Secret.
type Waiver struct {
	Path   string // a.b, or a."b.c" for a key with a dot in it; * for the whole chart; Secret/name
	Reason string
	Pos    diag.Pos // where the waiver is written
}

// A ChartRef says which chart, by content. It is comparable, so that work for
// equal charts is done once. Exactly one of Path, Repo and Git.URL is set.
type ChartRef struct {
	Path    string // a directory or archive in the repository, relative to its root, slash-separated
	Repo    string // URL of an HTTP repository, or oci://
	Name    string // in Repo
	Version string // exact, in Repo
	Git     GitRef
	Digest  string  // sha256:hex of the archive; empty for Path
	Schemas Digests // of the documents that its values.schema.json refers to elsewhere, by URL

	// Dependencies are of the archives of the charts that its Chart.yaml lists and it does
	// not have, by REPOSITORY/NAME@VERSION, or file:///PATH of its git repository.
	Dependencies Digests
}

// Digests are digests by name, as sorted lines of a name, a blank and a digest:
// a form that is comparable.
type Digests string

// NewDigests returns the digests in that form.
func NewDigests(by map[string]string) Digests {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(by)) {
		b.WriteString(name + " " + by[name] + "\n")
	}
	return Digests(b.String())
}

// All returns the names and their digests, in order.
func (d Digests) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for line := range strings.Lines(string(d)) {
			name, digest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			if !yield(name, digest) {
				return
			}
		}
	}
}

// A GitRef is a directory of a git repository at a commit.
type GitRef struct {
	URL  string
	Ref  string // a commit, tag or branch
	Path string // of the chart in the repository; empty for its root
}

// String returns the reference as messages name it: where it is and, unless it
// is a path, @ and its version.
func (r ChartRef) String() string {
	switch {
	case r.Git.URL != "":
		return r.Location() + "@" + r.Git.Ref
	case r.Repo != "":
		return r.Location() + "@" + r.Version
	}
	return r.Location()
}

// Location returns where the chart is, which all of its versions share.
func (r ChartRef) Location() string {
	switch {
	case r.Git.URL != "" && r.Git.Path != "":
		return r.Git.URL + "//" + r.Git.Path
	case r.Git.URL != "":
		return r.Git.URL
	case r.Repo != "":
		return r.Repo + "/" + r.Name
	}
	return r.Path
}

// A Chart is the content of a Helm chart as its archive or directory has it.
type Chart struct {
	Ref    ChartRef
	Digest string // sha256:hex: of the archive for a remote chart, with those of its pinned dependencies; of the files for one by path
	Files  []File // as Helm's loader takes them, names relative to the chart's root; must not be modified

	Schemas []File // what its values.schema.json refers to elsewhere, by URL; sorted
}

// A File is one file of a chart.
type File struct {
	Name string // slash-separated
	Data []byte
}

// An Object is one Kubernetes object that a release renders. Clusters share its
// content: nobody modifies that, and who changes an object gives it another.
type Object struct {
	*unstructured.Unstructured
	Release  *Release
	Shared   bool     // whether the same content, at the same address, is met again: what is found out about it is worth keeping for the run
	CRD      bool     // whether it is of the crds directory of a chart, which Helm does not upgrade
	Aside    bool     // whether it is a hook that stands beside what is applied, see [Bundle]
	Template string   // the chart's template that it comes from; empty when it is written in CUE
	Pos      diag.Pos // where it is written in CUE; the release when a chart renders it
}

// ID names the object within its cluster: kind.group namespace/name. The
// version is not part of it: two versions of one object are one object.
func (o Object) ID() string {
	gk := o.GroupVersionKind().GroupKind().String()
	if ns := o.GetNamespace(); ns != "" {
		return gk + " " + ns + "/" + o.GetName()
	}
	return gk + " " + o.GetName()
}

// Title names an object in messages, also one that does not say what it is:
// kind.group namespace/name.
func (o Object) Title() string {
	if o.Unstructured == nil {
		return "object"
	}
	gv, _ := schema.ParseGroupVersion(o.GetAPIVersion())
	s := gv.WithKind(o.GetKind()).GroupKind().String()
	if o.GetKind() == "" {
		s = "object"
	}
	name := o.GetName()
	if ns := o.GetNamespace(); ns != "" && name != "" {
		name = ns + "/" + name
	}
	if name != "" {
		s += " " + name
	}
	return diag.Visible(s, diag.MaxText)
}

// Origin says which release an object is of, and which template rendered it; it
// is empty for an object without a release.
func (o Object) Origin() string {
	if o.Release == nil {
		return ""
	}
	s := "release " + diag.Visible(o.Release.Name, diag.MaxText)
	if o.Template != "" {
		s += ", " + diag.Visible(o.Template, diag.MaxText)
	}
	return s
}

// A Bundle is all of one cluster's objects, unique, in the order in which
// they apply.
type Bundle struct {
	Cluster *Cluster
	Objects []Object
	YAML    []Text // the canonical text of each object, in the same order
	Sums    []Sum  // of the texts; nil when nobody has computed them, see [Bundle.Sum]
	Digest  string // sha256:hex over stages, levels, releases and texts: the version of the whole cluster
	Charts  []Pin  // what was rendered, sorted by release

	// Hooks are those of charts that run when a release is deleted, rolled back
	// or tested. They are no part of what is applied, which would run them, and
	// not in the digest.
	Hooks  []Object
	Layout Layout   // for whom the bundle is written as files
	Dirs   []string // of each object, below the cluster's directory, slash-separated; nil when all are in that
	Files  []File   // that are no objects of the bundle, with their names below the cluster's directory
}

// Sum returns the sum of the text of an object.
func (b *Bundle) Sum(i int) Sum {
	if b.Sums != nil {
		return b.Sums[i]
	}
	return b.YAML[i].Sum()
}

// A Pin says which chart a release of a bundle was rendered from.
type Pin struct {
	Release string
	Chart   ChartRef // with the digest of its content, also for a chart by path
}

// A RemoteSource is content of another place that kustomizations refer to, pinned by
// its digest: a file, or directories of a git repository at a commit.
type RemoteSource struct {
	Address string   // as kustomizations write it
	Git     GitRef   // with the path of what the address names; without a URL for a file
	Dirs    []string // of the git repository, whose files are pinned; sorted
	Digest  string   // sha256:hex of the file, or of an archive of the directories
}

// String returns the source as messages name it.
func (s RemoteSource) String() string { return s.Address }
