package source

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/git"
)

const (
	maxManifestFile    = 16 << 20 // bytes of a file
	maxManifestTotal   = 64 << 20 // bytes of all files
	maxManifestFiles   = 5_000
	maxManifestObjects = 20_000
	maxManifestFaults  = 100 // faults after which reading stops
)

// ReadManifests returns the objects of a file, or of all files *.yaml, *.yml and *.json
// below a directory, sorted by name in each directory. name is slash-separated
// and relative to the fleet's root. Items of lists become separate objects.
// Template is the file of an object, and Pos the beginning of its document or
// item.
//
// reads are the files that were read, relative to the root and sorted, also
// after an error. A file behind a symbolic link has both paths.
//
// The error has all faults, with the positions in the file and of the release.
func ReadManifests(root, name string, r *fleet.Release) (objs []fleet.Object, reads []string, err error) {
	sys, err := os.OpenRoot(root)
	if err != nil {
		return nil, nil, fmt.Errorf("open the fleet's root: %w", err)
	}
	defer sys.Close()
	s := &manifestTree{root: sys, release: r, reads: map[string]bool{}}
	s.top(name)
	reads = slices.Sorted(maps.Keys(s.reads))
	if err := s.faults.Err(); err != nil {
		return nil, reads, err
	}
	return s.objects, reads, nil
}

// A manifestTree is the state of one call of ReadManifests.
type manifestTree struct {
	root    *os.Root // of the fleet; paths cannot leave it
	release *fleet.Release
	reads   map[string]bool
	files   int // number of files that were read, and their size
	bytes   int
	objects []fleet.Object
	faults  diag.List
	full    bool // whether a limit was exceeded
}

// top reads the file or directory of the release.
func (s *manifestTree) top(name string) {
	below := path.Clean(name)
	switch {
	case name == "":
		s.fault(diag.CodeSourceFile, diag.Pos{}, "an empty path", "")
		return
	case path.IsAbs(name) || filepath.IsAbs(name):
		s.fault(diag.CodeSourceFile, diag.Pos{}, name+" is an absolute path", "write it relative to the fleet's root, where cue.mod is")
		return
	case below == ".." || strings.HasPrefix(below, "../"):
		s.fault(diag.CodeSourceFile, diag.Pos{}, name+" is outside of the fleet's directory", "")
		return
	}
	real, info, err := s.stat(below)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.missing(name, below)
	case err != nil:
		s.fault(diag.CodeSourceFile, diag.Pos{}, name+" "+readReason(err), "")
	case info.IsDir():
		files := s.files
		s.directory(below, real, nil)
		if s.files == files && len(s.faults) == 0 {
			s.fault(diag.CodeSourceFile, diag.Pos{}, "no manifests in "+name+" and below it", "put files in it that end in .yaml, .yml or .json")
			return
		}
	default:
		s.file(below, real, info)
	}
	if len(s.objects) == 0 && len(s.faults) == 0 {
		s.fault(diag.CodeSourceFile, diag.Pos{}, "no objects in "+name, "add objects to it, or remove the release")
	}
}

// missing returns the fault of a missing path. It suggests a name for the first
// part that does not exist.
func (s *manifestTree) missing(name, below string) {
	parts, above := strings.Split(below, "/"), "."
	for _, part := range parts {
		real, err := git.ResolveLink(s.root, above)
		if err != nil {
			break
		}
		names, err := entries(s.root, real)
		if err != nil {
			break
		}
		if !slices.Contains(names, part) {
			names = slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, ".") })
			s.fault(diag.CodeSourceFile, diag.Pos{}, name+" does not exist", cmp.Or(diag.OneOf(part, names), "create it, or correct the path"))
			return
		}
		above = path.Join(above, part)
	}
	s.fault(diag.CodeSourceFile, diag.Pos{}, name+" is a broken link", "correct the link")
}

// isManifest reports whether a file in a directory is read.
func isManifest(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name))
}

// directory reads the manifests of a directory. real is its path without links,
// and above are the paths of its parents, to detect link cycles.
func (s *manifestTree) directory(name, real string, above []string) {
	if slices.Contains(above, real) {
		s.fault(diag.CodeSourceFile, diag.Pos{File: name}, "a link that leads back to "+real, "remove it")
		return
	}
	names, err := entries(s.root, real)
	if err != nil {
		s.fault(diag.CodeSourceFile, diag.Pos{File: name}, readReason(err), "")
		return
	}
	above = append(above[:len(above):len(above)], real)
	for _, base := range names {
		if s.enough() {
			return
		}
		below := path.Join(name, base)
		where, info, err := s.stat(below)
		switch {
		case err != nil && !isManifest(base) && !errors.Is(err, git.ErrLeaves):
			// Ignore a broken link with another extension.
		case errors.Is(err, fs.ErrNotExist):
			s.fault(diag.CodeSourceFile, diag.Pos{File: below}, "a broken link", "remove it")
		case err != nil:
			s.fault(diag.CodeSourceFile, diag.Pos{File: below}, readReason(err), "")
		case info.IsDir():
			s.directory(below, where, above)
		case isManifest(base):
			s.file(below, where, info)
		}
	}
}

