package diff

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// cluster returns the exported objects of a cluster of the example fleet.
func cluster(t *testing.T, id string) []fleet.Object {
	t.Helper()
	var out []fleet.Object
	err := filepath.WalkDir("../../../testdata/golden/"+id, func(file string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		out = append(out, objects(t, string(text))...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRealObjects compares clusters of the example, and applies the changes.
func TestRealObjects(t *testing.T) {
	ids := []string{"dev/alice", "prod/eu/central-1", "prod/us/east-1", "staging/main"}
	all := map[string][]fleet.Object{}
	for _, id := range ids {
		all[id] = cluster(t, id)
	}
	updated := 0
	for _, from := range ids {
		for _, to := range ids {
			changes := Objects(all[from], all[to], key)
			if (from == to) != (len(changes) == 0) {
				t.Errorf("from %s to %s: %d changes", from, to, len(changes))
			}
			for _, c := range changes {
				var before, after any
				for _, o := range all[from] {
					if o.ID() == c.ID {
						before, _ = mask(o.Object, key)
					}
				}
				for _, o := range all[to] {
					if o.ID() == c.ID {
						after, _ = mask(o.Object, key)
					}
				}
				if c.Action == Update {
					updated++
					before, _ = reveal(before)
					after, _ = reveal(after)
					if got := applied(t, before, c.Fields); !equal(got, after) {
						t.Errorf("%s from %s to %s: the changes are not complete:\n%s", c.ID, from, to, short(c.Fields))
					}
				}
			}
		}
	}
	if updated < 100 {
		t.Errorf("only %d objects differ", updated)
	}
}

func TestDeepObjects(t *testing.T) {
	var before, after any = "a", "b"
	for i := range 9000 {
		if i%2 == 0 {
			before, after = []any{before, i}, []any{after, i}
		} else {
			before, after = map[string]any{"k": before}, map[string]any{"k": after}
		}
	}
	changes := Objects(object(before), object(after), key)
	if n := len(changes[0].Fields); n != 1 {
		t.Fatalf("%d changes", n)
	}
	f := changes[0].Fields[0]
	if n := strings.Count(f.Path, "[") + strings.Count(f.Path, ".k"); n != maxDepth-1 {
		t.Errorf("the path has %d steps", n)
	}
	if got := applied(t, object(before)[0].Object, changes[0].Fields); !equal(got, any(object(after)[0].Object)) {
		t.Error("the changes do not make what is after")
	}
	var g Grouper
	g.Add("a", slices.Concat(changes, Objects(nil, object(after), key)))
	text, markdown, _ := checkWritten(t, g.Result(), Style{Content: true})
	if len(text) > 100_000 || len(markdown) > 100_000 {
		t.Errorf("%d and %d bytes", len(text), len(markdown))
	}
}
