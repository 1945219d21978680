package query

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/origin"
	"github.com/fleetc/fleetc/testdata/fleets"
	"sigs.k8s.io/yaml"
)

// sampleSize returns the number of fields that are explained in each fleet. FLEETC_SAMPLES
// overrides it.
func sampleSize() int {
	if n, err := strconv.Atoi(os.Getenv("FLEETC_SAMPLES")); err == nil {
		return n
	}
	if fleets.Racing {
		return 6 // the race detector is slow
	}
	return 15
}

// TestExplainObjectOfExample explains a sample of fields of the example's objects. A change
// of each named value must change the field, and each set value whose change changes the
// field must be named.
func TestExplainObjectOfExample(t *testing.T) {
	f, err := (&compiler.Compiler{Dir: "../..", Offline: true, Cache: t.TempDir()}).Load(t.Context(), "prod/us/east-1")
	if err != nil {
		t.Fatal(err)
	}
	checkExplanations(t, f, 1)
}

// TestExplainObjectOfIstio is TestExplainObjectOfExample for Istio's charts.
func TestExplainObjectOfIstio(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("go", "run", ".", filepath.Join(dir, "istio"))
	cmd.Dir = "../../testdata/realcharts"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("write Istio's charts: %v\n%s", err, out)
	}
	files := map[string]string{
		"cue.mod/module.cue":     "module: \"example.com/istio\"\nlanguage: version: \"v0.17.0\"\n",
		"environments/fleet.cue": "package fleet\n\nimport \"github.com/fleetc/fleetc/schema\"\n\ncluster?: schema.#Cluster\nreleases: schema.#Releases\n",
	}
	for n := 1; n <= 3; n++ {
		text := fmt.Sprintf("package fleet\n\ncluster: {name: \"c%d\", kubernetes: \"1.36\"}\n", n)
		for _, name := range []string{"base", "istiod", "istio-cni", "gateway", "ztunnel"} {
			switch fmt.Sprint(name, n) {
			case "gateway2", "istio-cni3", "ztunnel3":
				continue // these values make it print a key twice
			}
			data, err := os.ReadFile(fmt.Sprintf("../../testdata/realcharts/values/%s-%d.yaml", name, n))
			if err != nil {
				t.Fatal(err)
			}
			values, err := yaml.YAMLToJSON(data)
			if err != nil {
				t.Fatal(err)
			}
			text += fmt.Sprintf("releases: %q: {namespace: \"istio-system\", chart: path: \"istio/%[1]s\", values: %s}\n", name, values)
		}
		files[fmt.Sprintf("environments/c%d/cluster.cue", n)] = text
	}
	fleets.Write(t, dir, files)
	f, err := (&compiler.Compiler{Dir: dir, Offline: true, Cache: t.TempDir()}).Load(t.Context())
	if err != nil {
		t.Log(err)
	}
	checkExplanations(t, f, 2)
}

