package importer

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// randomNode returns a map whose values are often equal to those of other calls.
func randomNode(r *rand.Rand, id string, depth int) *Node {
	n := mapNode()
	for i := range 4 {
		key := fmt.Sprint("k", i)
		switch v := r.IntN(9); {
		case v < 2:
		case v < 4 && depth > 0:
			n.Set(key, randomNode(r, id, depth-1))
		case v == 4:
			n.Set(key, &Node{IsList: true, List: []*Node{textNode("a"), textNode(fmt.Sprint(r.IntN(2)))}})
		case v == 5:
			n.Set(key, textNode("https://"+key+"."+strings.ReplaceAll(id, "/", "-")+".example.com"))
		case v == 6:
			n.Set(key, mapNode())
		case v == 7:
			n.Set(key, &Node{})
		default:
			n.Set(key, textNode(fmt.Sprint(r.IntN(2))))
		}
	}
	return n
}

// mergeNode adds the fields of a layer to decoded JSON, and expands references.
func mergeNode(t *testing.T, into map[string]any, n *Node, values map[string]string) {
	for _, f := range n.Fields {
		if f.Value.IsMap {
			below, ok := into[f.Key].(map[string]any)
			if _, found := into[f.Key]; found && !ok {
				t.Fatalf("two layers set %s", f.Key)
			}
			if !ok {
				below = map[string]any{}
				into[f.Key] = below
			}
			mergeNode(t, below, f.Value, values)
			continue
		}
		if _, found := into[f.Key]; found {
			t.Fatalf("two layers set %s", f.Key)
		}
		into[f.Key] = expand(f.Value, values)
	}
}

func expand(n *Node, values map[string]string) any {
	if n.IsList {
		out := []any{}
		for _, e := range n.List {
			out = append(out, expand(e, values))
		}
		return out
	}
	if n.Parts == nil {
		return n.Value()
	}
	text := ""
	for i, part := range n.Parts {
		if i%2 == 1 {
			part = values[part]
		}
		text += part
	}
	return text
}

// The layers of each cluster merge to exactly its own data, and no field is set twice.
func TestDivideIsExact(t *testing.T) {
	ids := []string{"dev", "prod/eu/a", "prod/eu/b", "prod/us", "staging/x", "staging/y"}
	known := facts{}
	for _, id := range ids {
		known[id] = map[string]string{"": strings.ReplaceAll(id, "/", "-")}
	}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		bodies := map[string]map[string]*Node{"web": {}}
		for _, id := range ids {
			if r.IntN(6) > 0 {
				n := randomNode(r, id, 2)
				n.Set("namespace", textNode("web"))
				bodies["web"][id] = n
			}
		}
		if len(bodies["web"]) == 0 {
			continue
		}
		layers := divide(ids, bodies, known)
		for id, want := range bodies["web"] {
			got := map[string]any{}
			for dir, layer := range layers {
				if dir != "" && dir != id && !strings.HasPrefix(id, dir+"/") {
					continue
				}
				for _, p := range layer.Fields {
					mergeNode(t, got, p.Value, known[id])
				}
			}
			delete(got, "clusters")
			if !reflect.DeepEqual(got, want.Value()) {
				t.Fatalf("seed %d: %s has\n%v\nwant\n%v", seed, id, got, want.Value())
			}
		}
	}
}

func TestDivide(t *testing.T) {
	known := facts{"prod/eu": {"": "eu", "domain": "eu.example.com"}, "prod/us": {"": "us", "domain": "us.example.com"}, "dev": {"": "dev", "domain": "dev.example.com"}}
	of := func(host, size string) *Node {
		return mapNode(Field{"kind", textNode("web")}, Field{"host", textNode(host)}, Field{"size", textNode(size)})
	}
	layers := divide([]string{"dev", "prod/eu", "prod/us"}, map[string]map[string]*Node{"web": {
		"dev": of("www.dev.example.com", "1"), "prod/eu": of("www.eu.example.com", "3"), "prod/us": of("www.us.example.com", "3"),
	}}, known)
	var got []string
	for _, dir := range sortedKeys(layers) {
		for _, f := range layers[dir].Get("web").Fields {
			got = append(got, "/"+dir+" "+f.Key+" "+fmt.Sprint(f.Value.Scalar, f.Value.Parts))
		}
	}
	want := "/ kind web[]|/ host <nil> [www. domain ]|/dev size 1[]|/prod size 3[]"
	if text := strings.Join(got, "|"); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}
