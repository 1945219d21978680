package flux

import (
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit/importer"
)

// isRemote reports whether a resource of a kustomization is an address.
func isRemote(resource string) bool {
	return strings.Contains(resource, "://") || strings.Contains(resource, "?ref=") || strings.HasPrefix(resource, "git@") || strings.HasPrefix(resource, "github.com/")
}

// isFetched reports whether a remote resource can be fetched. It adds a note that says what
// to do.
func (s *state) isFetched(address string, note importer.Note) bool {
	_, err := s.fetch.Get(s.ctx, address)
	note.Do = importer.FetchedNote(address)
	if err != nil {
		note.Do = address + " cannot be fetched (" + diag.Visible(diag.All(err)[0].Msg, diag.MaxText) + "): write a kustomization with it into the fleet, make it a release with kustomize, and pin it with fleetc source add"
	}
	s.model.Note(note)
	return err == nil
}

// withoutRemote removes the remote resources of a directory's kustomization and of those
// that it includes from the copy, unless they can be fetched, and notes them. It returns the
// addresses of the removed ones.
func (s *state) withoutRemote(dir string) ([]string, error) {
	if known, ok := s.remotes[dir]; ok {
		return known, nil
	}
	s.remotes[dir] = nil // also for kustomizations that include each other
	file := s.existing(dir)
	if file == "" {
		return nil, nil
	}
	data, err := os.ReadFile(filepath.Join(s.Work, filepath.FromSlash(file)))
	if err != nil {
		return nil, err
	}
	var content map[string]any
	var node yaml.Node
	if sigsyaml.Unmarshal(data, &content) != nil || yaml.Unmarshal(data, &node) != nil || len(node.Content) == 0 {
		return nil, nil // the build reports the file
	}
	doc := &importer.Document{File: file, Node: node.Content[0]}
	var found []string
	changed := false
	for _, key := range []string{"resources", "bases", "components"} {
		var kept []any
		for i, v := range importer.ListAt(content, key) {
			entry, _ := v.(string)
			if isRemote(entry) {
				if s.isFetched(entry, importer.Note{Pos: doc.At(s.Dir, []string{key, strconv.Itoa(i)}), Doc: "kustomization " + file, Field: key}) {
					kept = append(kept, v)
				} else {
					found, changed = append(found, entry), true
				}
				continue
			}
			kept = append(kept, v)
			below, err := s.withoutRemote(path.Join(dir, entry))
			if err != nil {
				return nil, err
			}
			found = append(found, below...)
		}
		if content[key] != nil {
			content[key] = kept
		}
	}
	s.remotes[dir] = found
	if !changed {
		return found, nil
	}
	text, err := sigsyaml.Marshal(content)
	if err != nil {
		return nil, err
	}
	if _, err := s.replace(file, text); err != nil {
		return nil, err
	}
	return found, nil
}
