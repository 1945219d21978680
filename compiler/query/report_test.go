package query

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver"
)

// large returns a report of n clusters with 12 releases each, where many cells are notable.
func large(n int) *Report {
	r := &Report{Fleet: "example.com/large"}
	place := func(file string, line int) *ReportPlace { return &ReportPlace{File: file, Line: line} }
	all := make([]string, n)
	for i := range n {
		all[i] = fmt.Sprintf("prod/region-%02d/cluster-%03d", i/20, i)
	}
	r.Layers = append(r.Layers, ReportLayer{Dir: "environments", Name: "root", Clusters: n, Sets: 400})
	for i, id := range all {
		dir := "environments/" + id
		r.Layers = append(r.Layers, ReportLayer{Dir: dir, Name: id, Parent: "environments", Cluster: id, Clusters: 1, Sets: 12, Place: place(dir+"/cluster.cue", 1)})
		c := ReportCluster{ID: id, Environment: fmt.Sprintf("prod-%d", i%4), Kubernetes: "1.36", Place: place(dir+"/cluster.cue", 3), Stages: []string{"base", "apps"}}
		for j := range 12 {
			cell := ReportCell{Release: fmt.Sprintf("release-%02d", j), Version: fmt.Sprintf("%d.%d.0", j+1, i%3), Source: fmt.Sprintf("https://charts.example.com/release-%02d", j), PinnedAt: place("environments/fleet.cue", 10+j), Namespace: "apps", Stage: "apps", Differs: i % 5, Waivers: j % 2}
			if i%3 == 0 {
				cell.Newest = "99.0.0"
			}
			c.Releases = append(c.Releases, cell)
		}
		r.Clusters = append(r.Clusters, c)
	}
	for j := range 12 {
		name := fmt.Sprintf("release-%02d", j)
		r.Waivers = append(r.Waivers, ReportWaiver{Kind: PlaintextWaiver, Release: name, Name: "Secret/a", Reason: "a reason", Place: place("environments/fleet.cue", 40+j), Clusters: all})
		for k := range 40 {
			v := ReportValue{Release: name, Path: fmt.Sprintf("part%d.image.value%d", k%7, k), Lines: []ReportValueLine{{Layer: "environments", Value: fmt.Sprintf("value-%d-%d", j, k), Place: place("environments/fleet.cue", 100+k), Effective: all}}}
			if k < 2 { // each cluster has a value
				v.Lines[0].Overridden, v.Lines[0].Effective = all, nil
				for _, id := range all {
					v.Lines = append(v.Lines, ReportValueLine{Layer: "environments/" + id, Value: "host." + id + ".example.com", Place: place("environments/"+id+"/cluster.cue", 5+j), Effective: []string{id}})
				}
			}
			r.Values = append(r.Values, v)
		}
		for e := range 4 {
			for k := range 3 {
				d := ReportDifference{Environment: fmt.Sprintf("prod-%d", e), Release: name, Part: "value", Path: fmt.Sprintf("part.value%d", k)}
				for i := e; i < n; i += 4 {
					d.Variants = append(d.Variants, ReportVariant{Value: "host." + all[i] + ".example.com", Clusters: []string{all[i]}, Differs: true, Places: []ReportPlace{*place("environments/"+all[i]+"/cluster.cue", 9)}})
				}
				r.Differences = append(r.Differences, d)
			}
		}
	}
	return r
}

// The page of 200 clusters with 12 releases each is less than 3 MB.
func TestPageSize(t *testing.T) {
	text, err := large(200).HTML()
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 3<<20 {
		t.Errorf("the page has %d bytes", len(text))
	}
	t.Logf("%d bytes", len(text))
	again, err := large(200).HTML()
	if err != nil || !bytes.Equal(text, again) {
		t.Errorf("equal facts give other bytes, %v", err)
	}
}

