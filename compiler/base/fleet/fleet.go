// Package fleet defines the data that the stages of the compiler exchange. It reads no
// files, renders nothing and uses no network.
//
// It also converts this data. [ParseImage] splits references to images, and a [TagPolicy]
// chooses tags. [DecodeYAML] is a fast decoder for a subset of
// YAML: block maps, block lists and common scalars, which is nearly all output of charts. For
// any other document, valid or not, it reports that the full parser of [UnmarshalYAML] is
// needed. [CoalesceValues] enables the dependencies of a chart and merges values over their
// defaults by Helm's rules, including the odd ones that charts rely on: Helm's own functions
// copy all values by reflection several times per release and report lost values only to the
// standard logger, so that they cannot run in parallel. Tests compare the results.
//
// It is large because most fields of the schema have a type here.
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

// A Fleet holds all clusters of one repository.
type Fleet struct {
	Dir      string     // absolute path of the CUE module
	Module   string     // path of the module, which is the fleet's name
	Clusters []*Cluster // sorted by ID
}

// ReleaseNames returns the sorted names of the releases of all clusters.
func (f *Fleet) ReleaseNames() []string {
	var names []string
	for _, c := range f.Clusters {
		for _, r := range c.Releases {
			names = append(names, r.Name)
		}
	}
	return diag.Distinct(names)
}

// A Cluster is one directory that sets the field cluster, with its layers
// unified.
type Cluster struct {
	ID          string            // path below environments/, slash-separated
	Name        string            // display name
	Environment string            // name of the layer between root and cluster; may be empty
	KubeVersion string            // 1.36 or 1.36.2
	KubeContext string            // kubeconfig context; may be empty
	UID         string            // of the namespace kube-system; may be empty
	History     int               // number of applied bundles that the cluster keeps; 0 when unknown
	Recipients  []string          // age recipients of the cluster, for which Flux exports encrypt; sorted
	SealingCert string            // PEM certificate of the cluster's Sealed Secrets controller, for which exports encrypt
	Labels      map[string]string // for selection
	Facts       map[string]any    // decoded JSON
	APIs        []API             // kinds that the cluster serves and no release installs, sorted
	CRDs        []string          // files and directories of CRDs that no release installs, relative to the root
	CRDsPos     []diag.Pos        // where CRDs are set, in the same order
	Stages      []string          // in apply order; at least one
	Releases    []*Release        // sorted by name
	Secrets     []Secret          // sorted by name
	Selectors   []ClusterSelector // of all releases and images, including unselected ones; sorted by release, then by image
	Defaults    DefaultUses       // effective and overridden defaults
	Checks      []RuleCheck       // checks of rules that must hold in at least one cluster
	Policies    []Policy          // sorted by name
	Health      []HealthRule      // readiness rules, sorted by name
	Actions     []Action          // before and after stages, sorted by name
	Ignore      []IgnoreRule      // fields that comparisons ignore, sorted by name
	DriftIgnore []IgnoreRule      // fields and objects that do not count as drift, sorted by name
	Images      []ImagePolicy     // policies of images, sorted by image
	GitOps      GitOps            // settings for Flux and Argo CD
	Rollout     *Rollout          // of the fleet, equal in all clusters; nil when there is none
	Updates     *Updates          // of the fleet; nil when there are none
	Pos         diag.Pos          // position of the cluster
	KubePos     diag.Pos          // position of its Kubernetes version
	ContextPos  diag.Pos          // position of its kubeconfig context; zero when it has none
}

