package main

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/testdata/fleets"
)

// lspRenameFleet has references to a release, a stage and a layer.
var lspRenameFleet = func() map[string]string {
	files := maps.Clone(lspActionFleet)
	files["environments/fleet.cue"] = strings.Replace(files["environments/fleet.cue"], "releases: web: {", `releases: front: {
	defaults: root: name: "x-\(releases.front.namespace)"`, 1) + `policies: named: {message: "has a name", match: releases: ["front", "b*"], object: metadata: name: string, object: {...}}
policies: raw: {message: "x", match: releases: [#"front"#], object: {...}}
releases: zed: {namespace: releases["front"].namespace, stage: "main", objects: [{apiVersion: "v1", kind: "ConfigMap", metadata: name: "zed"}]}
releases: zed: depends: front: true
releases: zed: clusters: ids: ["dev/one", "dev/*"]
actions: check: {stage: "main", at: "after", manual: "look"}
releases: names: {namespace: "a", stage: "network", objects: [for name, r in releases if name == "front" && "front" == name {apiVersion: "v1", kind: "ConfigMap", metadata: "name": "of-\(r.namespace)"}]}
`
	files["environments/dev/env.cue"] += "releases: \"front\": defaults: dev: replicas: 2\nreleases: front: overridden: dev: port: \"it stays\"\nreleases: front: defaults: \"dev\": port: 1\n"
	for _, name := range []string{"one", "two"} {
		files["environments/dev/"+name+"/cluster.cue"] += "releases: front: defaults: " + name + ": port: 2\ncluster: labels: own: \"\\(releases.front.defaults.dev.replicas + releases.front.defaults." + name + ".port)\"\n"
	}
	files["parts/own/own.cue"] = "package own\n\n#Release: {stage: \"main\", objects: [{apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"part\"}], ...}\n"
	files["environments/own.cue"] = "package fleet\n\nimport \"example.com/small/parts/own\"\n\nreleases: \"own\": own.#Release & {namespace: \"a\"}\n"
	files["rules/compare.cue"] = "package rules\n\ndifferences: same: {between: [\"dev\"], allow: {releases: [\"front\"], values: [\"front.replicas\", \"zed\"]}}\n"
	return files
}()

func lspRename(c *lspClient, file, text, mark, name string) (*lspEdit, error) {
	before := text[:strings.Index(text, mark)+len(mark)]
	params := map[string]any{
		"textDocument": map[string]any{"uri": "file://" + file}, "newName": name,
		"position": map[string]any{"line": strings.Count(before, "\n"), "character": len(before) - strings.LastIndexByte(before, '\n') - 2},
	}
	var prepared *struct{ Placeholder string }
	if err := c.ask("textDocument/prepareRename", params, &prepared); err != nil {
		return nil, err
	}
	var edit *lspEdit
	err := c.ask("textDocument/rename", params, &edit)
	if err == nil && prepared == nil {
		c.Error("prepareRename finds nothing")
	}
	return edit, err
}

