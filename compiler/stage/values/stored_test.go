package values

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// stored returns the type of a chart after encoding and decoding it, and its
// stored form.
func stored(t testing.TB, ch *fleet.Chart) (*Type, []byte) {
	t.Helper()
	data, err := derive(t, ch).Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Decode(data, ch)
	if err != nil {
		t.Fatal(err)
	}
	return again, data
}

// TestStoredTypesAreTheSame checks that decoded types behave like the original.
func TestStoredTypesAreTheSame(t *testing.T) {
	charts := map[string]*fleet.Chart{"app": fleetChart(app), "umbrella": umbrella(), "a circle": circle()}
	sets := map[string][]string{}
	for _, dir := range append(chartDirs(t), istio(t)...) {
		charts[filepath.Base(filepath.Dir(dir))+"/"+filepath.Base(dir)] = chartAt(t, dir)
		files, err := filepath.Glob(filepath.Join(dir, "ci", "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		sets[filepath.Base(filepath.Dir(dir))+"/"+filepath.Base(dir)] = files
	}
	compared, wrong := 0, 0
	for name, ch := range charts {
		typ := derive(t, ch)
		again, data := stored(t, ch)
		sameTypes(t, name, typ, again, data)
		loaded, err := load(ch)
		if err != nil {
			t.Fatal(err)
		}
		values := []*fleet.Tree{tree(t, "v.yaml", string(valuesOf(ch))), fleet.Map(nil)}
		for _, f := range sets[name] {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, tree(t, "ci.yaml", string(text)))
		}
		for _, m := range mutations(loaded.Values) {
			values = append(values, treeFrom(m.user))
		}
		for _, v := range values {
			want, got := typ.Check(v, nil), again.Check(v, nil)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: the stored types say\n%s\nand the derived ones\n%s", name, faults(got), faults(want))
			}
			if compared++; len(want) > 0 {
				wrong++
			}
		}
	}
	if compared < 5000 || wrong < 3000 {
		t.Errorf("only %d sets of values, %d of them with faults", compared, wrong)
	}
}

// sameTypes compares everything except the results of Check.
func sameTypes(t *testing.T, name string, typ, again *Type, data []byte) {
	t.Helper()
	if second, err := again.Encode(); err != nil || !bytes.Equal(second, data) {
		t.Errorf("%s: stored again it has other bytes, %v", name, err)
	}
	a, b := *typ, *again
	a.chart, b.chart = nil, nil
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%s: the types differ", name)
	}
	if !reflect.DeepEqual(typ.chart.own.get(), again.chart.own.get()) {
		t.Errorf("%s: what the chart itself uses differs", name)
	}
	// The uses are computed now, so Encode stores them.
	if !again.Grown() {
		t.Errorf("%s: nothing more is known when it has been asked for", name)
	}
	more, err := again.Encode()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	grown, err := Decode(more, nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if !reflect.DeepEqual(grown.chart.own.get(), typ.chart.own.get()) || grown.Grown() {
		t.Errorf("%s: what the chart itself uses differs when it is stored", name)
	}
	want, err := typ.CUE("#Values")
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if got, err := again.CUE("#Values"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: the CUE differs, %v", name, err)
	}
}

// circle is a chart whose global values contain themselves: it has a dependency
// named global.
func circle() *fleet.Chart {
	return fleetChart(map[string]string{
		"values.yaml":                    "global: {zone: a}\n",
		"charts/global/Chart.yaml":       "apiVersion: v2\nname: global\nversion: 1.0.0\n",
		"charts/global/values.yaml":      "size: 1\nglobal: {zone: b}\n",
		"charts/global/templates/x.yaml": "{{ .Values.size }}{{ .Values.global.zone }}",
	})
}

// TestStoredGlobalIsOne checks that decoded dependencies share the global values
// of the root, even if that makes a cycle.
func TestStoredGlobalIsOne(t *testing.T) {
	again, _ := stored(t, umbrella())
	global, ok := again.At("global")
	if !ok {
		t.Fatal("no global")
	}
	for _, path := range []string{"db.global", "cache.global", "db.leaf.global"} {
		if at, ok := again.At(strings.Split(path, ".")...); !ok || at != global {
			t.Errorf("%s is another than global", path)
		}
	}
	again, _ = stored(t, circle())
	if at, ok := again.At("global", "global", "global"); !ok || at != again.Fields["global"] {
		t.Error("the circle is broken")
	}
}

// TestStoredSchema checks that a schema is compiled once, on first use, and that
// a schema that does not compile is a fault.
func TestStoredSchema(t *testing.T) {
	again, _ := stored(t, fleetChart(app))
	first, err := again.chart.root.schema.validator()
	if err != nil {
		t.Fatal(err)
	}
	if second, err := again.chart.root.schema.validator(); err != nil || second != first {
		t.Errorf("compiled twice, %v", err)
	}
	again, _ = stored(t, fleetChart(app))
	again.chart.root.schema.data = []byte(`{"type": "map"}`)
	got := again.Check(fleet.Map(nil), nil)
	if len(got) != 1 || !strings.HasPrefix(got[0].Msg, "the schema of chart app is not a valid JSON Schema: ") {
		t.Errorf("a schema that is none: %v", got)
	}
}

func TestNotStored(t *testing.T) {
	deep := any("x")
	for range maxNested + 2 {
		deep = []any{deep}
	}
	for name, change := range map[string]func(t *Type){
		"no whole chart":   func(t *Type) { t.chart = nil },
		"an odd default":   func(t *Type) { t.Default = struct{}{} },
		"a deep default":   func(t *Type) { t.Default = deep },
		"a circle":         func(t *Type) { t.Fields["image"].Fields["x"] = t; t.Fields["image"].Keys = []string{"x"} },
		"a large default":  func(t *Type) { t.Default = strings.Repeat("x", maxEncoded) },
		"a deep chart":     func(t *Type) { t.chart.root.deps = []*node{t.chart.root} },
		"a deep list type": func(t *Type) { t.Elem = t },
	} {
		again, _ := stored(t, fleetChart(app))
		change(again)
		if data, err := again.Encode(); err == nil {
			t.Errorf("%s: %d bytes", name, len(data))
		} else if !strings.HasPrefix(err.Error(), "encode types: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestStoredWaivers checks that faults of decoded types have the positions of
// the user's values, and that waivers accept them.
func TestStoredWaivers(t *testing.T) {
	again, _ := stored(t, fleetChart(app))
	v := tree(t, "prod/v.yaml", "image:\n  tga: x\n")
	if got := again.Check(v, []fleet.Waiver{{Path: "image", Reason: "r"}}); len(got) > 0 {
		t.Errorf("waived: %v", got)
	}
	got := again.Check(v, nil)
	if len(got) != 1 || !slices.Equal(got[0].At, []diag.Pos{{File: "prod/v.yaml", Line: 2, Col: 3}}) || got[0].Hint != "did you mean tag?" {
		t.Errorf("got %s", faults(got))
	}
}
