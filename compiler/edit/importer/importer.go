// Package importer writes a fleet from the files of another tool, and proves that it
// renders the same objects.
//
// Readers, layers, the writer and the proof are separate, so that formats share all but
// the reader:
//
//	reader   files of a tool          -> Model     argo*.go, flux*.go, helmfile*.go, helmreleases.go, overlays.go
//	charts   ChartSource              -> packages  finds and pins the charts of the model
//	layers   releases of all clusters -> layers    puts each field into the highest layer
//	writer   layers                   -> CUE       formats files, and keeps edited ones
//	proof    Model, compiled fleet    -> Report    renders both sides and compares
//
// A Model is neutral. It has clusters; a cluster has facts and releases; a release has a
// namespace, dependencies, patches, ownership and either a chart with values, or objects.
// Values and objects are Nodes: data with the order of keys, comments and positions of
// the source. A Model also has the fields that it does not carry, each with its position
// and what to do, and the mistakes that the reader found.
//
// Readers account for each field of each document: [accountFor] walks a document against a
// table of paths. A path is carried, or has a text that says why it is not and what to
// do. A path without an entry is reported as unknown, so that nothing is lost silently.
//
// The same release in several clusters becomes one. A field that is equal in all clusters
// goes to the root, one that is equal in a directory of clusters to that layer, and the
// others to the cluster. Strings that differ by a fact of the cluster, such as its name or
// a substitution variable, become references to the fact. Layers never override each
// other, so the merge gives each cluster its exact values; the proof checks this.
//
// The expected side of the proof is independent of the written CUE: the reader computes
// values and objects as the other tool does, and the engine renders charts with them. The
// other side is the compiled fleet. Each release is proven, different with the reason, or
// unproven because a part is unknown, such as a chart that cannot be fetched or a value
// that is encrypted.
//
// All work happens in a copy of the fleet in a temporary directory. The fleet changes only
// when the copy is complete. import.sum records digests of written files: a later import
// updates files that still have their digest, keeps edited files, and reports these.
//
// [ReadArgoCD] expands ApplicationSets and computes values and objects as Argo CD's repo
// server does, [ReadFlux] as its controllers do, and [ReadHelmfile] evaluates a helmfile with
// its templates and bases. These three read the files of one repository and no cluster. They
// fetch only the remote resources of kustomizations, run programs only for the proof, and do
// not decrypt. [ReadHelmReleases] reads live clusters. A part that cannot be read is reported.
//
// It is large because each of the readers is a reimplementation of another tool, and all of
// them share these parts.
package importer

import (
	"cmp"
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
)

// A Model is the neutral result of a reader.
type Model struct {
	Tool       string // that the files are for, such as flux
	Dir        string // absolute path of the repository that the reader reads; empty for others
	Clusters   []*Cluster
	Dropped    []*Release // that cannot be written and whose cluster is unknown, each with the reason in Unproven
	NotCarried []Note
	Mistakes   []Note // that the reader found in the files
	Documents  int    // number of documents
	Lines      int    // number of lines of the files that were read

	mistaken map[Note]bool // mistakes that were added
	faults   diag.List     // of documents that are left out
}

// LeaveOut lists the faults of a document that is left out, and returns the first message. at
// is the position of faults without one.
func (m *Model) LeaveOut(title string, at diag.Pos, err error) string {
	all := diag.All(err)
	for _, d := range all {
		if isSame := func(other *diag.Diag) bool { return other.Msg == d.Msg && other.Hint == d.Hint }; d.Code != diag.CodeImportUnsupported || !slices.ContainsFunc(m.faults, isSame) {
			m.faults = append(m.faults, d)
		}
		note := Note{Pos: at, Doc: title, Field: strings.TrimPrefix(strings.TrimPrefix(d.Path, title), " "), Do: d.Msg + ": " + d.Hint}
		if len(d.At) > 0 {
			note.Pos = d.At[0]
		}
		m.Note(note)
	}
	return all[0].Msg
}

// Faults returns the faults of the documents that are left out. It returns nil if the model has
// releases or no document was left out.
func (m *Model) Faults() error {
	if slices.ContainsFunc(m.Clusters, func(c *Cluster) bool { return len(c.Releases) > 0 }) {
		return nil
	}
	return m.faults.Err()
}

