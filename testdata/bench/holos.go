package main

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// buildPlan is a component of Holos: a release of any cluster. RELEASE and the
// values are replaced.
const buildPlan = `@extern(embed)
package holos

import "encoding/json"

_BuildContext: string | *"{}" @tag(holos_build_context, type=string)
_name:         string @tag(holos_component_name)
_path:         string @tag(holos_component_path)
_labels:       string @tag(holos_component_labels)
_annotations:  string @tag(holos_component_annotations)
_cluster:      string @tag(cluster)
_environment:  string @tag(environment)
_values:       string @tag(values)
_base: BASE
_environments: ENVIRONMENTS

holos: _ @embed(file=typemeta.yaml)
holos: {
	metadata: {name: _name, labels: json.Unmarshal(_labels), annotations: json.Unmarshal(_annotations)}
	buildContext: json.Unmarshal(_BuildContext)
	spec: artifacts: [{
		artifact: "\(_cluster)/RELEASE.yaml"
		generators: [{
			kind:   "Helm"
			output: artifact
			helm: {
				chart: {name: "RELEASE", version: "1.0.0", release: "RELEASE"}
				namespace:   "NAMESPACE"
				kubeVersion: "VERSION"
				enableHooks: true
				values: {}
				valueFiles: [
					{name: "base.yaml", kind: "Values", values: _base},
					{name: "environment.yaml", kind: "Values", values: _environments[_environment]},
					{name: "cluster.yaml", kind: "Values", values: json.Unmarshal(_values)},
				]
			}
		}]
	}]
}
`

// holos writes a platform of Holos with minimal CUE: a component for each
// release, which gets its cluster's values.
func (w *work) holos() error {
	var list []any
	for i, c := range w.clusters {
		for _, r := range releases {
			v, err := encoded(r.inCluster(i+1, c))
			if err != nil {
				return err
			}
			name := c.name + "-" + r.name
			list = append(list, map[string]any{
				"name": name, "path": "components/" + r.name,
				"labels":      map[string]any{"holos.run/component.name": name},
				"annotations": map[string]any{"app.holos.run/description": name},
				"parameters":  map[string]any{"cluster": c.name, "environment": c.env, "values": v},
			})
		}
	}
	components, err := encoded(list)
	if err != nil {
		return err
	}
	for file, text := range map[string]string{
		"cue.mod/module.cue": "module: \"example.com/holos\"\nlanguage: version: \"v0.9.0\"\n",
		"platform/platform.cue": "@extern(embed)\npackage holos\n\nholos: _ @embed(file=typemeta.yaml)\n" +
			"holos: {metadata: name: \"default\", spec: components: " + components + "}\n",
		"platform/typemeta.yaml": "kind: Platform\napiVersion: v1alpha6\n",
	} {
		if err := put(w.dir, "holos/"+file, text); err != nil {
			return err
		}
	}
	for _, r := range releases {
		if err := w.holosComponent(r); err != nil {
			return err
		}
	}
	return nil
}

// holosComponent writes the component of a release, with its chart in the place
// of Holos' downloads.
func (w *work) holosComponent(r release) error {
	base, err := encoded(r.base)
	if err != nil {
		return err
	}
	byName := map[string]values{}
	for i, name := range environments {
		byName[name] = r.inEnv(i + 1)
	}
	envs, err := encoded(byName)
	if err != nil {
		return err
	}
	dir := "holos/components/" + r.name + "/"
	plan := replace(buildPlan, "RELEASE", r.name, "NAMESPACE", r.namespace, "VERSION", kubernetes, "BASE", base, "ENVIRONMENTS", envs)
	if err := put(w.dir, dir+"component.cue", plan); err != nil {
		return err
	}
	if err := put(w.dir, dir+"typemeta.yaml", "kind: BuildPlan\napiVersion: v1alpha6\n"); err != nil {
		return err
	}
	vendor := filepath.Join(w.dir, filepath.FromSlash(dir), "vendor", "1.0.0", r.name)
	return os.CopyFS(vendor, os.DirFS(filepath.Join(w.dir, "charts", r.name)))
}

// encoded returns JSON, which is valid CUE and YAML; an empty map for no
// values.
func encoded(v any) (string, error) {
	if m, ok := v.(values); ok && m == nil {
		v = values{}
	}
	data, err := json.MarshalIndent(v, "", "\t")
	return string(data), err
}