// fleetcOutput returns the output of a command that succeeds.
func fleetcOutput(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("fleetc", append([]string{"-C", dir, "--offline", "--cache-dir", t.TempDir()}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("fleetc %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// A rename updates all references, including those in unsaved files, and the fleet has the
// same objects.
func TestLSPRename(t *testing.T) {
	const root, env, one = "environments/fleet.cue", "environments/dev/env.cue", "environments/dev/one/cluster.cue"
	for name, test := range map[string]struct{ file, mark, as, old, next, gone string }{
		"release":          {root, "releases: front", "gate", "front", "gate", "front"},
		"by a reference":   {root, "(releases.front", "gate", "front", "gate", "front"},
		"by a dependency":  {root, "depends: front", "my-gate", "front", "my-gate", "front"},
		"by a rule":        {root, `releases: ["front"`, "gate", "front", "gate", "front"},
		"stage":            {root, `name: "main"`, "apps", "", "", `"main"`},
		"by a release":     {root, `stage:     "main"`, "apps", "", "", `"main"`},
		"like its package": {"environments/own.cue", `"own"` + ":", "owned", "own", "owned", `"own":`},
		"layer":            {env, "defaults: dev", "staging", "dev/", "staging/", "dev/"},
		"cluster":          {one, "defaults: one", "first", "dev/one", "dev/first", "defaults: one"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			fleets.Write(t, dir, lspRenameFleet)
			texts := map[string]string{}
			c := startLSPWith(t, lspDocumentChanges, "--offline")
			for _, name := range []string{root, test.file} {
				file := filepath.Join(dir, name)
				texts[file] = lspRenameFleet[name]
				c.open(file, texts[file])
			}
			unsaved := filepath.Join(dir, root)
			texts[unsaved] += "releases: other: {namespace: releases.front.namespace, stage: \"main\", objects: [{apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"other\"}], depends: front: true, clusters: ids: [\"dev/one\"]}\n"
			c.change(unsaved, map[string]any{"text": texts[unsaved]})
			if len(c.faults) > 0 {
				t.Fatal(c.all())
			}
			edit, err := lspRename(c, filepath.Join(dir, test.file), texts[filepath.Join(dir, test.file)], test.mark, test.as)
			if err != nil {
				t.Fatal(err)
			}
			fleets.Write(t, dir, map[string]string{root: texts[unsaved]})
			want := ""
			for _, id := range []string{"dev/one", "dev/two"} {
				want += fleetcOutput(t, dir, "build", id)
			}
			for _, change := range edit.DocumentChanges {
				if change.Kind != "rename" {
					file := strings.TrimPrefix(change.TextDocument.URI, "file://")
					text := texts[file]
					if text == "" {
						data, err := os.ReadFile(file)
						if err != nil {
							t.Fatal(err)
						}
						text = string(data)
					} else if change.TextDocument.Version == nil || *change.TextDocument.Version != c.versions[file] {
						t.Errorf("an edit of version %v of %s", change.TextDocument.Version, file)
					}
					text = edited(text, change.Edits)
					if strings.Contains(text, test.gone) {
						t.Errorf("%s mentions %s:\n%s", file, test.gone, text)
					}
					if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				} else if err := os.Rename(strings.TrimPrefix(change.OldURI, "file://"), strings.TrimPrefix(change.NewURI, "file://")); err != nil {
					t.Fatal(err)
				}
			}
			fleetcOutput(t, dir, "vet", "--render")
			got := ""
			for _, id := range []string{"dev/one", "dev/two"} {
				if strings.HasPrefix(id, test.old) {
					id = strings.Replace(id, test.old, test.next, 1)
				}
				got += fleetcOutput(t, dir, "build", id)
			}
			if test.old != "" {
				want = strings.ReplaceAll(want, " "+test.old, " "+test.next)
			}
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// A rename that would miss a reference is refused.
func TestLSPRenameRefused(t *testing.T) {
	const root, env = "environments/fleet.cue", "environments/dev/env.cue"
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	fleets.Write(t, dir, lspRenameFleet)
	c := startLSPWith(t, lspDocumentChanges, "--offline")
	for _, name := range []string{root, env} {
		c.open(filepath.Join(dir, name), lspRenameFleet[name])
	}
	for name, test := range map[string]struct{ file, line, mark, as, want string }{
		"computed release":    {env, `releases: "\("fro" + "nt")": values: replicas: 2`, `releases: "front`, "gate", "environments/dev/env.cue:7:11: an expression computes the name of a release here"},
		"computed dependency": {env, `releases: zed: depends: "\("fro" + "nt")": true`, `releases: "front`, "gate", "an expression computes the name of a release here"},
		"computed stage":      {env, `releases: more: {namespace: "a", objects: [{apiVersion: "v1", kind: "ConfigMap", metadata: name: "more"}], stage: "ma" + "in"}` + "\n" + `releases: last: {namespace: "a", objects: [{apiVersion: "v1", kind: "ConfigMap", metadata: name: "last"}], stage: "main"}`, `stage: "main"`, "apps", "the fleet would have a fault: environments/dev/env.cue:7"},
		"computed cluster":    {env, `releases: more: {namespace: "a", objects: [{apiVersion: "v1", kind: "ConfigMap", metadata: name: "more"}], stage: "main", clusters: ids: ["\("de" + "v")/one"]}`, "defaults: dev", "staging", "an expression computes the name of a layer or a cluster here"},
		"pattern":             {env, `policies: named: match: releases: ["front", "b*"]` + "\n" + `policies: more: {message: "x", match: releases: ["fr*"], object: {...}}`, `releases: "front`, "gate", "the pattern matches only one of front and gate"},
		"shared pattern":      {env, `releases: frame: {namespace: "a", stage: "main", objects: [{apiVersion: "v1", kind: "ConfigMap", metadata: name: "frame"}]}` + "\n" + `policies: more: {message: "x", match: releases: ["fr*"], object: {...}}`, `releases: "front`, "gate", "environments/dev/env.cue:8:50: the pattern matches only one of front and gate"},
		"new pattern":         {env, `policies: more: {message: "x", match: releases: ["front", "ga*"], object: {...}}`, `releases: "front`, "gate", "environments/dev/env.cue:7:59: the pattern matches only one of front and gate"},
		"computed pattern":    {env, `releases: frame: {namespace: "a", stage: "main", objects: [{apiVersion: "v1", kind: "ConfigMap", metadata: name: "frame"}]}` + "\n" + `_f: "fr"` + "\n" + `policies: more: {message: "x", match: releases: ["\(_f)*"], object: {...}}`, `releases: "front`, "gate", "environments/dev/env.cue:9:50: the pattern matches only one of front and gate"},
		"compared":            {env, `_f: "fro" + "nt"` + "\n" + `releases: more: {namespace: "a", objects: [{apiVersion: "v1", kind: "ConfigMap", metadata: name: "y"}, for name, r in releases if name == _f {apiVersion: "v1", kind: "ConfigMap", metadata: "name": "x"}]}`, `releases: "front`, "gate", "environments/dev/env.cue:8:11: the rename would change releases.more.objects: an expression computes the name front"},
		"looked up":           {env, `_f: {front: "x"}` + "\n" + `releases: zed: values: {for name, r in releases if _f[name] != _|_ {a: name}}`, `releases: "front`, "gate", "environments/dev/env.cue:8:16: the rename would change releases.zed.values: an expression computes the name front"},
		"taken":               {env, "", `releases: "front`, "base", "a release is already called base"},
		"invalid":             {env, "", `releases: "front`, "A B", "the fleet would have a fault"},
		"faults":              {env, "releases: front: x: 1", `releases: "front`, "gate", "the fleet has faults"},
		"directory":           {env, "", "defaults: dev", "../x", "is not a valid name of a layer"},
		"nothing":             {env, "", "environment", "x", "put the cursor on the name"},
		"root layer":          {root, "", "defaults: root", "x", "the root layer is the directory environments, which has a fixed name"},
		"computed layer":      {env, `_layer: "dev"` + "\n" + `cluster: labels: x: "\(releases.front.defaults[_layer].replicas)"`, "defaults: dev", "staging", "environments/dev/env.cue:8:48: an expression computes the name of a layer or a cluster here"},
		"compared layer":      {env, `releases: zed: values: {for name, d in releases.front.defaults if name == "dev" {a: d.replicas}}`, "defaults: dev", "staging", "environments/dev/env.cue:7:16: the rename would change releases.zed.values: an expression computes the name dev"},
		"empty":               {env, "", `releases: "front`, "", "the new name of the release is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			c.T = t
			file := filepath.Join(dir, test.file)
			text := lspRenameFleet[test.file] + test.line + "\n"
			c.change(file, map[string]any{"text": text})
			if _, err := lspRename(c, file, text, test.mark, test.as); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, not %q; faults %v", err, test.want, c.all())
			}
		})
		c.change(filepath.Join(dir, test.file), map[string]any{"text": lspRenameFleet[test.file]})
	}
	c.T = t
	fleets.Write(t, dir, map[string]string{"rules/more.cue": "package rules\n\ndifferences: more: {between: [\"dev\"], allow: values: [\"fr*.replicas\"]}\n"})
	if _, err := lspRename(c, filepath.Join(dir, env), lspRenameFleet[env], `releases: "front`, "gate"); err == nil || !strings.Contains(err.Error(), "rules/more.cue:3:55: the pattern matches only one of front and gate") {
		t.Errorf("a pattern of allowed differences: %v", err)
	}
	fleets.Write(t, dir, map[string]string{
		"environments/embeds.cue":    "@extern(embed)\npackage fleet\n\n_of: _ @embed(file=dev/part.json)\n",
		"environments/dev/part.json": "{}",
	})
	if _, err := lspRename(c, filepath.Join(dir, env), lspRenameFleet[env], "defaults: dev", "staging"); err == nil || !strings.Contains(err.Error(), "the fleet would have a fault: environments/embeds.cue:4:8: @embed names a file that does not exist") {
		t.Errorf("an embedded file of the layer: %v; faults %v", err, c.all())
	}
	fleets.Write(t, dir, map[string]string{
		"environments/more.cue":          "package fleet\n\nif environment == \"dev\" {\n\tcluster: labels: more: \"\\(releases.front.defaults.dev.replicas)\"\n}\nenvironment: string | *\"other\"\n",
		"environments/x/dev/cluster.cue": "package fleet\n\ncluster: {name: \"x\", kubernetes: \"1.36\"}\nreleases: front: values: {port: 1, replicas: 1}\n",
	})
	if _, err := lspRename(c, filepath.Join(dir, env), lspRenameFleet[env], "defaults: dev", "staging"); err == nil || !strings.Contains(err.Error(), "environments/more.cue:4:28: this refers to each layer called dev: rename by hand") {
		t.Errorf("a reference to the defaults of two layers: %v; faults %v", err, c.all())
	}
	early := startLSPWith(t, lspDocumentChanges, "--offline")
	broken := lspRenameFleet[env] + "releases: front: x: 1\n"
	early.notify("textDocument/didOpen", map[string]any{"textDocument": lspDocument(filepath.Join(dir, env), 1, broken)})
	if _, err := lspRename(early, filepath.Join(dir, env), broken, "defaults: dev", "staging"); err == nil || !strings.Contains(err.Error(), "the fleet has faults") {
		t.Errorf("a layer before the first check: %v", err)
	}
	plain := startLSP(t)
	plain.open(filepath.Join(dir, env), lspRenameFleet[env])
	if _, err := lspRename(plain, filepath.Join(dir, env), lspRenameFleet[env], "defaults: dev", "staging"); err == nil || !strings.Contains(err.Error(), "cannot rename directories") {
		t.Errorf("a client without rename operations: %v", err)
	}
}

// The rename of a layer copies only files that the fleet may read, and refuses to copy too many.
func TestLSPRenameRepository(t *testing.T) {
	const env = "environments/dev/env.cue"
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(top, "fleet")
	fleets.Write(t, dir, lspRenameFleet)
	large := func(name string) {
		if err := errors.Join(os.WriteFile(name, nil, 0o644), os.Truncate(name, 1<<30+1)); err != nil {
			t.Fatal(err)
		}
	}
	large(filepath.Join(top, "large"))
	fleets.Write(t, top, map[string]string{
		".git/HEAD":                           "ref: refs/heads/main\n",
		"shared/templates/more.yaml":          "-> ../more.txt",
		"shared/more.txt":                     "{{ .Values.more }}\n",
		"fleet/charts/web/templates/own.yaml": "-> ../../../../shared/templates/more.yaml",
		"lib":                                 "-> libs/v1",
		"libs/v1/cue.mod/module.cue":          "module: \"example.com/lib@v0\"\nlanguage: version: \"v0.9.0\"\n",
		"libs/v1/lib.cue":                     "@extern(embed)\npackage lib\n\nlabels: _ @embed(file=data/a.json)\n",
		"libs/v1/data":                        "-> ../../data",
		"data/a.json":                         `{"a": "b"}`,
		"fleet/cue.mod/module.cue":            lspRenameFleet["cue.mod/module.cue"] + "\ndeps: \"example.com/lib@v0\": v: \"v0.0.1\"\n",
		"fleet/cue.mod/local-module.cue":      "deps: \"example.com/lib@v0\": replaceWith: \"../lib\"\n",
		"fleet/environments/dev/lib.cue":      "package fleet\n\nimport \"example.com/lib\"\n\ncluster: labels: lib.labels\nreleases: front: defaults: dev: more: \"x\"\n",
	})
	c := startLSPWith(t, lspDocumentChanges, "--offline")
	c.open(filepath.Join(dir, env), lspRenameFleet[env])
	if _, err := lspRename(c, filepath.Join(dir, env), lspRenameFleet[env], "defaults: dev", "staging"); err != nil {
		t.Errorf("in a large repository: %v; faults %v", err, c.all())
	}
	large(filepath.Join(dir, "large"))
	want := dir + " has more than 50000 files or 1024 MiB: rename by hand, and run fleetc vet --render"
	if _, err := lspRename(c, filepath.Join(dir, env), lspRenameFleet[env], "defaults: dev", "staging"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("in a large fleet: %v; faults %v", err, c.all())
	}
}