// Note adds fields that are not carried. The report has equal notes once.
func (m *Model) Note(notes ...Note) { m.NotCarried = append(m.NotCarried, notes...) }

// Mistake adds a mistake in the files, once: clusters share documents.
func (m *Model) Mistake(n Note) {
	if m.mistaken == nil {
		m.mistaken = map[Note]bool{}
	}
	if !m.mistaken[n] {
		m.mistaken[n] = true
		m.Mistakes = append(m.Mistakes, n)
	}
}

// sort sorts the clusters by ID, and their releases by name.
func (m *Model) sort() {
	slices.SortFunc(m.Clusters, func(a, b *Cluster) int { return cmp.Compare(a.ID, b.ID) })
	byName := func(a, b *Release) int { return cmp.Compare(a.Name, b.Name) }
	for _, c := range m.Clusters {
		slices.SortStableFunc(c.Releases, byName)
		slices.SortStableFunc(c.Dropped, byName)
	}
}

// A Note says something about a field of a document.
type Note struct {
	Pos   diag.Pos // absolute file
	Doc   string   // kind and name of the document
	Field string   // path of the field; empty for the document
	Do    string   // why the field is not carried, and what to do
}

// A Cluster is a cluster of a model.
type Cluster struct {
	ID         string
	Context    string // of the kubeconfig; may be empty
	UID        string // of the namespace kube-system; may be empty
	Kubernetes string
	ApplyOnly  bool              // whether it is applied to and not exported
	Labels     map[string]string // may be nil
	Facts      map[string]string // that strings of releases may refer to
	Secrets    []Secret          // that strings of releases refer to
	Age        []string          // age public keys; Flux has the private key of one
	SOPSSecret string            // name of the Secret with the keys of Flux; may be empty
	Releases   []*Release
	Dropped    []*Release // that cannot be written, each with the reason in Unproven

	// Render returns the objects that the tool's own program renders for the API versions
	// of a cluster, by release. It is nil when no program renders the expected side.
	Render func(ctx context.Context, apis []string) (map[string][]fleet.Object, error)

	apis       []fleet.API       // kinds without a CRD, which the proof finds
	declared   []fleet.API       // cluster.apis of files that the import does not write
	guesses    map[bool][]string // kinds whose scope is a guess; the key says whether they are namespaced
	references map[string]string // references to secrets in the compiled fleet, by name
}

// A Release is a release of one cluster.
type Release struct {
	Name         string
	Namespace    string
	Origin       string // kind and name of the document, for the report
	Pos          diag.Pos
	Depends      []string // names of releases, sorted
	namespacePos diag.Pos // may be invalid

	Chart    *ChartSource // nil for a release with objects
	Target   ChartTarget  // for which the tool renders the chart
	Values   *Node        // a map; nil for a release with objects
	SkipCRDs bool         // whether the tool does not install the crds directory of the chart

	Objects []Field // in source order; keys are names in the release
	Source  *Source // files that make the objects and that the fleet keeps; nil when the fleet has the objects themselves

	Patches        []Patch
	PostRenderers  []map[string]any             // the kustomizations that the tool applies after rendering, for the proof
	CommonMetadata map[string]any               // labels and annotations that the tool adds to rendered objects, for the proof
	Ownership      *Node                        // rules by name, see ownershipRule; may be nil
	Actions        *Node                        // commands before or after the release is applied, by name; may be nil
	Timeout        string                       // how long its objects may take to be ready; may be empty
	Stored         []*unstructured.Unstructured // objects that the tool stored as rendered, without hooks and the crds directory; nil if it stores none
	Unproven       string                       // why the expected objects are unknown; empty when they are known
	LeftOut        bool                         // whether a dropped release is not a fault

	helmName  string         // that Argo CD gives to a release with another name; empty for others
	expected  *expectation   // the objects that the tool makes; nil before the first proof
	open      map[string]any // waivers for values, which the proof finds
	random    map[string]any // nondeterministic fields, which the proof finds
	manifests string         // directory in the fleet with its objects; empty for objects in CUE
}

// A ChartTarget is the namespace and the versions for which a tool renders a chart. An empty field
// stands for the value of the release or the cluster.
type ChartTarget struct {
	Namespace, KubeVersion string
	APIVersions            []string
}

