package importer

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// body returns the fields of a release as schema.#Release has them.
func (w *work) body(r *Release) *Node {
	b := mapNode(Field{"namespace", textNode(r.Namespace)})
	depends := mapNode()
	for _, name := range r.Depends {
		depends.Set(name, &Node{Scalar: true})
	}
	b.setFilled("depends", depends)
	if r.Chart != nil {
		pin := w.charts[r.Chart.key()]
		b.Set(packageField, textNode(pin.pkg))
		if len(w.packages[pin.pkg]) > 1 {
			b.Set("chart", mapNode(Field{"version", textNode(pin.Version)}))
		}
	}
	if r.Values != nil && (r.Chart != nil || r.Source != nil) {
		b.setFilled("values", r.Values)
	}
	switch {
	case r.Source != nil:
		b.Set(r.Source.Field, textNode(path.Join(r.Source.Field, r.Source.Path)))
	case r.manifests != "":
		b.Set("manifests", textNode(r.manifests))
	default:
		b.setFilled("objects", mapNode(r.Objects...))
	}
	addPatches(b, r)
	b.setFilled("ownership", r.Ownership)
	b.setFilled("actions", r.Actions)
	if durationForm.MatchString(r.Timeout) && r.Timeout != "" && r.Chart != nil {
		b.Set("health", mapNode(Field{"all", mapNode(
			Field{"match", mapNode(Field{"names", textNodes([]string{"*"})})},
			Field{"timeout", textNode(r.Timeout)},
		)}))
	}
	if r.expected != nil && r.expected.duplicateKeys {
		b.Set("duplicateKeys", textNode(imported))
	}
	b.setFilled("open", nodeOf(r.open, nil))
	b.setFilled("random", nodeOf(r.random, nil))
	return b
}

// imported is the reason of waivers that an import writes.
const imported = "imported"

// durationForm matches durations as the schema has them.
var durationForm = regexp.MustCompile(`^([0-9]+h)?([0-9]+m)?([0-9]+s)?$`)

// ownershipRule returns a rule that lets others own fields of the objects that target selects.
func ownershipRule(target map[string]any, fields []string) *Node {
	rule := mapNode()
	rule.setFilled("target", nodeOf(target, nil))
	rule.Set("fields", textNodes(fields))
	rule.Set("leave", &Node{Scalar: true})
	rule.Set("optional", &Node{Scalar: true})
	return rule
}

// addPatches adds the patches of a release to its body.
func addPatches(b *Node, r *Release) {
	all := mapNode()
	for _, p := range r.Patches {
		n := mapNode()
		n.setFilled("target", nodeOf(p.Target, nil))
		if p.Optional {
			n.Set("optional", &Node{Scalar: true})
		}
		n.Set(p.Form, p.Body)
		all.Set(p.Name, n)
	}
	b.setFilled("patches", all)
}

// maxObjectsText is the size up to which objects are written in CUE, in bytes.
const maxObjectsText = 64 << 10

// writeManifests plans the files that sources keep, and files of manifests for releases
// whose objects are large or have CRDs. Clusters with the same objects share a directory.
func (w *work) writeManifests() error {
	type variant struct {
		files    map[string][]byte
		cluster  string // ID of the first cluster with it
		releases []*Release
	}
	variants := map[string][]*variant{} // by release
	for _, c := range w.model.Clusters {
		for _, r := range c.Releases {
			if r.Source != nil {
				for name, data := range r.Source.Files {
					w.files[r.Source.place(name)] = data
				}
				continue
			}
			files, large, err := manifestFiles(r)
			if err != nil {
				return err
			}
			if !large {
				continue
			}
			isSame := func(v *variant) bool { return maps.EqualFunc(v.files, files, bytes.Equal) }
			i := slices.IndexFunc(variants[r.Name], isSame)
			if i < 0 {
				i = len(variants[r.Name])
				variants[r.Name] = append(variants[r.Name], &variant{files: files, cluster: c.ID})
			}
			variants[r.Name][i].releases = append(variants[r.Name][i].releases, r)
		}
	}
	for release, all := range variants {
		for _, v := range all {
			dir := path.Join("manifests", release)
			if len(all) > 1 {
				dir = path.Join(dir, v.cluster) // no ID is inside of another
			}
			for _, r := range v.releases {
				r.manifests = dir
			}
			for file, data := range v.files {
				w.files[path.Join(dir, file)] = data
			}
		}
	}
	return nil
}

// notInFileName matches characters that file names of manifests do not have.
var notInFileName = regexp.MustCompile(`[^a-z0-9.-]+`)

// manifestFiles returns the objects of a release as files, and whether they should be
// files.
func manifestFiles(r *Release) (files map[string][]byte, large bool, err error) {
	files = map[string][]byte{}
	size := 0
	for _, o := range r.Objects {
		v := o.Value.Value()
		text, err := yaml.Marshal(v)
		if err != nil {
			return nil, false, err
		}
		size += len(text)
		content, _ := v.(map[string]any)
		large = large || content["kind"] == "CustomResourceDefinition" || content["sops"] != nil
		base := strings.Trim(notInFileName.ReplaceAllString(strings.ToLower(o.Key), "-"), "-.")
		name := cmp.Or(base, "object") + ".yaml"
		for i := 2; files[name] != nil; i++ {
			name = fmt.Sprintf("%s-%d.yaml", base, i)
		}
		files[name] = text
	}
	return files, large || size > maxObjectsText, nil
}
