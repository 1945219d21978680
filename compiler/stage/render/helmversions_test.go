package render

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/releaseutil"
)

// A versionDifference is a chart that Helm 3 and Helm 4 render differently.
type versionDifference struct {
	name, cause  string // cause is what Helm 4 changed
	chart        string // a txtar archive; the template is templates/test.yaml
	values       string
	helm3, helm4 string // outputs, or errors after "error: "
	byLibrary    bool   // whether fleetc takes the result from Helm's library, so that it changes with it
}

// versionDifferences lists all known differences of rendering. make helm4 checks
// them with Helm 4, this test with Helm 3.
func versionDifferences() []versionDifference {
	return []versionDifference{
		{
			name: "null in values.yaml", cause: "coalesceValues removes nulls of values.yaml",
			chart: "-- values.yaml --\na: null\n", values: "{}",
			helm3: "map[a:<nil>]", helm4: "map[]",
		},
		{
			name: "null in a map of values.yaml", cause: "cleanNilValues removes nulls in maps of values.yaml, also beside values of the user",
			chart: "-- values.yaml --\nm: {a: null, b: 1}\n", values: "m: {c: 1}",
			helm3: "map[m:map[a:<nil> b:1 c:1]]", helm4: "map[m:map[b:1 c:1]]",
		},
		{
			name: "documents of values.yaml", cause: "LoadValues merges all documents of values.yaml; Helm 3 reads the first",
			chart: "-- values.yaml --\na: 1\n---\nb: 2\n", values: "{}",
			helm3: "map[a:1]", helm4: "map[a:1 b:2]", byLibrary: true,
		},
		{
			name: "unknown field of .Chart", cause: "MetadataAsMap: .Chart is a map, not a struct",
			chart: "-- templates/test.yaml --\n{{ .Chart.Unknown }}", values: "{}",
			helm3: `error: app/templates/test.yaml:1:9: executing "app/templates/test.yaml" at <.Chart.Unknown>: can't evaluate field Unknown in type interface {}`, helm4: "",
		},
		{
			name: "names in .Chart", cause: "MetadataAsMap: toJson and toYaml print the names of Go fields, and empty fields",
			chart: "-- templates/test.yaml --\n{{ pick (.Chart | toJson | fromJson) \"name\" \"Name\" }}", values: "{}",
			helm3: "map[name:app]", helm4: "map[Name:app]",
		},
		{
			name: "sorted .Chart.Keywords", cause: "MetadataAsMap copies lists, so sortAlpha does not sort the list of the chart",
			chart: "-- Chart.yaml --\n{apiVersion: v2, name: app, version: 1.0.0, keywords: [b, a]}\n-- templates/test.yaml --\n{{ sortAlpha .Chart.Keywords }}{{ .Chart.Keywords }}", values: "{}",
			helm3: "[a b][a b]", helm4: "[a b][b a]",
		},
		{
			name: "aliases of one dependency", cause: "getAliasDependency copies the dependencies of a dependency; Helm 3 renders their templates for the last alias only",
			chart: "-- Chart.yaml --\n{apiVersion: v2, name: app, version: 1.0.0, dependencies: [{name: db, version: 1.0.0, alias: one}, {name: db, version: 1.0.0, alias: two}]}\n" +
				"-- charts/db/Chart.yaml --\n{apiVersion: v2, name: db, version: 1.0.0}\n" +
				"-- charts/db/charts/lib/Chart.yaml --\n{apiVersion: v2, name: lib, version: 1.0.0}\n-- charts/db/charts/lib/templates/x.yaml --\n" +
				"-- templates/test.yaml --\n{{ range list .Subcharts.one .Subcharts.two }}{{ .Subcharts.lib.Template.BasePath }} {{ end }}",
			values: "{}",
			helm3:  `error: app/templates/test.yaml:1:59: executing "app/templates/test.yaml" at <.Subcharts.lib.Template.BasePath>: nil pointer evaluating interface {}.BasePath`,
			helm4:  "app/charts/one/charts/lib/templates app/charts/two/charts/lib/templates",
		},
		{
			name: "functions", cause: "funcMap has mustToYaml, mustToToml, mustToDuration, and twelve functions that begin with duration",
			chart: "-- templates/test.yaml --\n{{ durationSeconds \"2m\" }}", values: "{}",
			helm3: `error: parse error at (app/templates/test.yaml:1): function "durationSeconds" not defined`, helm4: "120",
		},
		{
			name: "version of Helm", cause: "the version of the library",
			chart: "-- templates/test.yaml --\n{{ (semver .Capabilities.HelmVersion.Version).Major }}", values: "{}",
			helm3: "3", helm4: "4", byLibrary: true,
		},
		{
			name: "errors", cause: "reformatExecErrorMsg prints one line for each template and message",
			chart: "-- templates/test.yaml --\n{{ .Values.a.b }}", values: "a: text",
			helm3: `error: app/templates/test.yaml:1:10: executing "app/templates/test.yaml" at <.Values.a.b>: can't evaluate field b in type interface {}`,
			helm4: "error: app/templates/test.yaml:1:10\n  executing \"app/templates/test.yaml\" at <.Values.a.b>:\n    can't evaluate field b in type interface {}",
		},
	}
}

