package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
)

// KustomizeInputs give a build the content from outside of the fleet. Addresses are faults without
// Remotes, and charts without Charts.
type KustomizeInputs struct {
	Remotes KustomizeRemotes
	Charts  KustomizeCharts
}

// BuildKustomization returns the objects of the kustomization in dir, which is
// slash-separated and relative to the fleet's root, in the order of the
// kustomize command. Their Template is the kustomization file.
//
// reads are the files that were read, relative to the root and sorted, also
// after an error. A file behind a symbolic link has both paths.
//
// The error has the faults of the kustomization and of those that it includes,
// with the positions in the file and of the release; it is that of ctx when ctx
// ends first.
func BuildKustomization(ctx context.Context, root, dir string, r *fleet.Release, in KustomizeInputs) (objs []fleet.Object, reads []string, err error) {
	objs, reads, unmatched, err := BuildAsKustomize(ctx, root, dir, r, in)
	if err == nil {
		err = unmatched.Err()
	}
	if err != nil {
		return nil, reads, err
	}
	return objs, reads, nil
}

// BuildAsKustomize is [BuildKustomization] that accepts patches whose targets match nothing, as the
// kustomize command does, and returns their faults separately.
func BuildAsKustomize(ctx context.Context, root, dir string, r *fleet.Release, in KustomizeInputs) (objs []fleet.Object, reads []string, unmatched diag.List, err error) {
	sys, err := os.OpenRoot(root)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("open the fleet's root: %w", err)
	}
	defer sys.Close()
	b := &build{
		release:         r,
		resources:       resmap.NewFactory(provider.NewDefaultDepProvider().GetResourceFactory()),
		checked:         map[string]*kustomizeFile{},
		tree:            &kustomizeTree{ctx: ctx, root: sys, files: map[string][]byte{}, also: map[string]bool{}, mounts: map[string]fleet.FileTree{}},
		KustomizeInputs: in, dir: dir,
	}
	b.tree.kustomization = b.serve
	defer func() {
		// An abandoned build continues and uses the tree.
		if ctx.Err() == nil && !errors.Is(err, diag.ErrRunaway) {
			reads = b.tree.recorded()
		}
		// A kustomization is input: a panic of the library is a fault of the
		// kustomization.
		if p := recover(); p != nil {
			objs, err = nil, b.at(diag.CodeKustomization, diag.Pos{}, "does not build: "+oneLine(fmt.Sprint(p)), "change the kustomization: the library that builds it has a fault")
		}
	}()
	top := b.top(dir)
	if err := ctx.Err(); err != nil {
		return nil, nil, nil, err
	}
	if err := b.faults.Err(); err != nil {
		return nil, nil, nil, err
	}
	objs, err = b.run(top)
	if ctx.Err() != nil {
		return nil, nil, nil, ctx.Err()
	}
	if err != nil {
		return nil, nil, nil, err // an abandoned build still uses b
	}
	return objs, nil, b.faults, nil
}

// A build is the state of one call of BuildKustomization.
type build struct {
	KustomizeInputs
	release   *fleet.Release
	resources *resmap.Factory
	tree      *kustomizeTree
	checked   map[string]*kustomizeFile // kustomization files, by directory without links; nil after faults
	faults    diag.List
	dir       string // directory of the topmost kustomization
	mounts    int    // number of resolved addresses

	chartCount int               // number of rendered charts
	stack      []string          // directories whose check is running
	namespaces []string          // of the kustomizations in these directories
	instead    map[string][]byte // rewritten kustomization files, by name
}

// running allows one kustomize build at a time, since kustomize stores the
// Kubernetes schema in global variables without a lock. A build that exceeds
// its limits continues in the background, and no other build may start.
var (
	running  = make(chan struct{}, 1)
	exceeded = make(chan struct{})
	exceed   = sync.OnceFunc(func() { close(exceeded) })
)

// limits are the limits of one build.
var limits = par.Limits{Time: 2 * time.Minute}

// begin waits until no other build runs.
func (b *build) begin(top *kustomizeFile) error {
	refused := b.at(diag.CodeSourceLimits, diag.Pos{File: top.name}, "not built, since another kustomization exceeded its limits", "correct that kustomization first")
	select {
	case running <- struct{}{}:
	case <-b.tree.ctx.Done():
		return b.tree.ctx.Err()
	case <-exceeded:
		return refused
	}
	select {
	case <-exceeded: // The other build may have ended at the same time.
		<-running
		return refused
	default:
		return nil
	}
}