// file reads the objects of a file.
func (s *manifestTree) file(name, real string, info fs.FileInfo) {
	s.reads[name], s.reads[real] = true, true
	s.files++
	switch {
	case strings.HasPrefix(path.Base(name), "kustomization.y") || path.Base(name) == "Kustomization":
		s.fault(diag.CodeReleaseSource, diag.Pos{File: name}, "a kustomization is not a manifest", "name its directory as the kustomize of a release: "+path.Dir(name))
		return
	case !info.Mode().IsRegular():
		s.fault(diag.CodeSourceFile, diag.Pos{File: name}, "is not a file", "")
		return
	case s.files > maxManifestFiles:
		s.tooMuch(fmt.Sprintf("more than %d files", maxManifestFiles))
		return
	}
	data, err := git.ReadFile(s.root, real, maxManifestFile)
	if err != nil {
		s.fault(diag.CodeSourceFile, diag.Pos{File: name}, readReason(err), "")
		return
	}
	if s.bytes += len(data); s.bytes > maxManifestTotal {
		s.tooMuch(fmt.Sprintf("more than %d MiB", maxManifestTotal>>20))
		return
	}
	t := newText(name, data)
	if path.Ext(name) == ".json" {
		s.json(t)
		return
	}
	for _, d := range t.split() {
		if s.enough() {
			return
		}
		s.yaml(t, d)
	}
}

// tooMuch stops reading with a fault.
func (s *manifestTree) tooMuch(msg string) {
	if !s.full {
		s.fault(diag.CodeSourceLimits, diag.Pos{}, msg, "make it several releases")
	}
	s.full = true
}

// enough reports whether reading stops.
func (s *manifestTree) enough() bool { return s.full || len(s.faults) > maxManifestFaults }

// notObject is the hint for a document of another kind, such as a file of values.
const notObject = "write its apiVersion and kind, or move the document out of the manifests"

// add adds an object with its position.
func (s *manifestTree) add(name string, o map[string]any, p place) {
	pos := diag.Pos{File: name, Line: p.line, Col: p.col}
	apiVersion, _ := o["apiVersion"].(string)
	kind, _ := o["kind"].(string)
	switch {
	case apiVersion == "" && kind == "":
		s.fault(diag.CodeManifest, pos, "a document without apiVersion and kind", notObject)
	case apiVersion == "":
		s.fault(diag.CodeManifest, pos, "a document without apiVersion, of kind "+kind, "write its apiVersion, as in apiVersion: v1")
	case kind == "":
		s.fault(diag.CodeManifest, pos, "a document without kind, of apiVersion "+apiVersion, "write its kind, as in kind: ConfigMap")
	case strings.HasPrefix(apiVersion, "kustomize.config.k8s.io/"):
		s.fault(diag.CodeReleaseSource, pos, "a kustomization is not a manifest", "name its directory as the kustomize of a release: "+path.Dir(name))
	default:
		s.list(name, o, p, kind)
	}
}

// list adds an object, or the items of a List.
func (s *manifestTree) list(name string, o map[string]any, p place, kind string) {
	list, ok := o["items"]
	items, isList := list.([]any)
	if !ok || list != nil && !isList || !strings.HasSuffix(kind, "List") {
		if len(s.objects) == maxManifestObjects {
			s.tooMuch(fmt.Sprintf("more than %d objects", maxManifestObjects))
			return
		}
		s.objects = append(s.objects, fleet.Object{
			Unstructured: &unstructured.Unstructured{Object: o}, Release: s.release,
			Template: name, Pos: diag.Pos{File: name, Line: p.line, Col: p.col},
		})
		return
	}
	for i, item := range items {
		if s.enough() {
			return
		}
		at := p
		if i < len(p.items) {
			at = p.items[i]
		}
		m, ok := item.(map[string]any)
		if !ok {
			s.fault(diag.CodeManifest, diag.Pos{File: name, Line: at.line, Col: at.col}, fmt.Sprintf("item %d of a %s is not an object", i, kind), "write each item as an object with apiVersion, kind and metadata")
			continue
		}
		s.add(name, m, at)
	}
}

// fault adds a fault at a position of a manifest, or at the release for an
// invalid position.
func (s *manifestTree) fault(code diag.Code, pos diag.Pos, msg, hint string) {
	switch {
	case hint != "" || code != diag.CodeSourceFile:
	case pos.File == "":
		hint = "name a file or directory of the fleet that can be read"
	default:
		hint = "replace it with a file that can be read, or remove it"
	}
	s.faults.Add(&diag.Diag{Code: code, At: diag.Positions(pos, s.release.SourcePos), Path: s.release.Path("manifests"), Msg: msg, Hint: hint})
}

// stat returns the path and the info of a file after following links.
func (s *manifestTree) stat(name string) (real string, info fs.FileInfo, err error) {
	if real, err = git.ResolveLink(s.root, name); err != nil {
		return "", nil, err
	}
	info, err = s.root.Lstat(filepath.FromSlash(real))
	return real, info, err
}

// entries returns the names of the entries of a directory, sorted.
func entries(root *os.Root, real string) ([]string, error) {
	f, err := root.Open(filepath.FromSlash(real))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}
