package importer

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/sourceignore"
	"github.com/fluxcd/pkg/sourceignore/gitignore"
)

// This file hides files of the copy that Flux does not put into the artifact of a source.

// A fluxArtifact says which files of the repository the artifact of a source has.
type fluxArtifact struct {
	kind   string // of the source
	base   string // directory of the repository that is the root of the artifact
	ignore string // patterns of spec.ignore
}

// artifactOf returns the artifact that a Kustomization builds from.
func (s *fluxState) artifactOf(k *kustomization) fluxArtifact {
	source := s.sourceOf(k.fluxObject, mapAt(k.spec, "sourceRef"))
	if k.stage == nil || source == nil {
		return s.synced // that of the bootstrap, from which ArtifactGenerators copy, too
	}
	out := fluxArtifact{kind: source.kind(), base: ".", ignore: textAt(source.content, "spec", "ignore")}
	if out.kind != "GitRepository" {
		out.base = artifactBase(k.dir, textAt(k.spec, "path"))
	}
	return out
}

// artifactBase returns the root of an artifact for the path of a directory in it.
func artifactBase(dir, below string) string {
	base, ok := strings.CutSuffix("/"+dir, path.Clean("/"+below))
	if base = strings.Trim(base, "/"); !ok || base == "" {
		return "."
	}
	return base
}

// findSynced reads the source of the synced directory before the directory is built.
func (s *fluxState) findSynced() {
	s.synced = fluxArtifact{base: "."}
	below := s.root
	_ = walkBelow(filepath.Join(s.Work, filepath.FromSlash(s.root)), func(name string, _ fs.DirEntry) error {
		if ext := path.Ext(name); ext != ".yaml" && ext != ".yml" {
			return nil
		}
		data, err := s.read(path.Join(s.root, name))
		if err != nil || !bytes.Contains(data, []byte(bootstrapName)) {
			return nil //nolint:nilerr // the build reports it
		}
		docs, _ := readDocuments(s.Dir, name, data)
		for _, d := range docs {
			switch {
			case d.Name != bootstrapName:
			case d.Kind == "Kustomization":
				below = scalar(childNode(d.Node, "spec", "path"))
			case d.Kind == "GitRepository", d.Kind == "OCIRepository", d.Kind == "Bucket":
				s.synced.kind, s.synced.ignore = d.Kind, scalar(childNode(d.Node, "spec", "ignore"))
			}
		}
		return nil
	})
	if s.synced.kind != "GitRepository" {
		s.synced.base = artifactBase(s.root, below)
	}
}

// fluxExclusions is the files and directories of the copy that an artifact does not have.
type fluxExclusions struct{ files, dirs []string }

// show hides the files that an artifact does not have, and no others.
func (r *fluxReader) show(a fluxArtifact) error {
	if r.shown == a {
		return nil
	}
	r.isMixed = r.shown != fluxArtifact{}
	if err := r.showAll(); err != nil {
		return err
	}
	if _, ok := r.ignored[a]; !ok {
		found, err := r.ignoredBy(a)
		if err != nil {
			return err
		}
		r.ignored[a] = found
	}
	r.shown = a
	for _, name := range r.ignored[a].files {
		if err := move(r.Work, r.hiding, name); err != nil {
			return err
		}
	}
	for _, dir := range slices.Backward(r.ignored[a].dirs) {
		_ = os.Remove(filepath.Join(r.Work, filepath.FromSlash(dir))) // unless it has other files
	}
	return nil
}

// showAll shows all files of the repository.
func (r *fluxReader) showAll() error {
	for _, name := range r.ignored[r.shown].files {
		if err := move(r.hiding, r.Work, name); err != nil {
			return err
		}
	}
	r.shown = fluxArtifact{}
	return nil
}

// ignoredBy returns the files that an artifact does not have.
func (r *fluxReader) ignoredBy(a fluxArtifact) (fluxExclusions, error) {
	var out fluxExclusions
	top := filepath.Join(r.Work, filepath.FromSlash(a.base))
	matcher, err := a.matcher(top)
	if err != nil {
		return out, err
	}
	err = walkBelow(top, func(name string, e fs.DirEntry) error {
		switch {
		case e.Type()&fs.ModeSymlink != 0: // artifacts have only files and directories
			out.files = append(out.files, path.Join(a.base, name))
		case !matcher.Match(strings.Split(name, "/"), e.IsDir()):
		case e.IsDir():
			out.dirs = append(out.dirs, path.Join(a.base, name))
		default:
			out.files = append(out.files, path.Join(a.base, name))
		}
		return r.ctx.Err()
	})
	return out, err
}

// move moves a file to the same path below another directory.
func move(from, to, name string) error {
	target := filepath.Join(to, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	return os.Rename(filepath.Join(from, filepath.FromSlash(name)), target)
}

// matcher returns what matches the files that the artifact of a directory does not have. As in
// source-controller, any pattern takes the place of the default ones.
func (a fluxArtifact) matcher(top string) (gitignore.Matcher, error) {
	load := sourceignore.LoadIgnorePatterns
	if a.kind == "Bucket" {
		load = func(dir string, _ []string) ([]gitignore.Pattern, error) {
			return sourceignore.ReadIgnoreFile(filepath.Join(dir, sourceignore.IgnoreFile), nil)
		}
	}
	patterns, err := load(top, nil)
	patterns = append(patterns, sourceignore.ReadPatterns(strings.NewReader(a.ignore), nil)...)
	if len(patterns) == 0 && a.kind != "Bucket" {
		return sourceignore.NewDefaultMatcher(nil, nil), err
	}
	return sourceignore.NewMatcher(slices.Concat(sourceignore.VCSPatterns(nil), patterns)), err
}