// checkExplanations explains a sample of fields and compares the dependencies with those
// found by fullRenderer renderings.
func checkExplanations(t *testing.T, f *compiler.Fleet, seed uint64) {
	fields, rendered := sampleFields(t, f, seed)
	checks := map[*fleet.Release]*fullRenderer{}
	var times []time.Duration
	var keyed, named, confirmed, refused, real, recalled, lines, held int
	for _, s := range fields {
		start := nanotime()
		all, objs := rendered[s.cluster].all, rendered[s.cluster].objs
		e, err := explainObject(t.Context(), f, all, objs, fullName(s.object), fleet.FieldText(s.field))
		if err != nil {
			t.Errorf("%s %s: %v", s.object.ID(), fleet.FieldText(s.field), err)
			continue
		}
		times = append(times, nanotime()-start)
		title := fmt.Sprintf("%s: %s: %s", s.cluster.ID, s.object.ID(), fleet.FieldText(s.field))
		if !e.Complete {
			t.Errorf("%s: not all values were tried", title)
		}
		if len(e.Lines) > 0 {
			lines++
		} else if s.object.Release.Jsonnet == "" {
			t.Logf("%s has no line", title)
		}
		check := checks[s.object.Release]
		if check == nil {
			check = newFullRenderer(t, f, all, s.object)
			checks[s.object.Release] = check
		}
		paths := map[string]bool{}
		for _, d := range e.Depends {
			paths[d.Path] = true
			path, isValue := strings.CutPrefix(d.Path, s.object.Release.Path("values")+".")
			if !isValue {
				continue
			}
			named++
			keys, _ := fleet.ParseField(path)
			switch by := ""; {
			case check.changes(keys, s):
				confirmed++
			case check.refuses(keys, d.Other, s.object.Template, &by):
				refused++
				t.Logf("%s: %s %s: with %v, %s", title, d.How, d.Path, d.Other, by)
			default:
				t.Errorf("%s: %s %s: not confirmed, with %v: %s", title, d.How, d.Path, d.Other, by)
			}
		}
		if slices.ContainsFunc(e.Depends, func(d ValueDependency) bool { return d.How >= origin.Changes }) {
			keyed++
		}
		if slices.ContainsFunc(e.Depends, func(d ValueDependency) bool { return d.How == origin.Holds }) {
			held++
		}
		for _, keys := range check.leaves {
			if !check.changes(keys, s) {
				continue
			}
			real++
			if path := valuesPath(s.object.Release, check.values, keys); paths[path] {
				recalled++
			} else {
				t.Errorf("%s depends on %s, which is not named", title, path)
			}
		}
	}
	slices.Sort(times)
	t.Logf("%d fields: %d change with a value, %d hold one, %d have a line; %d of %d named values confirmed, and %d for which another template fails; %d of %d set values with an effect named; median %v, maximum %v",
		len(fields), keyed, held, lines, confirmed, named, refused, recalled, real, times[len(times)/2], times[len(times)-1])
	if named == 0 || real == 0 {
		t.Errorf("%d named values, %d set values with an effect", named, real)
	}
}

func nanotime() time.Duration { return time.Duration(time.Now().UnixNano()) }

// sample is a field of an object.
type sample struct {
	cluster *fleet.Cluster
	object  fleet.Object
	field   []string
}

// sampleFields returns random scalar fields of random rendered objects.
func sampleFields(t *testing.T, f *compiler.Fleet, seed uint64) ([]sample, map[*fleet.Cluster]renderedCluster) {
	t.Helper()
	var all []sample
	rendered := map[*fleet.Cluster]renderedCluster{}
	for _, c := range f.Clusters {
		rendering, objs, err := renderUnchecked(t.Context(), f, c)
		if err != nil {
			t.Fatal(err)
		}
		rendered[c] = renderedCluster{rendering, objs}
		for _, o := range objs {
			if o.Release.Chart == (fleet.ChartRef{}) && o.Release.Jsonnet == "" || strings.Contains(o.Template, "/crds/") {
				continue
			}
			all = append(all, sample{cluster: c, object: o})
		}
	}
	random := rand.New(rand.NewPCG(seed, 0))
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var out []sample
	for i := 0; len(out) < sampleSize(); i++ {
		s := all[i%len(all)]
		var fields [][]string
		scalars(s.object.Object, nil, &fields)
		slices.SortFunc(fields, slices.Compare)
		s.field = fields[random.IntN(len(fields))]
		out = append(out, s)
	}
	return out, rendered
}

// renderedCluster is the rendering of a cluster with its objects.
type renderedCluster struct {
	all  *compiler.ClusterRendering
	objs []fleet.Object
}

// scalars appends the paths of all scalars, and of empty lists and maps.
func scalars(v any, path []string, to *[][]string) {
	down := func(key string, v any) { scalars(v, append(path[:len(path):len(path)], key), to) }
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			down(k, e)
		}
		if len(v) > 0 {
			return
		}
	case []any:
		for i, e := range v {
			down(strconv.Itoa(i), e)
		}
		if len(v) > 0 {
			return
		}
	}
	*to = append(*to, path)
}

// fullRenderer renders a whole release with other values and memoizes the results. It does
// not use the code that explains dependencies.
type fullRenderer struct {
	t      *testing.T
	render func(values map[string]any) ([]fleet.Object, error)
	texts  func(name string) []string // texts that templates compare the value of a name with; may be nil
	values map[string]any             // of the release
	final  map[string]any             // of the release and the chart
	leaves [][]string                 // paths of scalars in values
	before []fleet.Object
	after  map[string][]fleet.Object
}

