package export

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

const (
	indexFile = "bundle.json" // in each cluster's directory
	extension = ".yaml"

	// manifestExtension is that of objects that "**/argocd/*.yaml" must not match: this pattern
	// selects the Applications of all clusters, and its stars match slashes, too.
	manifestExtension = ".yml"

	maxName = 199 // maximum bytes of a name; file systems allow 255
)

// IndexPath returns the file that lists the files of the cluster with an ID.
func IndexPath(id string) string { return path.Join(id, indexFile) }

// FileNames returns the file of each object relative to the cluster's
// directory, in object order: "web/deployment-shop-web.yaml" for the
// Deployment shop/web of the release web.
//
// A name consists of a-z, 0-9, ".", "-" and "_", has at most 199 bytes and no
// two dots in a row. If that changes the object's name, or if several objects
// of a release get the same name, a part of the sha256 of the object's ID is
// appended. So names do not depend on the order of objects, and are unique if
// the IDs are, also on case-insensitive file systems. Directories of releases
// are named in the same way.
func FileNames(objs []fleet.Object) []string {
	releases := make(map[string]string)
	var dirs, files []item
	for _, o := range objs {
		if _, ok := releases[o.Release.Name]; !ok {
			releases[o.Release.Name] = ""
			// The index reserves its name.
			dirs = append(dirs, newItem("", o.Release.Name, "", o.Release.Name, o.Release.Name == indexFile))
		}
	}
	for i, name := range uniqueNames(dirs) {
		releases[dirs[i].id] = name
	}
	for _, o := range objs {
		name := strings.ToLower(o.GetKind()) + "-"
		if ns := o.GetNamespace(); ns != "" {
			name += ns + "-"
		}
		files = append(files, newItem(o.Release.Name, name+o.GetName(), extension, o.ID(), false))
	}
	out := uniqueNames(files)
	for i, o := range objs {
		out[i] = releases[o.Release.Name] + "/" + out[i]
	}
	return out
}

// namesOf returns the file of each object of a bundle relative to the
// cluster's directory. Objects that Argo CD would take for Applications, because the
// cluster or the release is called argocd, get another extension.
func namesOf(b *fleet.Bundle) []string {
	if b.Dirs == nil {
		return FileNames(b.Objects)
	}
	in := map[string][]int{} // object indices by directory
	for i, dir := range b.Dirs {
		in[dir] = append(in[dir], i)
	}
	out := make([]string, len(b.Objects))
	for dir, which := range in {
		objs := diag.Each(which, func(i int) fleet.Object { return b.Objects[i] })
		for n, name := range FileNames(objs) {
			if b.Layout == fleet.ArgoLayout && slices.Contains(strings.Split(path.Join(b.Cluster.ID, name), "/"), argoDir) {
				name = strings.TrimSuffix(name, extension) + manifestExtension
			}
			out[which[n]] = path.Join(dir, name)
		}
	}
	return out
}

// An item is a file or directory that gets a name, which is unique in its group.
type item struct {
	group, id string
	safe, ext string // the item's sanitized name, and its extension
	digits    int    // number of hash digits in the name
}

// newItem returns an item. reserved means that its own name cannot be used.
func newItem(group, name, ext, id string, reserved bool) item {
	it := item{group: group, id: id, safe: sanitize(name), ext: ext}
	if reserved || it.safe != name || len(name)+len(ext) > maxName {
		it.digits = 8
	}
	return it
}

// uniqueNames returns the names of items, in order.
func uniqueNames(items []item) []string {
	out := make([]string, len(items))
	for {
		claims := make(map[[2]string][]int, len(items))
		for i, it := range items {
			out[i] = it.name()
			key := [2]string{it.group, out[i]}
			claims[key] = append(claims[key], i)
		}
		// All items with the same name get a longer one, which may be the name
		// of another item: repeat until nothing changes. The loop ends because
		// digits only grow.
		changed := false
		for _, who := range claims {
			if len(who) == 1 {
				continue
			}
			for _, i := range who {
				if it := &items[i]; it.digits == 0 {
					it.digits, changed = 8, true
				} else if it.digits == 8 {
					it.digits, changed = 64, true
				}
			}
		}
		if !changed {
			return out
		}
	}
}

func (it item) name() string {
	if it.digits == 0 {
		return it.safe + it.ext
	}
	sum := sha256.Sum256([]byte(it.id))
	suffix := "-" + hex.EncodeToString(sum[:])[:it.digits] + it.ext
	return it.safe[:min(len(it.safe), maxName-len(suffix))] + suffix
}

// sanitize replaces invalid characters: everything except a-z, 0-9, "." and
// "-", and dots that hide a file or form a path.
func sanitize(name string) string {
	var b strings.Builder
	last := '.'
	for i, r := range name {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '-',
			r == '.' && last != '.' && i < len(name)-1:
		default:
			r = '_'
		}
		b.WriteRune(r)
		last = r
	}
	if b.Len() == 0 {
		return "_"
	}
	return b.String()
}
