package objects

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/fleetc/fleetc/compiler/base/kube"
)

// newest is the version of Kubernetes of the imported types.
func newest(t testing.TB) *kube.Version {
	t.Helper()
	v, known := kube.Minor("1.37")
	if !known {
		t.Fatal("Kubernetes 1.37 is not known")
	}
	return v
}

// typed are the kinds that Kubernetes' library merges in these tests.
func typed(t testing.TB) map[schema.GroupVersionKind]reflect.Type {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		admissionv1.AddToScheme, appsv1.AddToScheme, autoscalingv2.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme,
		networkingv1.AddToScheme, policyv1.AddToScheme, rbacv1.AddToScheme, storagev1.AddToScheme,
	} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	out := map[schema.GroupVersionKind]reflect.Type{}
	for gvk, typ := range s.AllKnownTypes() {
		if newest(t).Schema(gvk) != nil && !strings.HasSuffix(gvk.Kind, "List") {
			out[gvk] = typ
		}
	}
	if len(out) < 40 {
		t.Fatalf("only %d kinds have types", len(out))
	}
	return out
}

// The schemas agree with the library's types for every field: whether lists
// merge, and by which key.
func TestStrategiesAreThoseOfTheTypes(t *testing.T) {
	lists := 0
	for gvk, typ := range typed(t) {
		meta, err := strategicpatch.NewPatchMetaFromStruct(reflect.New(typ).Interface())
		if err != nil {
			t.Fatal(err)
		}
		seen := map[*kube.Schema]bool{}
		var walk func(meta strategicpatch.LookupPatchMeta, s *kube.Schema, path string)
		walk = func(meta strategicpatch.LookupPatchMeta, s *kube.Schema, path string) {
			if seen[s] {
				return
			}
			seen[s] = true
			for name, f := range s.Fields {
				at := path + "." + name
				lookup := meta.LookupPatchMetadataForStruct
				if f.Type == kube.List {
					lookup = meta.LookupPatchMetadataForSlice
				}
				inner, m, err := lookup(name)
				if err != nil {
					t.Errorf("%s: %v", at, err)
					continue
				}
				want := slices.DeleteFunc(slices.Clone(m.GetPatchStrategies()), func(s string) bool { return s == "" })
				if !slices.Equal(f.Strategy, want) && len(f.Strategy)+len(want) > 0 || f.MergeKey != m.GetPatchMergeKey() {
					t.Errorf("%s: %v by %q, the type says %v by %q", at, f.Strategy, f.MergeKey, want, m.GetPatchMergeKey())
				}
				switch {
				case f.Type == kube.List:
					lists++
					if f.Elem.Fields != nil {
						walk(inner, f.Elem, at)
					}
				case f.Fields != nil && !f.Open:
					walk(inner, f, at)
				}
			}
		}
		walk(meta, newest(t).Schema(gvk), gvk.Kind)
	}
	if lists < 500 {
		t.Errorf("only %d lists were looked at", lists)
	}
}

// byLibrary merges with Kubernetes' library.
func byLibrary(t testing.TB, typ reflect.Type, original, patch map[string]any) (map[string]any, error) {
	t.Helper()
	out, err := strategicpatch.StrategicMergeMapPatch(cloneMap(original), cloneMap(patch), reflect.New(typ).Interface())
	return out, err
}

// tidy removes leftovers of the patch from the library's result: nulls and
// directives in items that it does not visit.
func tidy(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			if m, ok := e.(map[string]any); ok && m[directive] != nil {
				continue
			}
			if f, ok := fieldOf(k); ok && f == k && e != nil {
				out[k] = tidy(e)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, e := range v {
			if m, ok := e.(map[string]any); ok && m[directive] != nil {
				continue
			}
			out = append(out, tidy(e))
		}
		return out
	}
	return v
}

