package lsp

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/fleetc/fleetc/compiler/stage/load"
)

// maxText limits the length of an open file, as that of files on disk.
const maxText = 4 << 20

// rootOf returns the root of the fleet around a directory; empty outside of a fleet.
func rootOf(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "cue.mod", "module.cue")); err == nil {
			if info, err := os.Stat(filepath.Join(at, "environments")); err == nil && info.IsDir() {
				return at
			}
			return ""
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}

// addFolders checks the fleets around the folders.
func (s *server) addFolders(folders []workspaceFolder) {
	for _, f := range folders {
		dir := fileOf(f.URI)
		if dir == "" {
			continue
		}
		if resolved, err := filepath.EvalSymlinks(dir); err == nil {
			s.schedule(rootOf(resolved), request{disk: true})
		}
	}
}

func (s *server) didChangeWorkspaceFolders(_ context.Context, p didChangeWorkspaceFoldersParams) error {
	s.addFolders(p.Event.Added)
	return nil
}

// update changes the open file of a URI, and checks its fleet.
func (s *server) update(uri string, r request, change func(file string)) {
	file := fileOf(uri)
	if file == "" {
		return
	}
	s.mu.Lock()
	change(file)
	s.mu.Unlock()
	r.file = file
	s.schedule(rootOf(filepath.Dir(file)), r)
}

func (s *server) didOpen(_ context.Context, p documentParams) error {
	s.update(p.TextDocument.URI, request{}, func(file string) {
		s.docs[file] = &document{p.TextDocument.URI, p.TextDocument.Version, p.TextDocument.Text}
	})
	return nil
}

func (s *server) didChange(_ context.Context, p didChangeParams) error {
	s.update(p.TextDocument.URI, request{}, func(file string) {
		d := s.docs[file]
		if d == nil {
			return // the client did not open it
		}
		text := d.text
		for _, c := range p.ContentChanges {
			text = c.apply(text)
		}
		s.docs[file] = &document{d.uri, p.TextDocument.Version, text}
	})
	return nil
}

func (s *server) didSave(_ context.Context, p documentParams) error {
	s.update(p.TextDocument.URI, request{disk: true, render: true}, func(string) {})
	return nil
}

func (s *server) didClose(_ context.Context, p documentParams) error {
	s.update(p.TextDocument.URI, request{disk: true}, func(file string) { delete(s.docs, file) })
	return nil
}

// didChangeWatchedFiles checks the fleets in which files changed on disk, and all known
// fleets when the directory of a file was removed. An open file whose text is on disk was saved
// by the editor.
func (s *server) didChangeWatchedFiles(_ context.Context, p didChangeWatchedFilesParams) error {
	roots := map[string]bool{}
	for _, c := range p.Changes {
		file := fileOf(c.URI)
		if file == "" {
			continue
		}
		root := rootOf(filepath.Dir(file))
		if rel, err := filepath.Rel(root, file); err == nil && strings.HasPrefix(rel, ".git"+string(filepath.Separator)) {
			continue
		}
		roots[root] = true
		s.mu.Lock()
		for known := range s.checkers {
			if strings.HasPrefix(known+string(filepath.Separator), file+string(filepath.Separator)) {
				roots[known] = true
			}
		}
		s.mu.Unlock()
	}
	for root := range roots {
		s.schedule(root, request{disk: true})
	}
	return nil
}

// edits returns the unsaved texts of files below a root that the layers of clusters may
// read, and those of all open files by path.
func (s *server) edits(root string) (load.Edits, map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	edits, all := load.Edits{}, map[string]string{}
	for file, d := range s.docs {
		rel, err := filepath.Rel(root, file)
		inFleet := err == nil && filepath.IsLocal(rel)
		saved, err := os.ReadFile(file)
		isCUE := filepath.Ext(file) == ".cue" && (err == nil || errors.Is(err, fs.ErrNotExist))
		embeddable := err == nil && inFleet && strings.HasPrefix(filepath.ToSlash(rel), "environments/")
		if !isCUE && !embeddable || len(d.text) > maxText || err == nil && string(saved) == d.text {
			continue
		}
		all[file] = d.text
		if inFleet {
			edits[filepath.ToSlash(rel)] = []byte(d.text)
		}
	}
	return edits, all
}