// The page has no other style and script than those that its policy allows by their hashes,
// and loads nothing.
func TestPagePolicy(t *testing.T) {
	text, err := large(2).HTML()
	if err != nil {
		t.Fatal(err)
	}
	policy := regexp.MustCompile(`content="(default-src[^"]*)"`).FindSubmatch(text)
	if policy == nil || !bytes.HasPrefix(policy[1], []byte("default-src &#39;none&#39;;")) && !bytes.HasPrefix(policy[1], []byte("default-src 'none';")) {
		t.Fatalf("the policy is %s", policy)
	}
	for _, tag := range []string{"style", "script"} {
		found := regexp.MustCompile(`(?s)<`+tag+`>(.*?)</`+tag+`>`).FindAllSubmatch(text, -1)
		if len(found) != 1 || !bytes.Contains(bytes.ReplaceAll(policy[1], []byte("&#43;"), []byte("+")), []byte(contentHash(string(found[0][1])))) {
			t.Errorf("the policy %s does not allow the %s, of which there are %d", policy[1], tag, len(found))
		}
	}
	for _, re := range []string{`\sstyle=`, `\son[a-z]+=`, `(src|srcset|action)=`, `<(link|img|iframe|object|embed|base)\b`, `url\(`, `@import`} {
		if found := regexp.MustCompile(re).FindAll(text, -1); found != nil {
			t.Errorf("%s matches %q", re, found)
		}
	}
}

// Hostile names are texts in the page and in Markdown.
func TestHostileNames(t *testing.T) {
	hostile := "</script><script>alert(1)</script>\"'`|[a](javascript:b)\u202e\u200f@all\n# c" + strings.Repeat("x", 200)
	r := large(2)
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.String:
			if v.CanSet() && v.String() != "environments" {
				v.SetString(v.String() + hostile)
			}
		case reflect.Pointer:
			fill(v.Elem())
		case reflect.Slice:
			for i := range v.Len() {
				fill(v.Index(i))
			}
		case reflect.Struct:
			for i := range v.NumField() {
				if v.Type().Field(i).Name != "Link" { // made of a checked template
					fill(v.Field(i))
				}
			}
		}
	}
	for i := range r.Clusters {
		r.Clusters[i].Live = &ReportLiveState{Commit: "a", Faults: []string{"b"}, Findings: []ReportLiveFinding{{"a", "orphaned", nil, nil}}}
		r.Clusters[i].Releases[0].Changes = []ReportChange{{"update", "a", "c", []string{"b"}}}
		r.Clusters[i].Releases[0].Findings = []ReportLiveFinding{{"a", "changed", []string{"b"}, []string{"c"}}}
	}
	r.Waves = []ReportWave{{Name: "a", Approve: "b"}}
	r.Wiring = []ReportWire{{From: r.Clusters[0].Releases[0].Release, To: r.Clusters[0].Releases[1].Release, Kind: ReferenceWire}}
	r.Images, r.CRDs = []ReportImage{{Repository: "a"}}, []ReportCRD{{Name: "a"}}
	var copied Report // large shares lists
	data, err := json.Marshal(r)
	if err == nil {
		err = json.Unmarshal(data, &copied)
	}
	if r = &copied; err != nil {
		t.Fatal(err)
	}
	fill(reflect.ValueOf(r).Elem())
	makePrintable(reflect.ValueOf(r).Elem())
	text, err := r.HTML()
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte("<script")); n != 2 {
		t.Errorf("the page has %d scripts", n)
	}
	var markdown bytes.Buffer
	if err := WriteReportMarkdown(&markdown, r); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []string{"\u202e", "\u200f"} {
		if bytes.Contains(text, []byte(wrong)) || strings.Contains(markdown.String(), wrong) {
			t.Errorf("%q is in the report", wrong)
		}
	}
	for _, wrong := range []string{"<script", "](javascript", "@all", "\n# c", "`"} {
		if strings.Contains(markdown.String(), wrong) {
			t.Errorf("Markdown has %q", wrong)
		}
	}
}

