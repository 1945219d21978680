package e2e

import (
	"encoding/json"
	"strings"

	"sigs.k8s.io/yaml"
)

// secretCharts are charts that insert values into Secrets in other ways than the chart of
// newSecrets, by name: the file of their Secret, and a file that it reads.
var secretCharts = map[string]struct{ secret, file string }{
	"document": {secret: `stringData:
  config.yaml: |
    server: {port: 80}
    passwords: {{- toYaml .Values.secrets | nindent 6 }}
`},
	"registry": {secret: `type: kubernetes.io/dockerconfigjson
data:
  {{- $auths := dict }}
  {{- range $k, $v := .Values.secrets }}{{ $_ := set $auths $k (dict "username" "app" "password" $v "auth" (printf "app:%s" $v | b64enc)) }}{{ end }}
  .dockerconfigjson: {{ dict "auths" $auths | toJson | b64enc | quote }}
`},
	"template": {
		secret: "data: {{- tpl (.Files.Get \"files/data.tpl\") . | nindent 2 }}\n",
		file:   "{{ range $k, $v := .Values.secrets }}{{ $k }}: {{ $v | b64enc | quote }}\n{{ end }}",
	},
	"urls": {secret: "stringData:\n{{- range $k, $v := .Values.secrets }}\n  {{ $k }}: {{ printf \"postgres://app:%s@db/app\" $v | quote }}\n{{- end }}\n"},
}

// writeSecretCharts writes the charts, and a release of each that gets all values.
func (p *secretPlace) writeSecretCharts() {
	p.Helper()
	var releases strings.Builder
	releases.WriteString("package fleet\n\nreleases: {\n")
	for name, c := range secretCharts {
		dir := "charts/" + name + "/"
		p.write(dir+"Chart.yaml", "apiVersion: v2\nname: "+name+"\nversion: 1.0.0\n")
		p.write(dir+"values.yaml", "secrets: {}\n")
		p.write(dir+"files/data.tpl", c.file)
		p.write(dir+"templates/secret.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: {{ .Release.Name }}}\n"+c.secret)
		releases.WriteString("\t" + name + `: {namespace: "app", chart: path: "charts/` + name + `", depends: namespace: true, values: secrets: _refs}` + "\n")
	}
	releases.WriteString("}\n")
	p.write("environments/dev/charts.cue", releases.String())
}

// checkSecretCharts checks that the Secret of each chart has all values in its form.
func (p *secretPlace) checkSecretCharts() {
	p.Helper()
	p.checkValues("template")
	var document struct{ Passwords map[string]string }
	if err := yaml.Unmarshal([]byte(p.data("document")["config.yaml"]), &document); err != nil {
		p.Error(err)
	}
	var registry struct {
		Auths map[string]struct {
			Password string
			Auth     []byte
		}
	}
	if err := json.Unmarshal([]byte(p.data("registry")[".dockerconfigjson"]), &registry); err != nil {
		p.Error(err)
	}
	urls := p.data("urls")
	for k, want := range p.values {
		if !strings.HasPrefix(k, "v") {
			continue
		}
		if got := document.Passwords[k]; got != want {
			p.Errorf("the YAML document has %q at %s, want %q", got, k, want)
		}
		if got := registry.Auths[k]; got.Password != want || string(got.Auth) != "app:"+want {
			p.Errorf("the registry has %q at %s, want %q", got, k, want)
		}
		if got := urls[k]; got != "postgres://app:"+want+"@db/app" {
			p.Errorf("the URL is %q at %s, want %q", got, k, want)
		}
	}
}
