package compiler

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A releaseNote is what the releases of a cluster were rendered from last: a short
// digest of each part, by the name of the release.
type releaseNote map[string]map[string]string

// noteKey returns the key of a note about a cluster of the fleet in a directory. It
// is the same for every build.
func noteKey(kind, dir, cluster string) string {
	return "note\x00" + kind + "\x00" + filepath.Clean(dir) + "\x00" + cluster
}

// noteRendered notes what the releases of a cluster are rendered from, when one of
// them was.
func (f *Fleet) noteRendered(c *fleet.Cluster) {
	if _, anew := f.anew.LoadAndDelete(c.ID); !anew || !f.noted {
		return
	}
	note := releaseNote{}
	for _, r := range c.Releases {
		// Of what may not be kept, there is no digest either: it could be guessed.
		if _, secret := f.unkept.Load(r); f.charts[r.Chart].Chart != nil && !secret {
			note[r.Name] = f.parts(c, r)
		}
	}
	if data, err := json.Marshal(note); err == nil {
		f.results.cache.Put(noteKey("releases", f.Dir, c.ID), data)
	}
}

// parts returns a short digest of each part of what a release is rendered from.
func (f *Fleet) parts(c *fleet.Cluster, r *fleet.Release) map[string]string {
	out := map[string]string{}
	add := func(name, text string) {
		sum := sha256.Sum256([]byte(text))
		out[name] = hex.EncodeToString(sum[:8])
	}
	add("chart", f.charts[r.Chart].Digest)
	add("namespace", r.Namespace)
	add("kubernetes", c.KubeVersion)
	if r.Tests {
		add("tests", "true")
	}
	valueParts(out, []string{"values"}, r.Values)
	return out
}

// valueParts adds the digests of values: of those at most a few levels deep, and
// of what is below.
func valueParts(out map[string]string, path []string, t *fleet.Tree) {
	const deepest = 4 // values.image.tag, and one more
	if t.IsMap() && len(path) < deepest && len(t.Fields) > 0 {
		for _, key := range t.Keys() {
			valueParts(out, append(slices.Clip(path), key), t.Fields[key])
		}
		return
	}
	w := newKeyWriter()
	w.tree(t)
	out[fleet.FieldText(path)] = hex.EncodeToString(w.Sum(nil)[:8])
}
