package objects

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	yaml3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// roundTrip tests that readers of YAML 1.1 and 1.2 decode the canonical text of
// obj to its JSON value, and that the text is stable.
func roundTrip(t *testing.T, obj map[string]any) []byte {
	t.Helper()
	text, err := Encode(obj)
	if err != nil {
		t.Fatalf("encode %#v: %v", obj, err)
	}
	want, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	got, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		t.Fatalf("YAML 1.1: %v\n%#v\n%s", err, obj, text)
	}
	if !equalJSON(t, got, want) {
		t.Fatalf("YAML 1.1: got %s\nwant %s\nfrom:\n%s", got, want, text)
	}
	var v any
	if err := yaml3.Unmarshal(text, &v); err != nil {
		t.Fatalf("YAML 1.2: %v\n%#v\n%s", err, obj, text)
	}
	if got, err = json.Marshal(v); err != nil || !equalJSON(t, got, want) {
		t.Fatalf("YAML 1.2: got %s (%v)\nwant %s\nfrom:\n%s", got, err, want, text)
	}
	// Decoding and encoding again changes nothing, with integers distinguished
	// from floats.
	var back map[string]any
	dec := json.NewDecoder(bytes.NewReader(want))
	dec.UseNumber()
	if err := dec.Decode(&back); err != nil {
		t.Fatal(err)
	}
	again, err := Encode(back)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text, again) && !bytes.Contains(text, []byte("-0.0")) {
		t.Fatalf("not stable:\n%s\nthen:\n%s", text, again)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "---") || strings.HasPrefix(line, "...") {
			t.Fatalf("a line reads as a document's end:\n%s", text)
		}
	}
	return text
}

// equalJSON compares values and not bytes, since the encoders differ in the
// order of keys and in escapes. Numbers are compared as texts, except for
// negative zero, which has two spellings in Go.
func equalJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	norm := func(data []byte) string {
		var v any
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		if err := dec.Decode(&v); err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	return norm(a) == norm(b)
}