// versions returns the cluster and the API versions that the chart sees.
func (t ChartTarget) versions(c *fleet.Cluster, apis []string) (*fleet.Cluster, []string) {
	if len(t.APIVersions) > 0 {
		apis = slices.Concat(kube.Capabilities(c.KubeVersion), t.APIVersions)
	}
	seen := *c
	seen.KubeVersion = cmp.Or(t.KubeVersion, c.KubeVersion)
	return &seen, apis
}

// fields names the fields that are set.
func (t ChartTarget) fields() string {
	var out []string
	if t.Namespace != "" {
		out = append(out, "the namespace "+t.Namespace)
	}
	if t.KubeVersion != "" {
		out = append(out, "Kubernetes "+t.KubeVersion)
	}
	if len(t.APIVersions) > 0 {
		out = append(out, "other API versions")
	}
	return strings.Join(out, ", ")
}

// A Source is the files of a kustomization or of a Jsonnet file, which the fleet keeps.
type Source struct {
	Field string            // of schema.#Release: kustomize or jsonnet; also the directory of the files in the fleet
	Path  string            // of the directory or file, below that directory
	Files map[string][]byte // content by path below that directory
}

// place returns the path of a file in the fleet. Libraries of Jsonnet stay in vendor.
func (s *Source) place(name string) string {
	if s.Field == "jsonnet" && strings.HasPrefix(name, "vendor/") {
		return name
	}
	return path.Join(s.Field, name)
}

// keptFiles returns the content of files below a directory by path. names are relative to
// it and slash-separated.
func keptFiles(dir string, names []string) (map[string][]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	files := map[string][]byte{}
	for _, name := range names {
		if files[name], err = root.ReadFile(filepath.FromSlash(name)); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// A Patch changes rendered objects.
type Patch struct {
	Name     string
	Target   map[string]any // fields of schema.#ObjectSelector; may be empty
	Optional bool
	Form     string // strategic or json, as in schema.#Patch
	Body     *Node
}

// writeOwnership is what to do with a field that others own and [pointerFields] cannot convert.
const writeOwnership = "write this field under ownership with leave: true, and select the list element by name"

// pointerFields returns the field paths of JSON pointers. It calls other with the index of
// each pointer to a whole object or to the index of a list, which has none.
func pointerFields(pointers []any, other func(i int)) []string {
	var out []string
	isIndex := func(key string) bool { return key != "" && strings.Trim(key, "0123456789") == "" }
	for i, v := range pointers {
		pointer, _ := v.(string)
		keys := fleet.PointerKeys(pointer)
		if len(keys) == 0 || keys[0] == "" || slices.ContainsFunc(keys, isIndex) {
			other(i)
			continue
		}
		out = append(out, fleet.FieldText(keys))
	}
	return out
}

// A ChartSource says where a chart comes from. At most one of Repo, Git and Dir is set.
type ChartSource struct {
	Repo    string // URL of an HTTP repository, or of a folder of a registry
	Name    string // of the chart; for Git and Dir the last element of the path
	Version string // a version or a range; empty for the newest version
	Git     string // URL of a git repository
	Ref     string // in Git
	Path    string // in Git
	Dir     string // absolute path of a directory of the imported repository
	Root    string // the repository of Dir, from which dependencies beside the chart are copied; empty for none
	// Fallback is the absolute path of a directory with the chart as far as the tool
	// stored it. It is used when no copy of the chart is given.
	Fallback string
	Content  string // digest of the chart that the tool stored; may be empty
	Pos      diag.Pos
}

// key identifies the chart: it is equal for sources with the same chart.
func (s *ChartSource) key() string { return strings.TrimSpace(s.String() + " " + s.Content) }

// String names the chart for messages.
func (s *ChartSource) String() string {
	name := s.Dir
	switch {
	case s.Repo == "" && s.Git == "" && s.Dir == "":
		name = s.Name
	case s.Git != "":
		name = s.Git + "//" + s.Path
	case s.Repo != "":
		name = s.Repo + "/" + s.Name
	}
	if v := s.Version + s.Ref; v != "" {
		name += "@" + v
	}
	return name
}
