// Package kustomize builds kustomizations: directories of the repository that
// say how manifests become objects. It is the only door of kustomize's
// libraries.
//
// It builds what the kustomize command builds, from files below the fleet's
// root alone. It runs no plugins, no containers, no Helm and no git, opens no
// connection and reads no environment: what would need any of these is a fault.
// It prints nothing to standard error. What kustomize tells the standard logger,
// such as which vars are unused, the program has to silence. Kustomizations say
// nothing about clusters, so the same directory is the same objects for all of
// them.
//
// It bounds what is read, the number of objects, what aliases make of them, and
// the time and memory of a build: replacements, vars and the copy operations of
// JSON patches make much out of little.
package kustomize

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/fleetc/fleetc/compiler/bounded"
	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/stderr"
)

// Build returns the objects of the kustomization in the directory dir, which
// is relative to the fleet's root and slash-separated, in the order in which
// the kustomize command prints them. Their Template is the kustomization file.
//
// reads are the files that were read, relative to the root and sorted, also
// when there is an error: as they are named and, where links are on the way, as
// they are found.
//
// The error holds the faults of the kustomization and of those that it
// includes, each at the user's file and at the release; it is that of ctx when
// ctx ends first. ctx is looked at whenever a file is read.
//
// remotes finds what addresses refer to; without it, they are faults.
func Build(ctx context.Context, root, dir string, r *fleet.Release, remotes Remotes) (objs []fleet.Object, reads []string, err error) {
	sys, err := os.OpenRoot(root)
	if err != nil {
		return nil, nil, fmt.Errorf("open the fleet's root: %w", err)
	}
	defer sys.Close()
	b := &build{
		release:   r,
		resources: resmap.NewFactory(provider.NewDefaultDepProvider().GetResourceFactory()),
		checked:   map[string]*file{},
		tree:      &tree{ctx: ctx, root: sys, files: map[string][]byte{}, also: map[string]bool{}, mounts: map[string]Files{}},
		remotes:   remotes, dir: dir,
	}
	b.tree.kustomization = b.serve
	defer func() {
		// A build that was given up goes on, and uses the tree.
		if ctx.Err() == nil && !errors.Is(err, diag.ErrRunaway) {
			reads = b.tree.recorded()
		}
		// A kustomization is input: what it makes the library do is its fault.
		if p := recover(); p != nil {
			objs, err = nil, b.at(diag.Pos{}, "does not build: "+oneLine(fmt.Sprint(p)), "")
		}
	}()
	top := b.top(dir)
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if err := b.faults.Err(); err != nil {
		return nil, nil, err
	}
	objs, err = b.run(top)
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	return objs, nil, err
}

// A build is the state of one call of Build.
type build struct {
	release   *fleet.Release
	resources *resmap.Factory
	tree      *tree
	checked   map[string]*file // kustomization files, by directory without links; nil for one with faults
	faults    diag.List
	remotes   Remotes           // nil for none
	dir       string            // of the topmost kustomization
	mounts    int               // addresses that were followed
	stack     []string          // directories that are being checked
	instead   map[string][]byte // kustomization files as kustomize is to see them otherwise, by name
}

// running lets one kustomize run at a time: it keeps the schema of Kubernetes
// in variables of the process, which it fills while others read them. A build
// that exceeds its limits goes on, and none can follow.
var (
	running  = make(chan struct{}, 1)
	exceeded = make(chan struct{})
	exceed   = sync.OnceFunc(func() { close(exceeded) })
)

// limits are those of one run of kustomize.
var limits = bounded.Limits{Time: 2 * time.Minute}

// begin waits until no kustomize runs.
func (b *build) begin(top *file) error {
	select {
	case running <- struct{}{}:
	case <-b.tree.ctx.Done():
		return b.tree.ctx.Err()
	case <-exceeded:
	}
	select {
	case <-exceeded: // The other build may have ended, and this one not have to wait.
		return b.at(diag.Pos{File: top.name}, "not built, since another kustomization exceeded its limits", "")
	default:
		return nil
	}
}

