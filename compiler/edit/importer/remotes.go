package importer

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/edit"
)

// isRemote reports whether a resource of a kustomization is an address.
func isRemote(resource string) bool {
	return strings.Contains(resource, "://") || strings.Contains(resource, "?ref=") || strings.HasPrefix(resource, "git@") || strings.HasPrefix(resource, "github.com/")
}

// Remotes removes remote resources that cannot be fetched from the kustomizations of a repository.
type Remotes struct {
	Repository *Repository
	Fetch      func(ctx context.Context, address string) (*fleet.RemoteFiles, error)
	Model      *Model // for notes

	removed map[string][]string // addresses by directory
}

// isFetched reports whether a remote resource can be fetched. It adds a note that says what
// to do.
func (r *Remotes) isFetched(ctx context.Context, address string, note Note) bool {
	_, err := r.Fetch(ctx, address)
	note.Do = fetchedNote(address)
	if err != nil {
		note.Do = address + " cannot be fetched (" + diag.Visible(diag.All(err)[0].Msg, diag.MaxText) + "): write a kustomization with it into the fleet, make it a release with kustomize, and pin it with fleetc source add"
	}
	r.Model.Note(note)
	return err == nil
}

// Remove removes the remote resources of a directory's kustomization and of those
// that it includes from the copy, unless they can be fetched, and notes them. It returns the
// addresses of the removed ones.
func (r *Remotes) Remove(ctx context.Context, dir string) ([]string, error) {
	if known, ok := r.removed[dir]; ok {
		return known, nil
	}
	if r.removed == nil {
		r.removed = map[string][]string{}
	}
	r.removed[dir] = nil // also for kustomizations that include each other
	file := r.Repository.Kustomization(dir)
	if file == "" {
		return nil, nil
	}
	data, err := os.ReadFile(filepath.Join(r.Repository.Work, filepath.FromSlash(file)))
	if err != nil {
		return nil, err
	}
	var content map[string]any
	var node yaml.Node
	if sigsyaml.Unmarshal(data, &content) != nil || yaml.Unmarshal(data, &node) != nil || len(node.Content) == 0 {
		return nil, nil // the build reports the file
	}
	doc := &Document{dir: filepath.ToSlash(r.Repository.Dir), File: file, Node: node.Content[0]}
	var found []string
	changed := false
	for _, key := range []string{"resources", "bases", "components"} {
		kept := []any{}
		for i, v := range listAt(content, key) {
			entry, _ := v.(string)
			if isRemote(entry) {
				if r.isFetched(ctx, entry, Note{Pos: doc.At(key, strconv.Itoa(i)), Doc: "kustomization " + file, Field: key}) {
					kept = append(kept, v)
				} else {
					found, changed = append(found, entry), true
				}
				continue
			}
			kept = append(kept, v)
			below, err := r.Remove(ctx, path.Join(dir, entry))
			if err != nil {
				return nil, err
			}
			found = append(found, below...)
		}
		if content[key] != nil {
			content[key] = kept
		}
	}
	r.removed[dir] = found
	if !changed {
		return found, nil
	}
	text, err := sigsyaml.Marshal(content)
	if err != nil {
		return nil, err
	}
	return found, edit.WriteFile(r.Repository.Work, file, text)
}

// withoutObjects are the fields of a kustomization that bring no objects.
var withoutObjects = []string{"apiVersion", "kind", "metadata", "buildMetadata", "namespace", "namePrefix", "nameSuffix", "patches", "images", "labels", "commonLabels", "commonAnnotations"}

// isEmptyKustomization reports whether a kustomization has nothing to apply.
func isEmptyKustomization(content map[string]any) bool {
	for key, v := range content {
		if l, ok := v.([]any); !slices.Contains(withoutObjects, key) && (!ok || len(l) > 0) {
			return false
		}
	}
	return true
}