// A value is hidden that a Secret has as a whole, as a part, or that has a secret in it.
func TestSecretTexts(t *testing.T) {
	s := newSecretTexts()
	s.add(fleet.Object{Unstructured: &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"stringData": map[string]any{
			"a": "token123\n", "pin": "42", "db": "postgres://web:swordfish@db",
			"url": "x://web:p%40ss%2Fword@db", "auth": `{"auths":{"registry":{"auth":"d2ViOnB1bGxwYXNz"}}}`, "json": `{"a":"pa\"ss\\\\word"}`, "pem": "a:\n  key: |\n    -----BEGIN KEY-----\n    MIIEvQIBADANBgkqhkiG\n",
		},
		"data": map[string]any{"b": "aHVudGVyMjI="}, // hunter22
	}}})
	for _, c := range []struct {
		value any
		want  string
	}{
		{"token123", hidden},
		{"swordfish", hidden},
		{"hunter22", hidden},
		{"user:hunter22", hidden},
		{map[string]any{"a": []any{"x", "swordfish"}}, hidden},
		{json.Number("42"), hidden},
		{"c3dvcmRmaXNo", hidden},       // swordfish
		{"d2ViOnN3b3JkZmlzaA", hidden}, // web:swordfish
		{"dG9rZW4xMjM=", hidden},       // token123
		{"pullpass", hidden},           // in base64 in a text
		{"p@ss/word", hidden},
		{`pa"ss\\word`, hidden},
		{"-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\n", hidden},
		{map[string]any{"token123": "x"}, hidden},
		{map[string]any{"postgres": "x"}, `{"postgres":"x"}`},
		{"db", "db"},
		{int64(3), "3"},
		{"other", "other"},
	} {
		if got := s.text(c.value); got != c.want {
			t.Errorf("%v is shown as %s, want %s", c.value, got, c.want)
		}
	}
}

// A release is outdated if another cluster has a newer version of its chart.
func TestNewerVersions(t *testing.T) {
	chart := func(version string) fleet.ChartRef {
		return fleet.ChartRef{Repo: "https://charts.example.com", Name: "a", Version: version}
	}
	f := &compiler.Fleet{Fleet: &fleet.Fleet{Clusters: []*fleet.Cluster{
		{ID: "a", Releases: []*fleet.Release{{Name: "a", Chart: chart("1.9.0")}, {Name: "b", Jsonnet: "b.jsonnet"}}},
		{ID: "b", Releases: []*fleet.Release{{Name: "a", Chart: chart("1.10.0")}}},
	}}}
	m := newMaker(f, linker{})
	for _, c := range f.Clusters {
		m.addCluster(c)
	}
	if err := m.newerVersions(t.Context(), nil, ReportRequest{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ cluster, release, want string }{{"a", "a", "1.10.0"}, {"a", "b", ""}, {"b", "a", ""}} {
		if got := m.cell(c.cluster, c.release).Newest; got != c.want {
			t.Errorf("%s in %s has the newer version %q, want %q", c.release, c.cluster, got, c.want)
		}
	}
}

// Links escape file names, and only addresses of the web are templates.
func TestLinks(t *testing.T) {
	l, err := newLinker("https://forge.example/{file}?plain=1#L{line}")
	if err != nil {
		t.Fatal(err)
	}
	if got := l.link("a b/c#d?.cue", 3); got != "https://forge.example/a%20b/c%23d%3F.cue?plain=1#L3" {
		t.Errorf("got %s", got)
	}
	for _, wrong := range []string{"javascript:{file}", "data:text/html,{file}", "//forge/{file}", "https:{file}", "https://forge.example/", "{file}", "https://forge.example{file}", "https://{file}/a"} {
		if _, err := newLinker(wrong); err == nil {
			t.Errorf("%s is a template", wrong)
		}
	}
	if _, err := newLinker("https://user:hunter22@forge.example/{file}"); err == nil || strings.Contains(err.Error(), "hunter22") {
		t.Errorf("credentials in a template: %v", err)
	}
}

// An interrupted report is not a report without the running clusters.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, fstest.MapFS{
		"cue.mod/module.cue": {Data: []byte("module: \"example.com/infra\"\nlanguage: version: \"v0.17.0\"\n")},
		"environments/fleet.cue": {Data: []byte(`package fleet

import "github.com/fleetc/fleetc/schema"

cluster?: schema.#Cluster
releases: schema.#Releases
stages:   schema.#Stages
`)},
		"environments/a/cluster.cue": {Data: []byte("package fleet\n\ncluster: {name: \"a\", kubernetes: \"1.36\"}\n")},
	}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	made, err := MakeReport(ctx, &compiler.Compiler{Dir: dir}, ReportRequest{Live: &deliver.DriftRequest{Timeout: time.Minute, Each: func(int) { cancel() }}})
	if made != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v", made, err)
	}
}

