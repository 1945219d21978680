package export

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

const (
	indexFile = "bundle.json" // in the directory of each cluster
	extension = ".yaml"
	maxName   = 199 // bytes of a file's or directory's name; file systems allow 255
)

// FileNames returns the file of each object below the cluster's directory, in
// the order of the objects: "web/deployment-shop-web.yaml" for the Deployment
// shop/web of the release web.
//
// A name consists of a-z, 0-9, ".", "-" and "_", is no longer than 199 bytes
// and has no two dots in a row. Where that changes the object's own name, and
// where several objects of a release come to the same name, a part of the
// sha256 of the object's ID is added. So the names depend on the set of objects
// and not on their order, and are unique, also where case does not count, as
// long as the IDs are. Directories of releases are named in the same way.
func FileNames(objs []fleet.Object) []string {
	releases := make(map[string]string)
	dirs := newNaming("")
	for _, o := range objs {
		if _, ok := releases[o.Release.Name]; !ok {
			releases[o.Release.Name] = ""
			// A release must not take the place of the index.
			dirs.add("", o.Release.Name, o.Release.Name, o.Release.Name == indexFile)
		}
	}
	for i, name := range dirs.names() {
		releases[dirs.items[i].id] = name
	}

	files := newNaming(extension)
	for _, o := range objs {
		name := strings.ToLower(o.GetKind()) + "-"
		if ns := o.GetNamespace(); ns != "" {
			name += ns + "-"
		}
		files.add(o.Release.Name, name+o.GetName(), o.ID(), false)
	}
	out := files.names()
	for i, o := range objs {
		out[i] = releases[o.Release.Name] + "/" + out[i]
	}
	return out
}

// namesOf returns the file of each object of a bundle below the cluster's
// directory.
func namesOf(b *fleet.Bundle) []string {
	if b.Dirs == nil {
		return FileNames(b.Objects)
	}
	in := map[string][]int{} // directories, and their objects
	for i, dir := range b.Dirs {
		in[dir] = append(in[dir], i)
	}
	out := make([]string, len(b.Objects))
	for dir, which := range in {
		objs := make([]fleet.Object, len(which))
		for n, i := range which {
			objs[n] = b.Objects[i]
		}
		for n, name := range FileNames(objs) {
			out[which[n]] = path.Join(dir, name)
		}
	}
	return out
}

// A naming gives names to items, unique within their group.
type naming struct {
	ext   string
	items []item
}

type item struct {
	group, id string
	safe      string // the item's own name as far as a file system takes it
	digits    int    // of the hash of its ID that its name needs
}

func newNaming(ext string) *naming { return &naming{ext: ext} }

// add adds an item. When taken, its own name is not to be had.
func (n *naming) add(group, name, id string, taken bool) {
	it := item{group: group, id: id, safe: sanitize(name)}
	if taken || it.safe != name || len(name)+len(n.ext) > maxName {
		it.digits = 8
	}
	n.items = append(n.items, it)
}

// names returns the names of the items, in their order.
func (n *naming) names() []string {
	out := make([]string, len(n.items))
	for {
		claims := make(map[[2]string][]int, len(n.items))
		for i, it := range n.items {
			out[i] = it.name(n.ext)
			key := [2]string{it.group, out[i]}
			claims[key] = append(claims[key], i)
		}
		// All who claim a name get a longer one, which can be the name that
		// another item has of its own: look again until nothing changes. It
		// ends because digits only grow.
		changed := false
		for _, who := range claims {
			if len(who) == 1 {
				continue
			}
			for _, i := range who {
				if it := &n.items[i]; it.digits == 0 {
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

func (it item) name(ext string) string {
	if it.digits == 0 {
		return it.safe + ext
	}
	sum := sha256.Sum256([]byte(it.id))
	suffix := "-" + hex.EncodeToString(sum[:])[:it.digits] + ext
	return it.safe[:min(len(it.safe), maxName-len(suffix))] + suffix
}

// sanitize replaces what may not be in a name: everything but a-z, 0-9, "."
// and "-", and dots that hide a file or could be read as a path.
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
