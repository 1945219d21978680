package importer

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit"
)

// isRemote reports whether a resource of a kustomization is an address.
func isRemote(resource string) bool {
	return strings.Contains(resource, "://") || strings.Contains(resource, "?ref=") || strings.HasPrefix(resource, "git@") || strings.HasPrefix(resource, "github.com/")
}

// isFetched reports whether a remote resource can be fetched. It adds a note that says what
// to do.
func (r *Repository) isFetched(address string, note Note) bool {
	_, err := r.fetch.Get(r.ctx, address)
	note.Do = address + " was fetched, and its objects are in the fleet: to update them from there, write a release with kustomize instead, and run fleetc source add"
	if err != nil {
		note.Do = address + " cannot be fetched (" + diag.Line(diag.All(err)[0].Msg, diag.MaxText) + "): write a kustomization with it into the fleet, make it a release with kustomize, and pin it with fleetc source add"
	}
	r.model.Note(note)
	return err == nil
}

// removeRemotes removes the remote resources of a directory's kustomization and of those that
// it includes from the copy, unless they can be fetched, and notes them. It returns the
// addresses of the removed ones.
func (r *Repository) removeRemotes(dir string) ([]string, error) {
	if known, ok := r.unfetched[dir]; ok {
		return known, nil
	}
	file := r.Kustomization(dir)
	if file == "" {
		return nil, nil // perhaps hidden from this build
	}
	r.unfetched[dir] = nil // also for kustomizations that include each other
	data, err := r.read(file)
	if err != nil {
		return nil, err
	}
	var content map[string]any
	docs, _ := readDocuments(r.Dir, file, data)
	if yaml.Unmarshal(data, &content) != nil || len(docs) == 0 {
		return nil, nil // the build reports the file
	}
	var found []string
	changed := false
	for _, key := range []string{"resources", "bases", "components"} {
		kept := []any{}
		for i, v := range listAt(content, key) {
			entry, _ := v.(string)
			if isRemote(entry) {
				if r.isFetched(entry, Note{Pos: docs[0].At(key, strconv.Itoa(i)), Doc: "kustomization " + file, Field: key}) {
					kept = append(kept, v)
				} else {
					found, changed = append(found, entry), true
				}
				continue
			}
			kept = append(kept, v)
			below, err := r.removeRemotes(path.Join(dir, entry))
			if err != nil {
				return nil, err
			}
			found = append(found, below...)
		}
		if content[key] != nil {
			content[key] = kept
		}
	}
	r.unfetched[dir] = found
	if !changed {
		return found, nil
	}
	text, err := yaml.Marshal(content)
	if err != nil {
		return nil, err
	}
	return found, edit.WriteFile(r.Work, file, text)
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