// run lets kustomize build what has been checked, within limits.
func (b *build) run(top *file) ([]fleet.Object, error) {
	if err := b.begin(top); err != nil {
		return nil, err
	}
	objs, err := bounded.Run(b.tree.ctx, limits, func() (objs []fleet.Object, err error) {
		defer func() { <-running }()
		if !b.warns() {
			return b.kustomize(top)
		}
		// A build that was given up prints on, so the end of this one counts.
		if failed := stderr.Silence(func() { objs, err = b.kustomize(top) }); failed != nil {
			return nil, failed
		}
		return objs, err
	})
	if excess, ok := errors.AsType[*bounded.Excess](err); ok {
		exceed()
		d := b.at(diag.Pos{File: top.name}, "the kustomization "+excess.Msg, "look for a replacement, a var or a JSON patch that copies a value many times")
		d.Cause = err
		return nil, d
	}
	return objs, err
}

// kustomize runs kustomize on what has been checked.
func (b *build) kustomize(top *file) ([]fleet.Object, error) {
	m, err := b.kustomizer().Run(b.tree, "/"+top.dir)
	if err != nil {
		return nil, b.failed(top, err)
	}
	if b.unmatched(); len(b.faults) > 0 {
		return nil, b.faults.Err()
	}
	objs := make([]fleet.Object, 0, m.Size())
	for _, res := range m.Resources() {
		data, err := res.MarshalJSON()
		if err != nil {
			return nil, b.failed(top, err)
		}
		var o map[string]any
		if err := utiljson.Unmarshal(data, &o); err != nil {
			return nil, b.failed(top, err)
		}
		objs = append(objs, fleet.Object{
			Unstructured: &unstructured.Unstructured{Object: o}, Release: b.release,
			Template: top.name, Pos: diag.Pos{File: top.name},
		})
	}
	return objs, nil
}

// top checks the kustomization that the release names, and all that it
// includes.
func (b *build) top(dir string) *file {
	if msg, hint := outside(".", dir); msg != "" {
		b.fault(diag.Pos{}, msg, hint)
		return nil
	}
	if isKustomization(dir) && !b.tree.IsDir(dir) {
		b.fault(diag.Pos{}, dir+" is a kustomization file", "name its directory: "+path.Dir(path.Clean(dir)))
		return nil
	}
	info, err := b.tree.stat(dir)
	switch {
	case err != nil:
		b.missing(diag.Pos{}, ".", dir, err)
		return nil
	case !info.IsDir():
		b.fault(diag.Pos{}, dir+" is a file", "name a directory with a kustomization.yaml, or make it a manifests release")
		return nil
	}
	return b.directory(diag.Pos{}, dir, types.KustomizationKind)
}

// at is a fault at a place of a kustomization, or at the release alone when
// there is none.
func (b *build) at(pos diag.Pos, msg, hint string) *diag.Diag {
	d := &diag.Diag{Msg: msg, Hint: hint}
	if b.release.Name != "" {
		d.Path = b.release.Path("kustomize")
	}
	for _, p := range []diag.Pos{pos, b.release.SourcePos} {
		if p.IsValid() {
			d.At = append(d.At, p)
		}
	}
	return d
}

func (b *build) fault(pos diag.Pos, msg, hint string) { b.faults.Add(b.at(pos, msg, hint)) }

// missing is the fault of a path that cannot be followed.
func (b *build) missing(pos diag.Pos, dir, name string, err error) {
	if !os.IsNotExist(err) {
		b.fault(pos, name+" "+reason(err), "")
		return
	}
	// The first part of the path that is not there is what is misspelt.
	parts := strings.Split(path.Clean(name), "/")
	for i, part := range parts {
		above := path.Join(append([]string{dir}, parts[:i]...)...)
		if !b.tree.Exists(path.Join(above, part)) {
			b.fault(pos, name+" does not exist", diag.OneOf(part, b.tree.names(above)))
			return
		}
	}
	b.fault(pos, name+" does not exist", "")
}

// outside says what is wrong with a path that is not one below the root when
// it stands in a file of the directory.
func outside(dir, name string) (msg, hint string) {
	switch {
	case name == "":
		return "an empty path", ""
	case remote(name):
		return name + " is remote, and a build fetches nothing", "copy it into the repository"
	case path.IsAbs(name) || filepath.IsAbs(name):
		return name + " is an absolute path", "write it relative to the repository"
	}
	below := path.Join(dir, filepath.ToSlash(name))
	here, _ := mountOf(dir)
	if place, _ := mountOf(below); below == ".." || strings.HasPrefix(below, "../") || place != here {
		return name + " leads out of the repository", ""
	}
	return "", ""
}