// run builds the checked kustomization within the limits.
func (b *build) run(top *kustomizeFile) ([]fleet.Object, error) {
	if err := b.begin(top); err != nil {
		return nil, err
	}
	objs, err := par.RunLimited(b.tree.ctx, limits, func() (objs []fleet.Object, err error) {
		defer func() { <-running }()
		if !b.warns() {
			return b.kustomize(top)
		}
		// An abandoned build continues to print, so this Silence must end
		// first.
		if failed := par.SilenceStderr(func() { objs, err = b.kustomize(top) }); failed != nil {
			return nil, failed
		}
		return objs, err
	})
	if excess, ok := errors.AsType[*par.Excess](err); ok {
		exceed()
		d := b.at(diag.CodeSourceLimits, diag.Pos{File: top.name}, "the kustomization "+excess.Msg, "look for a replacement, a var or a JSON patch that copies a value many times")
		d.Cause = err
		return nil, d
	}
	return objs, err
}

// kustomize calls kustomize for the checked kustomization.
func (b *build) kustomize(top *kustomizeFile) ([]fleet.Object, error) {
	m, err := b.kustomizer().Run(b.tree, "/"+top.dir)
	if err != nil {
		return nil, b.failed(top, err)
	}
	b.unmatched()
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
	return objs, b.rounded(objs)
}

// rounded returns a fault when kustomize rounds an integer, because it reads numbers as
// floats.
func (b *build) rounded(objs []fleet.Object) error {
	pos, number, to, ok := fleet.FindRounded(objs, b.tree.files)
	if !ok {
		return nil
	}
	return b.at(diag.CodeKustomization, pos, "kustomize cannot represent the number "+number+" exactly: objects would have "+to, "make it a string, or set the field in patches of the release")
}

// top checks the kustomization of the release and all that it includes.
func (b *build) top(dir string) *kustomizeFile {
	if msg, hint := outside(".", dir); msg != "" {
		b.pathFault(diag.Pos{}, msg, hint)
		return nil
	}
	if IsKustomization(dir) && !b.tree.IsDir(dir) {
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

// at returns a fault at a position of a kustomization, or at the release for an
// invalid position.
func (b *build) at(code diag.Code, pos diag.Pos, msg, hint string) *diag.Diag {
	d := &diag.Diag{Code: code, At: diag.Positions(pos, b.release.SourcePos), Msg: msg, Hint: hint}
	if b.release.Name != "" {
		d.Path = b.release.Path("kustomize")
	}
	return d
}

const emptyHint = "name the files of its objects under resources"

func (b *build) fault(pos diag.Pos, msg, hint string) {
	b.faults.Add(b.at(diag.CodeKustomization, pos, msg, cmp.Or(remoteHint(pos), hint)))
}

// remoteHint returns the hint for a fault in a file of a remote repository, which the
// user cannot correct, or "".
func remoteHint(pos diag.Pos) string {
	if place, _ := mountOf(pos.File); place == "" {
		return ""
	}
	return "use another version of it, or copy it into the fleet and correct it there"
}

// pathFault adds the fault of a path that leads to no readable file of the fleet.
func (b *build) pathFault(pos diag.Pos, msg, hint string) {
	b.faults.Add(b.at(diag.CodeSourceFile, pos, msg, cmp.Or(remoteHint(pos), hint, "name a file or directory of the fleet that can be read")))
}

// missing adds the fault of a path that does not exist.
func (b *build) missing(pos diag.Pos, dir, name string, err error) {
	if !os.IsNotExist(err) {
		b.pathFault(pos, name+" "+readReason(err), "")
		return
	}
	const create = "create it, or correct the path"
	// Suggest a name for the first part of the path that does not exist.
	parts := strings.Split(path.Clean(name), "/")
	for i, part := range parts {
		above := path.Join(append([]string{dir}, parts[:i]...)...)
		if !b.tree.Exists(path.Join(above, part)) {
			// The path of a release, which has no position, is a directory.
			unfit := func(name string) bool {
				return IsKustomization(name) || strings.HasPrefix(name, ".") || !pos.IsValid() && !b.tree.IsDir(path.Join(above, name))
			}
			hint := diag.OneOf(part, slices.DeleteFunc(b.tree.names(above), unfit))
			b.pathFault(pos, name+" does not exist", cmp.Or(hint, create))
			return
		}
	}
	b.pathFault(pos, name+" does not exist", create)
}

// outside returns the fault message and hint for a path of a file in dir that
// is not below the root.
func outside(dir, name string) (msg, hint string) {
	switch {
	case name == "":
		return "an empty path", ""
	case remote(name):
		return name + " is remote, and a build fetches nothing", "copy it into the fleet"
	case path.IsAbs(name) || filepath.IsAbs(name):
		from := "the fleet's root, where cue.mod is"
		if dir != "." {
			from = "the directory of this file"
		}
		return name + " is an absolute path", "write it relative to " + from
	}
	below := path.Join(dir, filepath.ToSlash(name))
	here, _ := mountOf(dir)
	if place, _ := mountOf(below); below == ".." || strings.HasPrefix(below, "../") || place != here {
		if here != "" {
			return name + " is outside of the repository of this base", ""
		}
		return name + " is outside of the fleet's directory", ""
	}
	return "", ""
}