// Release returns the release with a name; nil when the cluster has none.
func (c *Cluster) Release(name string) *Release {
	i := slices.IndexFunc(c.Releases, func(r *Release) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return c.Releases[i]
}

// A Layer is one directory of CUE files between the root and a cluster.
type Layer struct {
	Name string `json:"layer"` // name of the directory; root for the topmost
	Dir  string `json:"dir"`   // relative to the fleet's root, slash-separated

	// Names are the names of all layers of the fleet, of the root layer only, sorted.
	Names []string `json:"-"`
}

// IsWithin reports whether a slash-separated path is a directory or below it.
func IsWithin(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }

// An API is one kind that a cluster serves.
type API struct {
	APIVersion string // group/version
	Kind       string
	Namespaced bool
}

// A Release is an installation of a chart or other source in a cluster. Caches store it
// without the fields that are zero.
type Release struct {
	Name          string        `json:",omitzero"`
	Namespace     string        `json:",omitzero"` // default namespace of its objects
	Stage         string        `json:",omitzero"` // one of the cluster's stages
	Depends       []string      `json:",omitzero"` // names of releases that are applied before it, sorted; each is in its stage or an earlier one
	DependsPos    []diag.Pos    `json:",omitzero"` // positions of Depends
	Level         int           `json:",omitzero"` // one more than the highest level of its dependencies in its stage; 0 without any
	Delivery      Delivery      `json:",omitzero"` // how the release is delivered
	Chart         ChartRef      `json:",omitzero"` // zero for another source
	Jsonnet       string        `json:",omitzero"` // file, relative to the root, slash-separated; empty for another source
	Kustomize     string        `json:",omitzero"` // directory of a kustomization, likewise
	Manifests     string        `json:",omitzero"` // file or directory of manifests, likewise
	Objects       []*Tree       `json:",omitzero"` // objects written in CUE, sorted by key or in list order
	Keys          []string      `json:",omitzero"` // keys of Objects; nil for a list
	Values        *Tree         `json:",omitzero"` // merged and unified values, a map; never nil
	Open          []Waiver      `json:",omitzero"` // values whose chart types are wrong, sorted by path
	Typed         bool          `json:",omitzero"` // whether every value must have a type
	Patches       []Patch       `json:",omitzero"` // sorted by name
	Ownership     []Ownership   `json:",omitzero"` // owners of its objects' fields, sorted by name
	Ignore        []IgnoreRule  `json:",omitzero"` // fields of its objects that comparisons ignore, sorted by name
	DriftIgnore   []IgnoreRule  `json:",omitzero"` // fields and objects that do not count as drift, sorted by name
	Replace       []Replace     `json:",omitzero"` // kinds whose objects may be recreated, in list order
	DuplicateKeys Waiver        `json:",omitzero"` // lets maps of its objects have keys twice
	Random        []RandomField `json:",omitzero"` // nondeterministic fields of the chart, sorted by object and field
	Actions       []Action      `json:",omitzero"` // before and after its apply, sorted by name
	Health        []HealthRule  `json:",omitzero"` // readiness rules that precede those of the cluster; sorted by name
	SecretsIn     []Waiver      `json:",omitzero"` // objects beside Secrets that may hold secret values, as Kind/name; sorted
	Plaintext     []Waiver      `json:",omitzero"` // Secrets that may be exported in plain text, as Secret/name; sorted
	Tests         bool          `json:",omitzero"` // whether Helm's test hooks are rendered
	Pos           diag.Pos      `json:",omitzero"` // position of the release
	SourcePos     diag.Pos      `json:",omitzero"` // position of its source: the chart's pin, the file or the directory
}

// A Delivery is the way in which a release is applied.
type Delivery string

// The deliveries. The bundle contains the objects in both cases, for checks
// and comparisons.
const (
	ByManifests Delivery = "manifests" // fleetc applies its objects
	ByHelm      Delivery = "helm"      // Helm installs it as a Helm release
)

// plainLabel matches labels that CUE accepts without quotes.
var plainLabel = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]*$`)

// Path returns the path of a field of the release in CUE syntax:
// releases.app.values.x, releases."my-app".chart.
func (r *Release) Path(field ...string) string {
	return strings.Join(append([]string{"releases", Label(r.Name)}, field...), ".")
}

// ObjectKey returns the key of an object written in CUE as in a path, or its index in a list.
func (r *Release) ObjectKey(i int) string {
	if i < len(r.Keys) {
		return FieldText(r.Keys[i : i+1])
	}
	return strconv.Itoa(i)
}

// Label returns the name of a field in CUE syntax: in quotes if it must be.
func Label(name string) string {
	if plainLabel.MatchString(name) {
		return name
	}
	return strconv.Quote(name)
}

// A Waiver exempts a value from the types of a chart, or a Secret from the
// check of exported files.
type Waiver struct {
	Path   string // a.b, or a."b.c" for a key with a dot in it; * for the whole chart; Secret/name
	Reason string
	Pos    diag.Pos // position of the waiver
}

// A ChartRef identifies a chart by content. It is comparable, so that work for
// equal charts can be deduplicated. Exactly one of Path, Repo and Git.URL is
// set.
type ChartRef struct {
	Path    string // a directory or archive in the repository, relative to its root, slash-separated
	Repo    string // URL of an HTTP repository, or oci://
	Name    string // in Repo
	Version string // exact, in Repo
	Git     GitRef
	Digest  string  // sha256:hex of the archive; empty for Path
	Schemas Digests // of external documents of its values.schema.json, by URL

	// Dependencies holds the digests of chart archives that Chart.yaml lists
	// and the chart does not contain, by REPOSITORY/NAME@VERSION, or by
	// file:///PATH in its git repository.
	Dependencies Digests
}

// Digests maps names to digests in a comparable form: sorted lines of name,
// blank and digest.
type Digests string

// NewDigests returns the digests of a map.
func NewDigests(by map[string]string) Digests {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(by)) {
		b.WriteString(name + " " + by[name] + "\n")
	}
	return Digests(b.String())
}

// All returns the names and digests, in order.
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
	URL  string `json:"url"`
	Ref  string `json:"ref"`            // a commit, tag or branch
	Path string `json:"path,omitempty"` // directory of the chart; empty for the root
}

// String returns the location and, except for a path, @ and the version.
func (r ChartRef) String() string {
	switch {
	case r.Git.URL != "":
		return r.Location() + "@" + r.Git.Ref
	case r.Repo != "":
		return r.Location() + "@" + r.Version
	}
	return r.Location()
}

// Location returns the location of the chart, which all its versions share.
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

// A Chart is the content of a Helm chart.
type Chart struct {
	Ref    ChartRef
	Digest string // sha256:hex of the archive and of pinned dependencies; for a chart by path, of its files
	Files  []File // in the form of Helm's loader, names relative to the chart's root; must not be modified

	Schemas []File // external documents of its values.schema.json, by URL; sorted
}

// A File is one file of a chart.
type File struct {
	Name string // slash-separated
	Data []byte
}

// An Object is one rendered Kubernetes object. Clusters share its content,
// which must not be modified: a changed object gets new content.
type Object struct {
	*unstructured.Unstructured
	Release   *Release
	Shared    bool     // whether other objects share the content, so that results for it are worth caching
	CRD       bool     // whether it is in the crds directory of a chart, which Helm does not upgrade
	Unapplied bool     // whether it is a hook that an apply does not run, see [Bundle]
	Template  string   // the chart's template; empty for an object written in CUE
	Pos       diag.Pos // position in CUE; that of the release for a chart's object

	Nondeterministic bool          // whether an unapplied hook of the release differs between renderings
	Kept             []RandomField // rules of the fields that keep their last value, one for each field

	// SecretFields are fields beside the data of Secrets that have values of secrets,
	// which comparisons do not show.
	SecretFields [][]string
}

// ID returns kind.group namespace/name. It excludes the version: two versions
// of an object are the same object.
func (o Object) ID() string {
	gk := o.GroupVersionKind().GroupKind().String()
	if ns := o.GetNamespace(); ns != "" {
		return gk + " " + ns + "/" + o.GetName()
	}
	return gk + " " + o.GetName()
}

// ReleaseName returns the name of the object's release; empty without one.
func (o Object) ReleaseName() string {
	if o.Release == nil {
		return ""
	}
	return o.Release.Name
}

// Title returns a name for messages, kind.group namespace/name, also for an
// incomplete object.
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

// Places returns the source position of an object, or of its release; none when both are
// unknown.
func (o Object) Places() []diag.Pos {
	if o.Pos.IsValid() {
		return []diag.Pos{o.Pos}
	}
	return o.Release.Places()
}

// Places returns the position of a release; none for one of a stored bundle.
func (r *Release) Places() []diag.Pos {
	if !r.Pos.IsValid() {
		return nil
	}
	return []diag.Pos{r.Pos}
}

// Origin returns the release and the template of an object, or an empty string
// without a release.
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

// A Bundle holds all objects of one cluster, unique, in apply order.
type Bundle struct {
	Cluster *Cluster
	Objects []Object
	YAML    []Text // the canonical text of each object, in the same order
	Sums    []Sum  // digests of the texts; may be nil, see [Bundle.Sum]
	Digest  string // sha256:hex of stages, levels, releases, texts and inputs of Helm's releases: the version of the cluster
	Charts  []Pin  // charts of releases, sorted by release

	// Hooks run when a release is deleted, rolled back or tested. They are not
	// applied, because an apply would run them, and are not part of the
	// digest.
	Hooks  []Object
	Checks []RuleCheck // of the targets of patches
	Layout Layout      // layout of the exported files
	Dirs   []string    // directory of each object below the cluster's directory, slash-separated; nil when all are in that directory
	Files  []File      // additional files, named relative to the cluster's directory
}

// Sum returns the digest of an object's text.
func (b *Bundle) Sum(i int) Sum {
	if b.Sums != nil {
		return b.Sums[i]
	}
	return b.YAML[i].Sum()
}

// A Pin is the chart of a release in a bundle.
type Pin struct {
	Release string
	Chart   ChartRef // with the digest of its content, even for a chart by path
}
