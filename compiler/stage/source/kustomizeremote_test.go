package source

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// A trap counts the connections to a server, and has a git in front of the
// PATH that leaves a file when it is run.
type trap struct {
	url         string
	connections atomic.Int32
	ran         string
}

func newTrap(t *testing.T) *trap {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	tr := &trap{url: "http://" + listener.Addr().String(), ran: filepath.Join(dir, "ran")}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			tr.connections.Add(1)
			c.Close()
		}
	}()
	script := "#!/bin/sh\n: >'" + tr.ran + "'\nexit 1\n"
	for _, program := range []string{"git", "helm", "docker", "plugin"} {
		if err := os.WriteFile(filepath.Join(dir, program), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	t.Setenv("KUSTOMIZE_PLUGIN_HOME", dir)
	return tr
}

func (tr *trap) sprung() bool {
	_, err := os.Stat(tr.ran)
	return err == nil || tr.connections.Load() > 0
}

// places are kustomizations with an address at a place that kustomize loads.
var places = map[string]string{
	"resources":      "resources: [ADDRESS]",
	"case":           "Resources: [ADDRESS]",
	"merge":          "<<: {resources: [ADDRESS]}",
	"bases":          "bases: [ADDRESS]",
	"components":     "components: [ADDRESS]",
	"crds":           "crds: [ADDRESS]",
	"configurations": "configurations: [ADDRESS]",
	"openapi":        "openapi: {path: ADDRESS}",
	"patches":        "patches: [{path: ADDRESS}]",
	"strategic":      "patchesStrategicMerge: [ADDRESS]",
	"json":           "patchesJson6902: [{path: ADDRESS, target: {version: v1, kind: A, name: a}}]",
	"replacements":   "replacements: [{path: ADDRESS}]",
	"files":          "configMapGenerator: [{name: a, files: [ADDRESS]}]",
	"keyed":          "configMapGenerator: [{name: a, files: ['k=ADDRESS']}]",
	"envs":           "configMapGenerator: [{name: a, envs: [ADDRESS]}]",
	"env":            "secretGenerator: [{name: a, env: ADDRESS}]",
	"secret":         "secretGenerator: [{name: a, files: [ADDRESS]}]",
	"generators":     "generators: [ADDRESS]",
	"transformers":   "transformers: [ADDRESS]",
	"validators":     "validators: [ADDRESS]",
	"charts":         "helmCharts: [{name: a, repo: ADDRESS, version: 1.0.0}]",
	"old charts":     "helmChartInflationGenerator: [{chartName: a, chartRepoUrl: ADDRESS}]",
	"in a base":      "resources: [../base]\n-- base/kustomization.yaml --\nresources: [ADDRESS]",
	"made":           "generators:\n- '{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: a}, Files: [ADDRESS]}'",
	"made of env":    "generators:\n- '{apiVersion: builtin, kind: SecretGenerator, metadata: {name: a}, envs: [ADDRESS]}'",
	"made of chart":  "generators:\n- '{apiVersion: builtin, kind: HelmChartInflationGenerator, metadata: {name: a}, name: a, repo: ADDRESS}'",
	"patch":          "transformers:\n- '{apiVersion: builtin, kind: PatchTransformer, metadata: {name: a}, PATH: ADDRESS}'",
	"patch in file":  "transformers: [t.yaml]\n-- app/t.yaml --\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: builtin, kind: PatchJson6902Transformer, metadata: {name: a}, target: {name: a}, path: ADDRESS}",
	"patch in list":  "validators:\n- '{apiVersion: builtin, kind: PatchStrategicMergeTransformer, metadata: {name: a}, paths: [ADDRESS]}'",
	"replacement":    "transformers:\n- '{apiVersion: builtin, kind: ReplacementTransformer, metadata: {name: a}, replacements: [{path: ADDRESS}]}'",
	"value":          "transformers:\n- '{apiVersion: builtin, kind: ValueAddTransformer, metadata: {name: a}, value: x, targetFilePath: ADDRESS}'",
	"not inline":     "generators:\n- |-\n  ADDRESS\n  [",
	"executed":       "generators:\n- |-\n  apiVersion: example.com/v1\n  kind: Plugin\n  metadata:\n    name: a\n    annotations: {config.kubernetes.io/function: 'exec: {path: plugin}'}",
	"container":      "transformers:\n- |-\n  apiVersion: example.com/v1\n  kind: Plugin\n  metadata:\n    name: a\n    annotations: {config.kubernetes.io/function: 'container: {image: ADDRESS, network: true}'}",
	"directory":      "transformers: [../base]\n-- base/kustomization.yaml --\nresources: [t.yaml]\npatches: [{target: {kind: PatchTransformer}, patch: '[{\"op\": \"add\", \"path\": \"/path\", \"value\": \"ADDRESS\"}]'}]\n-- base/t.yaml --\n{apiVersion: builtin, kind: PatchTransformer, metadata: {name: a}}",
}

// TestNothingIsFetched holds every place to being a fault before kustomize
// sees it.
func TestNothingIsFetched(t *testing.T) {
	tr := newTrap(t)
	addresses := []string{
		tr.url + "/x.yaml", strings.ToUpper(tr.url[:4]) + tr.url[4:] + "/a/b", tr.url + "/a/b?ref=v1", "git::" + tr.url + "/a/b",
		"git@127.0.0.1:a/b", "ssh://git@127.0.0.1/a/b", "file:///a/b.git//c", "github.com/a/b", "GitHub.com:a/b", "me@host/a/b", "http:x",
	}
	for place, text := range places {
		for _, address := range addresses {
			archive := "-- app/kustomization.yaml --\n" + strings.ReplaceAll(text, "ADDRESS", address) + "\n"
			objs, _, err := BuildKustomization(t.Context(), unpack(t, []byte(archive)), "app", release(), KustomizeInputs{})
			if err == nil || len(objs) > 0 {
				t.Errorf("%s of %s is no fault", place, address)
			}
			if got := faults(t, err); !strings.Contains(got, "remote") && strings.Contains(text, "ADDRESS") && strings.Contains(got, "does not exist") {
				t.Errorf("%s of %s:\n%s", place, address, got)
			}
		}
	}
	if tr.sprung() {
		t.Fatal("a build ran git or opened a connection")
	}
	// The trap has bite: kustomize itself steps into it.
	for _, address := range addresses[:2] {
		root := unpack(t, []byte("-- app/kustomization.yaml --\nresources: ['"+address+"']\n"))
		options := krusty.MakeDefaultOptions()
		if _, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), filepath.Join(root, "app")); err == nil {
			t.Fatal("kustomize fetched something")
		}
	}
	if _, err := os.Stat(tr.ran); err != nil || tr.connections.Load() == 0 {
		t.Error("kustomize did not try: the test has no bite")
	}
}

