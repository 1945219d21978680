package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// helm writes render.sh, which renders one release of a cluster, and jobs, the
// arguments for all releases.
func (w *work) helm() error {
	var jobs strings.Builder
	for _, c := range w.clusters {
		if err := w.folder(c); err != nil {
			return err
		}
		for _, r := range releases {
			fmt.Fprintln(&jobs, c.name, c.env, r.name, r.namespace)
		}
	}
	if err := put(w.dir, "jobs", jobs.String()); err != nil {
		return err
	}
	return w.script("render.sh", `#!/bin/sh
# render.sh CLUSTER ENVIRONMENT RELEASE NAMESPACE
exec helm template "$3" "charts/$3" --namespace "$4" --include-crds --skip-tests --kube-version `+kubernetes+` \
	--values "values/base/$3.yaml" --values "values/$2/$3.yaml" --values "values/$1/$3.yaml" > "out/$1/$3.yaml"
`)
}

// helmfile writes one helmfile with every release of every cluster.
func (w *work) helmfile() error {
	var list []any
	for _, c := range w.clusters {
		for _, r := range releases {
			list = append(list, map[string]any{
				"name": r.name, "namespace": r.namespace, "kubeContext": c.name, "chart": "./charts/" + r.name, "values": w.files(r, c),
			})
		}
	}
	data, err := json.Marshal(list)
	if err != nil {
		return err
	}
	// Helmfile requires its keys at the beginnings of lines.
	return put(w.dir, "helmfile.yaml", fmt.Sprintf("kubeVersion: %s\nreleases: %s\n", kubernetes, data))
}

// tanka writes one environment of Tanka for each cluster.
func (w *work) tanka() error {
	if err := put(w.dir, "tanka/jsonnetfile.json", `{"version": 1, "dependencies": [], "legacyImports": false}`+"\n"); err != nil {
		return err
	}
	for _, c := range w.clusters {
		main := "local helm = std.native('helmTemplate');\nlocal merge(list) = std.foldl(std.mergePatch, list, {});\n{\n"
		for _, r := range releases {
			files := w.files(r, c)
			main += fmt.Sprintf("  %q: helm(%q, %q, {\n    calledFrom: std.thisFile, namespace: %q, includeCrds: true, skipTests: true, kubeVersion: %q,\n"+
				"    nameFormat: '{{ .kind }}_{{ .metadata.namespace }}_{{ .metadata.name }}',\n"+
				"    values: merge([import '../../../%s', import '../../../%s', import '../../../%s']),\n  }),\n",
				r.name, r.name, "../../../charts/"+r.name, r.namespace, kubernetes, files[0], files[1], files[2])
		}
		spec := fmt.Sprintf(`{"apiVersion": "tanka.dev/v1alpha1", "kind": "Environment", "metadata": {"name": %q}, "spec": {"namespace": "default"}}`, c.name)
		dir := "tanka/environments/" + c.name + "/"
		if err := put(w.dir, dir+"spec.json", spec+"\n"); err != nil {
			return err
		}
		if err := put(w.dir, dir+"main.jsonnet", main+"}\n"); err != nil {
			return err
		}
	}
	return nil
}

// kustomize writes a kustomization for each cluster, a list of their names, and
// build.sh, which builds one.
func (w *work) kustomize() error {
	var names strings.Builder
	for _, c := range w.clusters {
		if err := w.folder(c); err != nil {
			return err
		}
		fmt.Fprintln(&names, c.name)
		var list []any
		for _, r := range releases {
			files := w.files(r, c)
			list = append(list, map[string]any{
				"name": r.name, "releaseName": r.name, "namespace": r.namespace, "includeCRDs": true, "skipTests": true, "kubeVersion": kubernetes,
				"valuesFile": "../../" + files[0], "additionalValuesFiles": []string{"../../" + files[1], "../../" + files[2]},
			})
		}
		data, err := json.Marshal(map[string]any{"helmGlobals": map[string]any{"chartHome": "../../charts"}, "helmCharts": list})
		if err != nil {
			return err
		}
		if err := put(w.dir, "kustomize/"+c.name+"/kustomization.yaml", string(data)+"\n"); err != nil {
			return err
		}
	}
	if err := put(w.dir, "names", names.String()); err != nil {
		return err
	}
	return w.script("build.sh", "#!/bin/sh\nexec kustomize build --enable-helm --load-restrictor LoadRestrictionsNone \"kustomize/$1\" > \"out/$1/all.yaml\"\n")
}

// script writes an executable file.
func (w *work) script(name, text string) error {
	if err := put(w.dir, name, text); err != nil {
		return err
	}
	return os.Chmod(filepath.Join(w.dir, name), 0o755)
}

// folder creates the directory for the output of the scripts.
func (w *work) folder(c cluster) error {
	return os.MkdirAll(filepath.Join(w.dir, "out", c.name), 0o755)
}
