package values

import (
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A claim is a value whose type says that its sink is a part of a Kubernetes
// object, with a key that no such part has.
type claim struct {
	path []string
	list bool
	key  string
}

// claims returns the claims for all values of a chart.
func claims(t *Type, path []string, seen map[*Type]bool) []claim {
	if seen[t] {
		return nil
	}
	seen[t] = true
	var all []claim
	if s := t.shape; len(path) > 0 && s != nil && (s.closed() && !t.Open || s.list && s.elem.closed()) {
		all = append(all, claim{path: path, list: s.list})
	}
	for _, k := range t.Keys {
		all = append(all, claims(t.Fields[k], append(slices.Clone(path), k), seen)...)
	}
	return all
}

// put returns the values with the key added at the path of the claim.
func (c claim) put(values map[string]any) map[string]any {
	added := map[string]any{c.key: "x"}
	if c.list {
		return with(values, c.path, []any{added})
	}
	return with(values, c.path, added)
}

// marks calls f with every key of a claim in the value, and with its path.
func marks(v any, path []string, f func(key string, path []string)) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if strings.HasPrefix(k, "zzKey") {
				f(k, path)
			}
			marks(e, append(slices.Clone(path), k), f)
		}
	case []any:
		for _, e := range v {
			marks(e, append(slices.Clone(path), anItem), f)
		}
	}
}

// refuses reports whether an arbitrary key at the path is invalid: the kind has
// only fixed keys there, or does not have the path.
func refuses(k *shapes, object map[string]any, path []string) bool {
	kind := apiKind{apiVersion: fmt.Sprint(object["apiVersion"]), kind: fmt.Sprint(object["kind"])}
	if k.place([]apiKind{kind}, []string{"metadata"}) == nil {
		kind.apiVersion = "" // one that Kubernetes has no more
	}
	for i := range append(path, "zzKey") {
		if s := k.place([]apiKind{kind}, path[:i]); s.closed() {
			if _, found := s.at(append(path, "zzKey")[i]); !found {
				return true
			}
		}
	}
	return false
}

// claimed returns the values with the keys of all claims that the chart renders
// with.
func (s *specimen) claimed(t testing.TB, values map[string]any, made []claim) map[string]any {
	next := values
	for _, c := range made {
		next = c.put(next)
	}
	switch {
	case s.render(t, next)["error"] == "":
		return next
	case len(made) == 1:
		return values
	}
	half := len(made) / 2
	return s.claimed(t, s.claimed(t, values, made[:half]), made[half:])
}

// TestSinksAreReal renders every chart with keys that Kubernetes does not
// have, at each value whose type says that its sink is in a Kubernetes object,
// and checks where the keys appear in the output.
func TestSinksAreReal(t *testing.T) {
	log.SetOutput(io.Discard) // Helm's warnings
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	plain := newShapes() // custom resources have parts of Kubernetes' own objects
	ended, all := 0, 0
	for _, s := range specimens(t) {
		ch := &fleet.Chart{}
		for _, f := range s.files {
			ch.Files = append(ch.Files, fleet.File{Name: f.Name, Data: f.Data})
		}
		loaded, err := load(ch)
		if err != nil {
			t.Fatal(err)
		}
		k := newShapes()
		k.addCRDs(loaded)
		typ := derive(t, ch)
		made := claims(typ, nil, map[*Type]bool{})
		byKey := map[string]claim{}
		for i := range made {
			made[i].key = fmt.Sprintf("zzKey%d", i)
			byKey[made[i].key] = made[i]
		}
		values := s.claimed(t, s.switchedOn(t), made)
		found := map[string]bool{}
		files := s.render(t, values)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			for doc := range strings.SplitSeq(files[name], "\n---") {
				var object map[string]any
				if yaml.Unmarshal([]byte(doc), &object) != nil {
					continue
				}
				marks(object, nil, func(key string, path []string) {
					found[key] = true
					if !refuses(k, object, path) && !refuses(plain, object, path) {
						t.Errorf("%s: values.%s ends in %s %v", s.name, strings.Join(byKey[key].path, "."), object["kind"], path)
					}
				})
			}
		}
		t.Logf("%s: of %d places %d are seen", s.name, len(made), len(found))
		ended, all = ended+len(found), all+len(made)
	}
	if ended < 50 || ended*2 < all {
		t.Errorf("only %d of %d places are seen", ended, all)
	}
}
