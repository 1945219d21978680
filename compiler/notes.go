package compiler

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/cache"
)

// ReleaseNote records the inputs of the releases of a cluster when they were last
// rendered: a short digest of each part, by the name of the release.
type ReleaseNote map[string]map[string]string

// NoteKey returns the cache key of a note about a cluster of the fleet in a directory. All
// builds of fleetc have the same keys.
func NoteKey(kind, dir, cluster string) string {
	return "note\x00" + kind + "\x00" + filepath.Clean(dir) + "\x00" + cluster
}

// NoteRendered records the inputs of the releases of a cluster if one of them was
// rendered in this run.
func (f *Fleet) NoteRendered(c *fleet.Cluster) {
	if _, changed := f.changed.LoadAndDelete(c.ID); !changed || !f.takeNotes {
		return
	}
	note := ReleaseNote{}
	for _, r := range c.Releases {
		// A digest of uncacheable inputs would help to guess a secret.
		if _, secret := f.unstored.Load(r); f.Charts[r.Chart].Chart != nil && !secret {
			note[r.Name] = f.KeyParts(c, r)
		}
	}
	f.Results.Cache.PutJSON(NoteKey("releases", f.Dir, c.ID), note)
}

// KeyParts returns a short digest of each part of the inputs of a release.
func (f *Fleet) KeyParts(c *fleet.Cluster, r *fleet.Release) map[string]string {
	out := map[string]string{}
	add := func(name, text string) {
		sum := sha256.Sum256([]byte(text))
		out[name] = hex.EncodeToString(sum[:8])
	}
	add("chart", f.Charts[r.Chart].Digest)
	add("namespace", r.Namespace)
	add("kubernetes", c.KubeVersion)
	if r.Tests {
		add("tests", "true")
	}
	valueParts(out, []string{"values"}, r.Values)
	return out
}

// valueParts adds the digests of values, with one digest for everything below the deepest
// level.
func valueParts(out map[string]string, path []string, t *fleet.Tree) {
	const deepest = 4 // values.image.tag, and one more
	if t.IsMap() && len(path) < deepest && len(t.Fields) > 0 {
		for _, key := range t.Keys() {
			valueParts(out, append(slices.Clip(path), key), t.Fields[key])
		}
		return
	}
	w := cache.NewKeyWriter()
	w.Tree(t)
	out[fleet.FieldText(path)] = hex.EncodeToString(w.Sum(nil)[:8])
}
