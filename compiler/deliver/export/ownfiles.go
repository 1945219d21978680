package export

import (
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// remove returns the action for a file that the index lists and the bundle
// does not contain. An edited index may list foreign files, so a file is
// removed only if it has the listed digest and the content of an export.
func (s *Session) remove(w *walker, cluster, name string, owned map[string]string) (Action, error) {
	file := path.Join(cluster, name)
	in, err := w.to(file)
	if err != nil {
		return "", err
	}
	info, err := lstat(in, path.Base(file))
	switch {
	case err != nil:
		return "", s.fileError("look at", file, err)
	case info == nil || !info.Mode().IsRegular():
		return "", nil // the file was removed or replaced
	case name == indexFile:
		return Removed, nil
	}
	data, ok := w.content(file, owned[name])
	switch {
	case !ok:
		return "", &diag.Diag{
			Code: diag.CodeForeignFile,
			At:   s.at(file), Msg: "this file was changed, and is no longer part of the bundle",
			Hint: "remove it, or move it out of the exported tree if it is yours",
		}
	case !s.isOwnContent(cluster, name, owned, string(data)):
		return "", &diag.Diag{
			Code: diag.CodeForeignFile,
			At:   s.at(file), Msg: "bundle.json lists this file, but fleetc did not write it",
			Hint: "restore bundle.json from version control, or move the file out of the exported tree",
		}
	}
	return Removed, nil
}

// isOwnContent reports whether a file has the content of an export of the
// cluster: an object with the annotations of the fleet and cluster, or a
// kustomization of the files beside it.
func (s *Session) isOwnContent(cluster, name string, owned map[string]string, text string) bool {
	v, ok := fleet.DecodeYAML(text)
	if !ok && yaml.Unmarshal([]byte(text), &v) != nil {
		return false
	}
	object, _ := v.(map[string]any)
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if annotations[fleet.FleetAnnotation] == s.tree.Fleet && annotations[fleet.ClusterAnnotation] == cluster {
		return true
	}
	return path.Base(name) == "kustomization.yaml" && listsOwned(object, path.Dir(name), owned)
}

// listsOwned reports whether a kustomization only lists own files of the
// directory.
func listsOwned(kustomization map[string]any, dir string, owned map[string]string) bool {
	resources, _ := kustomization["resources"].([]any)
	apiVersion, _ := kustomization["apiVersion"].(string)
	return len(kustomization) == 3 && len(resources) > 0 && kustomization["kind"] == "Kustomization" &&
		strings.HasPrefix(apiVersion, "kustomize.config.k8s.io/") &&
		!slices.ContainsFunc(resources, func(r any) bool {
			file, _ := r.(string)
			_, isOwned := owned[path.Join(dir, file)]
			return file == "" || !isOwned
		})
}