func newFullRenderer(t *testing.T, f *compiler.Fleet, all *compiler.ClusterRendering, o fleet.Object) *fullRenderer {
	c, r := all.Cluster, o.Release
	p, err := f.Origin(t.Context(), all, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	saw := all.Renderings[slices.Index(all.Releases, r)].SeenAPIs
	x := &fullRenderer{t: t, after: map[string][]fleet.Object{}, final: p.Subject.Values, texts: p.Subject.Texts}
	x.render = func(values map[string]any) ([]fleet.Object, error) {
		changed := *r
		var err error
		if changed.Values, err = fleet.TreeOf(values); err != nil {
			t.Fatal(err)
		}
		result, err := f.Source(t.Context(), c, &changed, saw)
		return result.Objects, err
	}
	x.values, _ = r.Values.Value().(map[string]any)
	if len(x.values) > 0 {
		scalars(x.values, nil, &x.leaves)
	}
	slices.SortFunc(x.leaves, slices.Compare)
	if x.before, err = x.render(x.values); err != nil {
		t.Fatal(err)
	}
	return x
}

// changes reports whether one of several other values at a path changes the field, or
// removes its object.
func (x *fullRenderer) changes(path []string, s sample) bool {
	before, ok := fieldOf(x.before, s)
	if !ok {
		x.t.Fatalf("%s is not rendered", s.object.ID())
	}
	for i, other := range x.others(path) {
		key := strconv.Itoa(i) + strings.Join(path, "\x00")
		objs, done := x.after[key]
		if !done {
			objs, _ = x.with(path, other)
			x.after[key] = objs
		}
		if objs == nil {
			continue
		}
		if after, ok := fieldOf(objs, s); !ok || !reflect.DeepEqual(before, after) {
			return true
		}
	}
	return false
}

// with renders the release with another value at a path. It returns nil if that fails, and
// an empty list if there are no objects.
func (x *fullRenderer) with(path []string, other any) ([]fleet.Object, error) {
	data, _ := json.Marshal(x.values)
	var values map[string]any
	_ = json.Unmarshal(data, &values)
	objs, err := x.render(put(values, path, other).(map[string]any))
	if err != nil {
		return nil, err
	}
	return append([]fleet.Object{}, objs...), nil
}

// refuses reports whether rendering with another value at a path fails in another template
// than the object's, so that the effect on the field cannot be seen. It sets how to the
// error.
func (x *fullRenderer) refuses(path []string, other any, template string, how *string) bool {
	_, err := x.with(path, other)
	if err == nil {
		return false
	}
	*how = err.Error()
	return !strings.Contains(*how, template+":")
}

// others returns several other values for a path.
func (x *fullRenderer) others(path []string) []any {
	v, _ := fleet.Lookup(x.final, path)
	switch v := v.(type) {
	case string:
		out := []any{v + "-other", "", "true", "false", "1", nil}
		if x.texts != nil {
			for _, text := range x.texts(path[len(path)-1]) {
				out = append(out, text)
			}
		}
		return out
	case bool:
		return []any{!v, nil}
	case float64:
		return []any{v + 3, 0.0, nil}
	case int64:
		return []any{v + 3, int64(0), nil}
	case []any:
		return []any{[]any{"other"}, []any{map[string]any{"name": "other"}}, nil}
	case map[string]any:
		return []any{map[string]any{"other": "other"}, nil}
	}
	return []any{"other", true, 3.0, []any{"other"}, map[string]any{"other": "other"}}
}

// put returns in with v at the path.
func put(in any, path []string, v any) any {
	if len(path) == 0 {
		return v
	}
	if l, ok := in.([]any); ok {
		i, _ := strconv.Atoi(path[0])
		l[i] = put(l[i], path[1:], v)
		return l
	}
	m, ok := in.(map[string]any)
	if !ok {
		m = map[string]any{}
	}
	m[path[0]] = put(m[path[0]], path[1:], v)
	return m
}

// fieldOf returns the sampleSize field in rendered objects, and whether its object exists.
func fieldOf(objs []fleet.Object, s sample) (any, bool) {
	for _, o := range objs {
		if o.GroupVersionKind().GroupKind() == s.object.GroupVersionKind().GroupKind() && o.GetName() == s.object.GetName() &&
			cmp.Or(o.GetNamespace(), s.object.GetNamespace()) == s.object.GetNamespace() {
			v, _ := fleet.Lookup(o.Object, s.field)
			return v, true
		}
	}
	return nil, false
}