func TestStrategicByHand(t *testing.T) {
	const service = `{apiVersion: v1, kind: Service, metadata: {name: a, finalizers: [x, w]}, spec: {selector: {app: a}, ports: [{port: 80, name: http, targetPort: http}, {port: 443, name: https}], type: ClusterIP}}`
	const policy = `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: a}, spec: {podSelector: {matchLabels: {a: b}}, ingress: [{from: [{podSelector: {}}], ports: [{port: 80}]}, {ports: [{port: 81}]}], policyTypes: [Ingress]}}`
	const budget = `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: a}, spec: {selector: {matchLabels: {a: b}}, minAvailable: 1}}`
	const hook = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: a}, webhooks: [{name: a.b.c, timeoutSeconds: 1, rules: [{operations: [CREATE]}]}, {name: d.e.f}]}`
	const account = `{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}, imagePullSecrets: [{name: x}], secrets: [{name: s}]}`
	web := strings.Split(shop, "\n---\n")
	deployment, settings, cron := web[0], web[1], web[4]
	for _, test := range []struct{ object, patch string }{
		{deployment, `{spec: {replicas: 5, paused: true, minReadySeconds: null}}`},
		{deployment, `{spec: {template: {spec: {containers: [{name: new, image: x}, {name: web, image: yy, env: [{name: B, value: z}, {name: C}, {name: A, $patch: delete}]}]}}}}`},
		{deployment, `{spec: {template: {spec: {containers: [{name: sidecar, $patch: delete}], initContainers: [{name: first, image: x}, {name: setup}]}}}}`},
		{deployment, `{spec: {template: {spec: {containers: [{$patch: replace}, {name: only, image: x}]}}}}`},
		{deployment, `{spec: {template: {spec: {$setElementOrder/containers: [{name: sidecar}, {name: new}, {name: web}], containers: [{name: new, image: x}, {name: web, tty: true}]}}}}`},
		{deployment, `{spec: {template: {spec: {$setElementOrder/volumes: [{name: model}, {name: cache}]}}}}`},
		{deployment, `{spec: {template: {spec: {volumes: [{name: cache, $retainKeys: [name, hostPath], hostPath: {path: /x}}]}}}}`},
		{deployment, `{spec: {template: {spec: {containers: [{name: web, command: [a, b], args: [], volumeMounts: [{mountPath: /a, name: cache}]}], tolerations: [{key: a}]}}}}`},
		{deployment, `{spec: {strategy: {$retainKeys: [type], type: Recreate}, selector: {matchLabels: {b: c}}}}`},
		{deployment, `{metadata: {labels: {$patch: replace, x: "y"}, annotations: {a: b}}}`},
		{deployment, `{spec: {template: {metadata: {labels: null}, spec: {topologySpreadConstraints: [{topologyKey: zone, maxSkew: 1}]}}}}`},
		{settings, `{data: {a: z, b: null, c: new}, binaryData: {x: "eA=="}}`},
		{cron, `{spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: job, env: [{name: A}]}], restartPolicy: OnFailure}}}}}}`},
		{service, `{spec: {ports: [{port: 443, targetPort: 8443}, {port: 8080, name: alt}], selector: {tier: b}, type: null}}`},
		{service, `{spec: {ports: [{port: 80, $patch: delete}]}, metadata: {finalizers: [z], $deleteFromPrimitiveList/finalizers: [x]}}`},
		{service, `{metadata: {$setElementOrder/finalizers: [z, w, x], finalizers: [z]}}`},
		{policy, `{spec: {ingress: [{ports: [{port: 82}]}], policyTypes: [Ingress, Egress], podSelector: {matchLabels: {c: d}}}}`},
		{budget, `{spec: {selector: {matchLabels: {c: d}}}}`},
		{hook, `{webhooks: [{name: d.e.f, timeoutSeconds: 2}, {name: a.b.c, rules: [{operations: [UPDATE]}]}]}`},
		{account, `{imagePullSecrets: [{name: yy}], secrets: [{name: s, $patch: delete}], automountServiceAccountToken: false}`},
	} {
		original, patch := decodedMap(t, test.object), decodedMap(t, test.patch)
		gvk := objects(t, test.object)[0].GroupVersionKind()
		want, err := byLibrary(t, typed(t)[gvk], original, patch)
		if err != nil {
			t.Errorf("%s: the library refuses: %v", test.patch, err)
			continue
		}
		got, _, p := mergeMap(cloneMap(original), patch, newest(t).Schema(gvk))
		if p != nil || text(t, got) != text(t, tidy(want)) {
			t.Errorf("%s: %v\n got %s\nwant %s", test.patch, p, text(t, got), text(t, tidy(want)))
		}
		if text(t, got) == text(t, original) {
			t.Errorf("%s changes nothing", test.patch)
		}
	}
}

func TestStrategicIsThatOfTheLibrary(t *testing.T) {
	types := typed(t)
	var kinds []schema.GroupVersionKind
	for gvk := range types {
		kinds = append(kinds, gvk)
	}
	sort.Slice(kinds, func(i, j int) bool { return kinds[i].String() < kinds[j].String() })
	const rounds = 25
	for n, gvk := range kinds {
		s := newest(t).Schema(gvk)
		for round := range rounds {
			g := &generator{rand.New(rand.NewPCG(uint64(n), uint64(round)))}
			original := g.object(s, 9)
			patch := g.patch(s, original, 9)
			want, err := byLibrary(t, types[gvk], original, patch)
			if err != nil {
				t.Fatalf("%s %d: the library refuses: %v\npatch %s", gvk.Kind, round, err, text(t, patch))
			}
			c := checker{version: newest(t), directives: true}
			if c.check(patch, original, s); len(c.found) > 0 {
				t.Fatalf("%s %d: the patch is at fault: %v %s\npatch %s", gvk.Kind, round, c.found[0].at, c.found[0].msg, text(t, patch))
			}
			got, keep, p := mergeMap(cloneMap(original), cloneMap(patch), s)
			if p != nil || !keep {
				t.Fatalf("%s %d: %+v, deleted: %t\nhave  %s\npatch %s", gvk.Kind, round, p, !keep, text(t, original), text(t, patch))
			}
			if g, w := text(t, got), text(t, tidy(want)); g != w {
				at := 0
				for at < min(len(g), len(w)) && g[at] == w[at] {
					at++
				}
				at = max(0, at-100)
				t.Fatalf("%s %d: at %d\ngot   %s\nwant  %s\nhave  %s\npatch %s", gvk.Kind, round, at, g[at:], w[at:], text(t, original), text(t, patch))
			}
		}
	}
}

func text(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A generator generates objects from schemas, and patches for them.
type generator struct{ *rand.Rand }

func (g *generator) object(s *kube.Schema, depth int) map[string]any {
	m, _ := g.value(s, depth).(map[string]any)
	if m == nil {
		m = map[string]any{}
	}
	return m
}

// value returns a value of the schema, or nil.
func (g *generator) value(s *kube.Schema, depth int) any {
	if depth == 0 || s == nil {
		return nil
	}
	switch s.Type {
	case kube.Object:
		if s.Open || s.Fields == nil && s.Elem == nil {
			return nil
		}
		m := map[string]any{}
		if s.Fields == nil {
			for _, k := range []string{"a", "b", "c"} {
				if v := g.value(s.Elem, depth-1); v != nil && g.scalar(s.Elem) && g.IntN(2) == 0 {
					m[k] = v
				}
			}
			return m
		}
		for _, k := range keysOf(s) {
			// Deep parts occur as often as shallow ones.
			if v := g.value(s.Fields[k], depth-1); v != nil && (k == "spec" || k == "template" || g.IntN(5) < 2) {
				m[k] = v
			}
		}
		if imageField(s) == "image" {
			m["image"] = "p" // a new container must have one
		}
		return m
	case kube.List:
		return g.list(s, depth, g.IntN(4))
	case kube.Any:
		return nil
	case kube.Integer:
		return int64(g.IntN(4))
	case kube.Number:
		return float64(g.IntN(4)) + 0.5
	case kube.Boolean:
		return g.IntN(2) == 0
	case kube.IntOrString:
		if g.IntN(2) == 0 {
			return int64(g.IntN(4))
		}
	}
	return string(rune('p' + g.IntN(4)))
}

// scalar reports whether the library merges maps of such values: it fails for
// maps of structs.
func (g *generator) scalar(s *kube.Schema) bool {
	return s != nil && s.Type != kube.Object && s.Type != kube.List && s.Type != kube.Any
}

// list returns a list of n different items, or fewer.
func (g *generator) list(s *kube.Schema, depth, n int) any {
	if s.Elem == nil || s.Elem.Type == kube.Any || s.Elem.Type == kube.List {
		return nil
	}
	l := []any{}
	used := map[string]bool{}
	for range n {
		v := g.value(s.Elem, depth-1)
		if v == nil {
			return nil
		}
		if m, ok := v.(map[string]any); ok && merges(s) {
			key := g.value(s.Elem.Fields[s.MergeKey], 1)
			m[s.MergeKey], v = key, m
		}
		id := fmt.Sprint(v)
		if m, ok := v.(map[string]any); ok && merges(s) {
			id = fmt.Sprint(m[s.MergeKey])
		}
		if used[id] {
			continue
		}
		used[id] = true
		l = append(l, v)
	}
	return l
}

// patch returns a patch of a map with the schema s.
func (g *generator) patch(s *kube.Schema, original map[string]any, depth int) map[string]any {
	m := map[string]any{}
	if depth == 0 || s.Open {
		return m
	}
	if s.Fields == nil {
		for _, k := range []string{"a", "b", "c"} {
			switch v := g.value(s.Elem, depth-1); {
			case g.IntN(4) == 0:
				m[k] = nil
			case v != nil && g.scalar(s.Elem) && g.IntN(2) == 0:
				m[k] = v
			}
		}
		return m
	}
	for _, k := range keysOf(s) {
		f := s.Fields[k]
		wanted := k == "spec" || k == "template"
		if !wanted && g.IntN(5) > 1 {
			continue
		}
		switch there := original[k].(type) {
		case map[string]any:
			if g.IntN(20) == 0 {
				m[k] = nil
				continue
			}
			inner := g.patch(f, there, depth-1)
			// The library does not visit replacements.
			switch {
			case slices.Contains(f.Strategy, replace):
				inner = g.object(f, depth-1)
			case g.IntN(15) == 0:
				inner = g.object(f, depth-1)
				inner[directive] = replace
			}
			m[k] = inner
		case []any:
			g.patchList(m, k, f, there, depth)
		default:
			if v := g.value(f, depth-1); v != nil {
				m[k] = v
			}
			if !wanted && g.IntN(6) == 0 {
				m[k] = nil
			}
		}
	}
	if len(m) > 0 && g.IntN(12) == 0 {
		stay := []any{}
		for _, k := range keysOf(s) {
			if _, ok := m[k]; ok || g.IntN(2) == 0 {
				stay = append(stay, k)
			}
		}
		m[retainKeys] = stay
	}
	return m
}

// patchList writes a patch of a list into m.
func (g *generator) patchList(m map[string]any, k string, s *kube.Schema, original []any, depth int) {
	if g.IntN(20) == 0 {
		m[k] = nil
		return
	}
	l, _ := g.list(s, depth-1, g.IntN(4)).([]any)
	if l == nil {
		return
	}
	m[k] = l
	if !merges(s) {
		return
	}
	if s.MergeKey == "" {
		if g.IntN(2) == 0 && len(original) > 0 {
			gone := original[g.IntN(len(original))]
			if !slices.Contains(l, gone) {
				m[dropFrom+k] = []any{gone}
			}
		}
		g.order(m, k, s, l, original)
		return
	}
	if g.IntN(8) == 0 {
		m[k] = slices.Insert(l, g.IntN(len(l)+1), any(map[string]any{directive: replace}))
		return
	}
	// Existing fields change more often than new ones are added.
	for i, v := range l {
		item := v.(map[string]any)
		if at := indexOf(original, s.MergeKey, item[s.MergeKey]); at >= 0 {
			key := item[s.MergeKey]
			change := g.patch(s.Elem, original[at].(map[string]any), depth-2)
			delete(change, directive)
			change[s.MergeKey] = key
			if stay, ok := change[retainKeys].([]any); ok {
				change[retainKeys] = append(stay, s.MergeKey)
			}
			l[i] = change
		}
	}
	for _, v := range original {
		key := v.(map[string]any)[s.MergeKey]
		if g.IntN(4) == 0 && indexOf(l, s.MergeKey, key) < 0 {
			l = append(l, map[string]any{s.MergeKey: key, directive: remove})
		}
	}
	m[k] = l
	// When items are deleted, the library overwrites the list whose order it
	// keeps.
	if !slices.ContainsFunc(l, func(v any) bool { return v.(map[string]any)[directive] == remove }) {
		g.order(m, k, s, l, original)
	}
}

// order sometimes sets the order of a list: the items of the patch, and some of
// the others in between.
func (g *generator) order(m map[string]any, k string, s *kube.Schema, l, original []any) {
	if g.IntN(3) > 0 || len(l) == 0 || len(original) == 0 {
		return
	}
	key := func(v any) any {
		if s.MergeKey == "" {
			return v
		}
		return map[string]any{s.MergeKey: v.(map[string]any)[s.MergeKey]}
	}
	order := []any{}
	for _, v := range l {
		if item, ok := v.(map[string]any); !ok || item[directive] == nil {
			order = append(order, key(v))
		}
	}
	for _, v := range original {
		if kv := key(v); g.IntN(2) == 0 && !slices.ContainsFunc(order, func(o any) bool { return equal(o, kv) }) {
			order = slices.Insert(order, g.IntN(len(order)+1), kv)
		}
	}
	if len(order) > 0 {
		m[orderOf+k] = order
	}
}

func keysOf(s *kube.Schema) []string {
	var keys []string
	for k := range s.Fields {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