// isHelm4 reports whether the tests are compiled with Helm 4, see testdata/helm4.
func isHelm4() bool {
	return strings.HasPrefix(chartutil.DefaultCapabilities.HelmVersion.Version, "v4")
}

// TestHelmVersions renders the charts with fleetc and with the library of Helm.
func TestHelmVersions(t *testing.T) {
	for _, d := range versionDifferences() {
		t.Run(d.name, func(t *testing.T) {
			if !strings.Contains(d.chart, "templates/test.yaml") {
				d.chart += "-- templates/test.yaml --\n{{ .Values }}"
			}
			ours, helms, ourErr, helmErr := engines(t, cluster, releaseOf(t, d.values), chartOf(d.chart))
			text := func(files map[string]string, err error) string {
				if err != nil {
					return "error: " + withoutPrefix(err)
				}
				return strings.TrimSpace(files["app/templates/test.yaml"])
			}
			want, wantOurs := d.helm3, d.helm3
			if isHelm4() {
				if want = d.helm4; d.byLibrary {
					wantOurs = d.helm4
				}
				want = strings.TrimSpace(want)
			}
			if got := text(helms, helmErr); got != want {
				t.Errorf("Helm prints\n%s\nwant\n%s\n%s", got, want, d.cause)
			}
			if got := text(ours, ourErr); got != wantOurs {
				t.Errorf("fleetc prints\n%s\nwant\n%s", got, wantOurs)
			}
		})
	}
}

// TestHelmVersionsOfManifests checks how Helm splits and sorts the output of
// templates.
func TestHelmVersionsOfManifests(t *testing.T) {
	for _, d := range []struct{ name, cause, output, helm3, helm4 string }{
		{
			"lines at the end", "SplitManifests keeps line breaks at the end of a document, so that block scalars with + keep them",
			"kind: A\ntext: |+\n  x\n\n\n", "kind: A\ntext: |+\n  x", "kind: A\ntext: |+\n  x\n\n\n",
		},
		{
			"empty documents", "the separator is a line that begins with three dashes; in Helm 3, it includes the line breaks around it",
			"kind: A\n---\n---\nkind: B", "kind: A|---\nkind: B", "kind: A\n|kind: B",
		},
		{
			"order of webhooks", "InstallOrder has MutatingWebhookConfiguration and ValidatingWebhookConfiguration, before custom resources",
			"kind: ValidatingWebhookConfiguration\n---\nkind: MutatingWebhookConfiguration\n---\nkind: Issuer", "kind: Issuer|kind: MutatingWebhookConfiguration|kind: ValidatingWebhookConfiguration", "kind: MutatingWebhookConfiguration\n|kind: ValidatingWebhookConfiguration\n|kind: Issuer",
		},
	} {
		t.Run(d.name, func(t *testing.T) {
			var got []string
			captureLog(func() {
				_, manifests, err := releaseutil.SortManifests(map[string]string{"a.yaml": d.output}, nil, releaseutil.InstallOrder)
				if err != nil {
					t.Error(err)
				}
				for _, m := range manifests {
					got = append(got, m.Content)
				}
			})
			want := d.helm3
			if isHelm4() {
				want = d.helm4
			}
			if strings.Join(got, "|") != want {
				t.Errorf("got %q, want %q: %s", strings.Join(got, "|"), want, d.cause)
			}
		})
	}
}