// WriteReportFile keeps symbolic links and permissions, and CheckReportFile refuses to replace
// a device or a directory.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "a.html"), filepath.Join(dir, "latest.html")
	if err := errors.Join(os.WriteFile(file, []byte("old"), 0o600), os.Symlink("a.html", link), os.Chmod(file, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := WriteReportFile(link, large(1)); err != nil {
		t.Fatal(err)
	}
	if target, err := os.Readlink(link); err != nil || target != "a.html" {
		t.Errorf("the link leads to %q, %v", target, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 || info.Size() < 1000 {
		t.Errorf("the file is %v, %v", info, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("the directory has %v, %v", left, err)
	}
	root := t.TempDir()
	if err := os.CopyFS(root, fstest.MapFS{"cue.mod/module.cue": {Data: []byte("module: \"example.com/infra\"\nlanguage: version: \"v0.17.0\"\n")}}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{os.DevNull: "is not a regular file", dir: "is a directory"} {
		if err := CheckReportFile(&compiler.Compiler{Dir: root}, path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

// Each layer counts once for a value, also if its first line has an unknown value or is
// overridden.
func TestCountLayers(t *testing.T) {
	layer := func(dir string) ReportLayer { return ReportLayer{Dir: dir} }
	m := &maker{Report: &Report{
		Layers: []ReportLayer{layer("environments"), layer("environments/prod"), layer("environments/prod/us")},
		Values: []ReportValue{
			{Path: "replicas", Lines: []ReportValueLine{
				{Layer: "environments", Value: "(pinned by values)", Overridden: []string{"prod/us"}},
				{Layer: "environments", Value: "2", Overridden: []string{"prod/eu"}},
				{Layer: "environments/prod", Value: "(pinned by values)", Overridden: []string{"prod/us"}},
				{Layer: "environments/prod", Value: "3", Effective: []string{"prod/eu"}},
				{Layer: "environments/prod/us", Value: "5", Effective: []string{"prod/us"}},
			}},
			{Path: "pinned", Lines: []ReportValueLine{
				{Layer: "environments", Value: "1", Effective: []string{"prod/eu", "prod/us"}},
				{Layer: "environments/prod", Value: "(pinned by values)", Overridden: []string{"prod/eu", "prod/us"}},
			}},
		},
	}}
	m.countLayers()
	for i, want := range []ReportLayer{
		{Dir: "environments", Sets: 2, Overridden: 1},
		{Dir: "environments/prod", Sets: 2, Overrides: 1, Overridden: 1},
		{Dir: "environments/prod/us", Sets: 1, Overrides: 1},
	} {
		if m.Layers[i] != want {
			t.Errorf("got %+v, want %+v", m.Layers[i], want)
		}
	}
}

// A waiver whose reason or end depends on the cluster is shown once for each of them.
func TestWaiverOfCluster(t *testing.T) {
	pos := diag.Pos{File: "environments/fleet.cue", Line: 3, Col: 1}
	m := newMaker(&compiler.Fleet{Fleet: &fleet.Fleet{}}, linker{})
	for _, id := range []string{"a", "b", "c"} {
		reason := "needed by a and b"
		if id == "c" {
			reason = "needed by c"
		}
		m.addWaiver(&fleet.Cluster{ID: id}, ReportWaiver{Kind: PolicyWaiver, Release: "web", Name: "replicas: a", Reason: reason}, pos)
	}
	m.countWaivers()
	var got []string
	for _, w := range m.Waivers {
		got = append(got, w.Reason+": "+strings.Join(w.Clusters, ","))
	}
	if want := []string{"needed by a and b: a,b", "needed by c: c"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
