package importer

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/stage/chart"
)

// FluxOptions say what to read.
type FluxOptions struct {
	Dir        string            // of the repository
	Clusters   []ClusterSource   // at least one; each source is a directory that Flux syncs, relative to Dir and slash-separated
	Variables  map[string]string // values of substitution variables; they override those of files
	Kubernetes string            // version of the clusters
	ProveWith  Programs

	// Source returns a source for the remote resources of kustomizations.
	Source func(root string) *chart.Source
}

// fluxTool is the name of Flux in the model.
const fluxTool = "flux"

// A fluxReader is the state of one call of ReadFlux.
type fluxReader struct {
	*Repository // kustomizations are rewritten in the copy
	opts        FluxOptions
	files       map[string][]*Document // parsed files by path relative to dir
	hiding      string                 // directory with the hidden files of the copy
	shown       fluxArtifact           // whose files are not hidden
	isMixed     bool                   // whether the cluster builds from several artifacts
	ignored     map[fluxArtifact]fluxExclusions
}

// ReadFlux reads the clusters of a repository. Kustomizations and HelmReleases with faults are
// listed as left out. The error holds all faults if nothing else is left.
func ReadFlux(ctx context.Context, opts FluxOptions) (model *Model, err error) {
	files, err := openRepository(ctx, opts.Dir, "name the directory of the repository that Flux reads", fluxTool, opts.Source)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	r := &fluxReader{Repository: files, opts: opts, files: map[string][]*Document{}, ignored: map[fluxArtifact]fluxExclusions{}}
	if r.hiding, err = os.MkdirTemp("", "fleetc-import-"); err != nil {
		return nil, err
	}
	defer os.RemoveAll(r.hiding)
	var faults diag.List
	for _, c := range opts.Clusters {
		out, err := r.cluster(c)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		faults.Add(diag.In(c.ID, err))
		r.model.Clusters = append(r.model.Clusters, out)
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return r.model, r.model.Faults()
}

// cluster reads one cluster.
func (r *fluxReader) cluster(c ClusterSource) (*Cluster, error) {
	root := path.Clean(filepath.ToSlash(c.Source))
	s := &fluxState{
		fluxReader: r, out: &Cluster{ID: c.ID, Kubernetes: r.opts.Kubernetes, Facts: map[string]string{}},
		byID: map[string]*fluxObject{}, stages: map[string]*kustomization{}, root: root, conflicts: map[string]bool{},
	}
	if path.IsAbs(root) || !filepath.IsLocal(filepath.FromSlash(root)) {
		return s.out, &diag.Diag{Code: diag.CodeImportFile, Msg: "the path of the cluster " + c.ID + " is outside of the repository", Hint: "write it relative to the repository"}
	}
	s.findSynced()
	if err := s.walk(); err != nil {
		return s.out, err
	}
	if s.isMixed { // releases read files of all builds
		if err := s.showAll(); err != nil {
			return s.out, err
		}
	}
	s.releases()
	s.out.DropUnusedSecrets()
	for _, k := range s.order {
		s.out.SOPSSecret = cmp.Or(s.out.SOPSSecret, textAt(k.spec, "decryption", "secretRef", "name"))
	}
	return s.out, nil
}

// A fluxState is the state of reading one cluster.
type fluxState struct {
	*fluxReader
	out       *Cluster
	root      string       // path of the synced directory
	synced    fluxArtifact // that the directory is from
	byID      map[string]*fluxObject
	objects   []*fluxObject             // in the order of builds
	stages    map[string]*kustomization // by namespace/name
	order     []*kustomization          // in the order of builds
	conflicts map[string]bool           // variables with several values
	taken     map[string]bool           // names of releases
	byRelease map[string]string         // names of releases by namespace/name of HelmReleases
	unawaited map[[2]string]bool        // releases and dependencies for which Flux does not wait until they are ready
}

// A fluxObject is an object that a Kustomization applies.
type fluxObject struct {
	content map[string]any
	doc     *Document      // may be nil
	stage   *kustomization // that applies it; nil for the synced directory
	used    bool           // whether a release uses it as the source of a chart, or it is a Kustomization or HelmRelease
	unknown []string       // variables without a known value in it
	origin  string         // file that it comes from, or the kustomization that generates it; may be empty
}

// at returns the position of a field of the object.
func (s *fluxState) at(o *fluxObject, field ...string) diag.Pos {
	if o.doc != nil {
		return o.doc.At(field...)
	}
	if o.stage != nil {
		return s.at(o.stage.fluxObject)
	}
	return diag.Pos{}
}

// fault returns a fault in a document.
func (s *fluxState) fault(code diag.Code, o *fluxObject, field, msg, hint string) *diag.Diag {
	at := diag.Positions(s.at(o, strings.Split(field, ".")...))
	return &diag.Diag{Code: code, At: at, Path: strings.TrimSpace(o.title() + " " + field), Msg: msg, Hint: hint}
}

// note returns a note about a field of an object, or about a part below the field.
func (s *fluxState) note(o *fluxObject, field, do string, below ...string) Note {
	return Note{Pos: s.at(o, slices.Concat(strings.Split(field, "."), below)...), Doc: o.title(), Field: field, Do: do}
}

func (o *fluxObject) kind() string      { return textAt(o.content, "kind") }
func (o *fluxObject) name() string      { return textAt(o.content, "metadata", "name") }
func (o *fluxObject) namespace() string { return textAt(o.content, "metadata", "namespace") }
func (o *fluxObject) group() string {
	return schema.FromAPIVersionAndKind(textAt(o.content, "apiVersion"), "").Group
}

// key identifies the object among those of its kind: namespace/name.
func (o *fluxObject) key() string { return path.Join(o.namespace(), o.name()) }

// title names the object: kind namespace/name.
func (o *fluxObject) title() string { return o.kind() + " " + o.key() }

// id identifies the object in its cluster.
func (o *fluxObject) id() string {
	return o.kind() + "." + o.group() + " " + o.namespace() + "/" + o.name()
}