// FuzzRemote holds remote to saying so of everything that kustomize would
// fetch.
func FuzzRemote(f *testing.F) {
	for _, seed := range []string{
		"", "a", "../a", "a@b", "git@host:a/b", "https://h/a", "HTTPS:/a/b", "http:a", "github.com/a/b", "github.com:a", "git::a@b:c/d", "file:///a",
		"ssh://a/b/c", "a_b@c:d/e", "a//b", "x.git/y", "\u212Aa@b:c", "GIT::https://a/b/c", " https://a/b/c", "hTTp://a\x00",
	} {
		f.Add(seed)
	}
	f.Setenv("PATH", f.TempDir())
	f.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	f.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	// The words that are looked for below are those of an address.
	disk := filesys.MakeFsInMemory()
	if err := disk.WriteFile("/app/kustomization.yaml", []byte("resources: [github.com/a/b]")); err != nil {
		f.Fatal(err)
	}
	if _, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(disk, "/app"); err == nil || !strings.Contains(err.Error(), "no 'git' program") {
		f.Fatalf("kustomize says of git: %v", err)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if remote(name) {
			return
		}
		text, err := json.Marshal(map[string]any{"resources": []string{name}, "configMapGenerator": []any{map[string]any{"name": "a", "files": []string{name}}}})
		if err != nil {
			return
		}
		disk := filesys.MakeFsInMemory()
		if err := disk.WriteFile("/app/kustomization.yaml", text); err != nil {
			t.Fatal(err)
		}
		_, err = krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(disk, "/app")
		if err == nil {
			return
		}
		for _, tried := range []string{"no 'git' program", "Get \"", "HTTP Error"} {
			if strings.Contains(err.Error(), tried) && !strings.Contains(name, tried) {
				t.Errorf("%q is fetched: %v", name, err)
			}
		}
	})
}