var nasty = []string{
	"", " ", "  ", "\t", "\n", "\n\n", "\r\n", "\r", "a\r\nb\r\n", "a\rb",
	"yes", "Yes", "no", "NO", "on", "off", "y", "Y", "n", "N", "true", "True", "TRUE", "false", "null", "Null", "~",
	".inf", "-.inf", "+.INF", ".nan", ".NaN", "inf", "nan", "Infinity",
	"0", "1", "-1", "+1", "012", "0o7", "0x1f", "0X1F", "0b101", "-0b11", "1e3", "1E3", "1.5e+3", ".5", "5.", "-.5", "1_000", "0x_1f",
	"1:30", "1:30:00", "190:20:30.15", "1.2", "1.2.3", "10.0.0.1", "8080:80", "100m", "1Gi", "0755", "08", "9e", "1-2",
	"2001-12-14", "2001-12-14t21:59:43.10-05:00", "2001-12-14 21:59:43.10 -5", "2024-1-1", "2024-01-01T00:00:00Z",
	"=", "<<", "-", "--", "---", "--- a", "...", "... b", "--foo", "-f", "- a", "? a", "?", ":", ":a", "a:", "a: b", "a:b", "a :b", "http://x:80/",
	"#", "# a", "a # b", "a#b", "&a", "*", "*.example.com", "!x", "!!int 3", "|", "|-", ">", "%x", "%YAML 1.1", "@a", "`a`",
	"'", "''", "'a'", "it's", "\"", "\"a\"", "a\"b", `\`, `\n`, `C:\x`, `{"a": "it's"}`, "{}", "[]", "{a", "]", ",", "a, b",
	" a", "a ", "\ta", "a\t", "a\tb", "a\nb", "a\nb\n", "a\n\n", "a\n\n\n", "\na", "\n\na\n", " a\nb", "  a\n b\n", "\ta\n\tb\n", "a\n b\n  c",
	"a \nb", "a\n \nb\n", "a\n  ", "a\n\t", "a\n \n", "a\n  \n\n", "\n a\n", " \na", " \n\n", "#a\n#b\n", "- a\n- b\n", "a: b\nc: d\n", "---\na\n---\n", "...\nx\n",
	"%a\nb", "key: |\n  x\n", "\ufeff", "\ufeffa", "a\ufeffb\nc", "é", "日本語", "日本語\n\n語", "\u0085", "a\u0085b", "a\u2028b\nc", "a\u2029b",
	"\u00a0", "\u200b", "\u202e", "\ufffd", "\uffff", "😀", "\U000e0041", "\x00", "\x01\n", "\x1b[0m", "\x7f",
	strings.Repeat("x", 3000), strings.Repeat("word ", 400) + "end", strings.Repeat("a: ", 500), strings.Repeat("\"", 200),
	strings.Repeat("ü", 60), strings.Repeat("\x01", 50), strings.Repeat("longer line\n", 300),
}

func TestEncodeStrings(t *testing.T) {
	for _, s := range nasty {
		t.Run(fmt.Sprintf("%.20q", s), func(t *testing.T) {
			roundTrip(t, map[string]any{"k": s})
			roundTrip(t, map[string]any{s: "v"})
			roundTrip(t, map[string]any{s: []any{s}})
			roundTrip(t, map[string]any{"l": []any{s, []any{s, s}, map[string]any{s: s}}, "m": map[string]any{s: map[string]any{"z": s, s: []any{s}}}})
		})
	}
}

func TestEncodeNumbers(t *testing.T) {
	for _, v := range []any{
		int64(0), int64(-1), int64(math.MaxInt64), int64(math.MinInt64), 7,
		0.1, -0.1, 1.0, -3.0, 1e6, 1e20, 1e21, -1e21, 1.5e300, 1e-6, 1e-7, 1.25e-9, math.MaxFloat64, math.SmallestNonzeroFloat64,
		float64(1 << 62), float64(1 << 63), 1.8446744073709552e19, math.Copysign(0, -1), 0.0,
		json.Number("3"), json.Number("0.5"), json.Number("18446744073709551615"),
		true, false, nil,
		map[string]any{},
		[]any{},
		map[string]any(nil), []any(nil),
	} {
		t.Run(fmt.Sprintf("%T %v", v, v), func(t *testing.T) {
			roundTrip(t, map[string]any{"k": v, "l": []any{v, v}})
		})
	}
}

func TestEncodeText(t *testing.T) {
	obj := map[string]any{
		"kind": "ConfigMap", "apiVersion": "v1",
		"metadata": map[string]any{"name": "x", "labels": map[string]any{"a10": "1", "a9": "yes", "B": "b"}},
		"data":     map[string]any{"main.conf": "a = 1\n\n  b = 2\n", "none": "", "json": `{"a":1}`, "open": "no end\nhere", "more": "x\n\n"},
		"args":     []any{"--v=2", []any{int64(1), []any{}}, map[string]any{"name": "a", "ports": []any{map[string]any{"port": int64(80)}}}},
		"empty":    map[string]any{},
		"f":        1e21,
	}
	want := `apiVersion: v1
args:
- --v=2
- - 1
  - []
- name: a
  ports:
  - port: 80
data:
  json: '{"a":1}'
  main.conf: |
    a = 1

      b = 2
  more: |+
    x

  none: ""
  open: |-
    no end
    here
empty: {}
f: 1.0e+21
kind: ConfigMap
metadata:
  labels:
    B: b
    a10: "1"
    a9: "yes"
  name: x
`
	if got := roundTrip(t, obj); string(got) != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestEncodeEmpty(t *testing.T) {
	for _, m := range []map[string]any{nil, {}} {
		if got, err := Encode(m); err != nil || string(got) != "{}\n" {
			t.Errorf("Encode(%#v) = %q, %v", m, got, err)
		}
	}
}

func TestEncodeFaults(t *testing.T) {
	for _, c := range []struct {
		v    any
		want string
	}{
		{math.NaN(), "spec.list[1].x: NaN is not a valid JSON number"},
		{math.Inf(-1), "spec.list[1].x: -Inf is not a valid JSON number"},
		{"a\xffb", "spec.list[1].x: the string is not UTF-8 at byte 1"},
		{map[string]any{"\xff": 1}, "spec.list[1].x: the string is not UTF-8 at byte 0"},
		{[]string{"a"}, "spec.list[1].x: a []string is not valid in a Kubernetes object"},
		{json.Number("0x1"), `spec.list[1].x: "0x1" is not a number of 64 bits`},
		{json.Number("1e999"), `spec.list[1].x: "1e999" is not a number of 64 bits`},
		{json.Number("inf"), `spec.list[1].x: "inf" is not a number of 64 bits`},
	} {
		obj := map[string]any{"spec": map[string]any{"list": []any{"ok", map[string]any{"x": c.v}}}}
		_, err := Encode(obj)
		if d, ok := errors.AsType[*diag.Diag](err); !ok || d.Error() != c.want {
			t.Errorf("%#v: got %v, want %s", c.v, err, c.want)
		}
	}
}

// tree makes an object from the bytes of a fuzzer: each byte selects the next
// node, and strings are cut from text.
type tree struct {
	shape []byte
	text  string
}

func (f *tree) next() byte {
	if len(f.shape) == 0 {
		return 0
	}
	b := f.shape[0]
	f.shape = f.shape[1:]
	return b
}

func (f *tree) str() string {
	n := min(int(f.next()), len(f.text))
	s := f.text[:n]
	f.text = f.text[n:] + s
	return strings.ToValidUTF8(s, "\u2028")
}

func (f *tree) value(depth int) any {
	kind := f.next()
	switch n := int(kind>>4)%4 + 1; {
	case kind&7 <= 1 && depth < 6:
		m := map[string]any{}
		for range n {
			m[f.str()] = f.value(depth + 1)
		}
		return m
	case kind&7 == 2 && depth < 6:
		l := []any{}
		for range n {
			l = append(l, f.value(depth+1))
		}
		return l
	case kind&7 == 3:
		return []any{nil, true, false, int64(n), map[string]any{}, []any{}}[int(kind>>3)%6]
	case kind&7 == 4:
		v := math.Float64frombits(uint64(f.next())<<56 | uint64(f.next())<<48 | uint64(f.next())<<4)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return int64(-n)
		}
		return v
	}
	return f.str()
}

func FuzzEncode(f *testing.F) {
	for i, s := range nasty {
		f.Add([]byte{0x00, byte(len(s)), 7, byte(len(s)), 0x32, 7, 1, 0x20, 2, 7, 9}, s)
		f.Add([]byte{0x32, 0x30, byte(len(s)), 2, byte(len(s)), 7, 2}, s+nasty[len(nasty)-1-i])
	}
	f.Fuzz(func(t *testing.T, shape []byte, text string) {
		src := tree{shape, text}
		roundTrip(t, map[string]any{"root": src.value(0), src.str(): src.value(0)})
	})
}

// deployment is a typical object of a chart; n makes it unique.
func deployment(n int) map[string]any {
	labels := func() map[string]any {
		return map[string]any{"app.kubernetes.io/name": "web", "app.kubernetes.io/instance": fmt.Sprint("web-", n), "helm.sh/chart": "web-1.2.3"}
	}
	container := func(name string) map[string]any {
		return map[string]any{
			"name": name, "image": "registry.example.com/team/web:v1.2.3", "imagePullPolicy": "IfNotPresent",
			"args": []any{"--listen=:8080", "--log-level=info", "--config=/etc/web/main.conf"},
			"env": []any{
				map[string]any{"name": "POD", "valueFrom": map[string]any{"fieldRef": map[string]any{"fieldPath": "metadata.name"}}},
				map[string]any{"name": "WORKERS", "value": "4"},
			},
			"ports":          []any{map[string]any{"name": "http", "containerPort": int64(8080), "protocol": "TCP"}},
			"resources":      map[string]any{"limits": map[string]any{"cpu": "500m", "memory": "1Gi"}, "requests": map[string]any{"cpu": "100m", "memory": "128Mi"}},
			"livenessProbe":  map[string]any{"httpGet": map[string]any{"path": "/healthz", "port": "http"}, "periodSeconds": int64(10)},
			"readinessProbe": map[string]any{"httpGet": map[string]any{"path": "/readyz", "port": "http"}, "periodSeconds": int64(10)},
		}
	}
	return map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{
			"name": fmt.Sprint("web-", n), "namespace": "apps", "labels": labels(),
			"annotations": map[string]any{"example.com/config": `{"a":1,"b":[true,"x"]}`, "script": strings.Repeat("echo one; sleep 1\n", 20)},
		},
		"spec": map[string]any{
			"replicas": int64(3), "selector": map[string]any{"matchLabels": labels()},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels()},
				"spec":     map[string]any{"containers": []any{container("web"), container("side")}, "serviceAccountName": "web"},
			},
		},
	}
}

// Measured on a busy core: Encode 120 MB/s, go.yaml.in/yaml/v3 with the same
// layout 14 MB/s (and wrong for a block that starts with a tab),
// sigs.k8s.io/yaml 7 MB/s.
func BenchmarkEncode(b *testing.B) {
	obj := deployment(1)
	for name, encode := range map[string]func() ([]byte, error){
		"bundle": func() ([]byte, error) { return Encode(obj) },
		"yaml3": func() ([]byte, error) {
			var buf bytes.Buffer
			enc := yaml3.NewEncoder(&buf)
			enc.SetIndent(2)
			enc.CompactSeqIndent()
			err := enc.Encode(obj)
			return buf.Bytes(), err
		},
		"sigs": func() ([]byte, error) { return yaml.Marshal(obj) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				text, err := encode()
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(text)))
			}
		})
	}
}
