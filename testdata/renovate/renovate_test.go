package renovate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/fleetc/fleetc/testdata/fleets"
	"github.com/fleetc/fleetc/testdata/gitops"
)

const preset = "../../lib/renovate.json"

// A workplace has a fleet, its servers, and fleetc.
type workplace struct {
	*testing.T
	*gitops.Servers
	*Renovate
	dir, fleet string
	env        []string
}

func newWorkplace(t *testing.T) *workplace {
	t.Helper()
	installed, err := Install(t.Context(), ".", os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	w := &workplace{T: t, Renovate: installed, dir: t.TempDir()}
	served := filepath.Join(w.dir, "served")
	w.fleet = filepath.Join(w.dir, "fleet")
	for _, dir := range []string{served, w.fleet, filepath.Join(w.dir, "home")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if w.Servers, err = gitops.Serve(t.Context(), served); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Servers.Close() })
	bin := filepath.Join(w.dir, "bin")
	w.run(".", "go", "build", "-o", bin+"/", "../../cmd/fleetc")
	home := filepath.Join(w.dir, "home")
	w.env = append(os.Environ(), gitops.Git...)
	w.env = append(w.env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+home, "XDG_CACHE_HOME="+home,
		"DOCKER_CONFIG="+home, "LOG_LEVEL=info", "RENOVATE_X_IGNORE_RE2=true")
	return w
}

// run runs a program in a directory, and returns its output.
func (w *workplace) run(dir string, args ...string) string {
	w.Helper()
	cmd := exec.CommandContext(w.Context(), args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, w.env
	if w.env != nil && args[0] == "fleetc" {
		cmd.Path = filepath.Join(w.dir, "bin", "fleetc")
		cmd.Err = nil
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// write writes a file of the fleet.
func (w *workplace) write(file, text string) {
	w.Helper()
	fleets.Write(w, w.fleet, map[string]string{file: text})
}

func (w *workplace) read(file string) string {
	w.Helper()
	text, err := os.ReadFile(filepath.Join(w.fleet, filepath.FromSlash(file)))
	if err != nil {
		w.Fatal(err)
	}
	return string(text)
}

// chart writes a chart that has a value named after its major version.
func (w *workplace) chart(dir, version string) {
	w.Helper()
	fleets.Write(w, dir, map[string]string{
		"Chart.yaml":        "apiVersion: v2\nname: web\nversion: " + version + "\ndescription: Serves pages\n",
		"values.yaml":       "value" + version[:1] + ": 1\n",
		"templates/cm.yaml": "# {{ .Values.value" + version[:1] + " }}\n",
	})
}

// publish publishes versions of a chart in a repository, a registry and git.
func (w *workplace) publish() (git string) {
	w.Helper()
	git, err := w.Repository(w.Context(), "charts")
	if err != nil {
		w.Fatal(err)
	}
	tree := filepath.Join(w.dir, "tree")
	w.run(w.dir, "git", "clone", "-q", git, tree)
	for _, version := range []string{"0.9.0", "1.0.0", "2.1.0"} {
		dir := filepath.Join(tree, "web")
		w.chart(dir, version)
		if _, err := w.Publish(dir); err != nil {
			w.Fatal(err)
		}
		w.run(tree, "git", "add", "-A")
		w.run(tree, "git", "commit", "-qm", version)
		w.run(tree, "git", "tag", "web-"+version)
		w.run(tree, "git", "tag", "other-9"+version)
	}
	w.run(tree, "git", "push", "-q", "--tags", "origin", "HEAD:main")
	return git
}

// image pushes tags of an image, and returns their digests.
func (w *workplace) image(repository string, tags ...string) (digests []string) {
	w.Helper()
	for _, tag := range tags {
		image, err := random.Image(64, 1)
		if err != nil {
			w.Fatal(err)
		}
		to, err := name.NewTag(w.Host + "/" + repository + ":" + tag)
		if err != nil {
			w.Fatal(err)
		}
		var digest v1.Hash
		if digest, err = image.Digest(); err == nil {
			err = remote.Write(to, image)
		}
		if err != nil {
			w.Fatal(err)
		}
		digests = append(digests, digest.String())
	}
	return digests
}

// renovate looks updates up with the preset, and writes them into the fleet.
func (w *workplace) renovate() {
	w.Helper()
	report, config := filepath.Join(w.dir, "report.json"), filepath.Join(w.dir, "config.json")
	global, err := json.Marshal(map[string]any{
		"platform": "local", "onboarding": false, "reportType": "file", "reportPath": report, "cacheDir": filepath.Join(w.dir, "cache"),
		"hostRules": []any{
			map[string]any{"matchHost": "https://" + w.Host, "insecureRegistry": true, "allowInternal": true},
			map[string]any{"matchHost": w.URL, "allowInternal": true},
		},
		"enabledManagers": []string{"custom.regex", "helm-values"},
	})
	if err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(config, global, 0o600); err != nil {
		w.Fatal(err)
	}
	w.env = append(w.env, "RENOVATE_CONFIG_FILE="+config)
	said := w.run(w.fleet, w.Node, filepath.Join(w.Dir, "dist", "renovate.js"))
	if strings.Contains(said, "WARN") || strings.Contains(said, "ERROR") {
		w.Fatalf("Renovate complains:\n%s", said)
	}
	script, err := filepath.Abs("apply.mjs")
	if err != nil {
		w.Fatal(err)
	}
	w.run(w.fleet, w.Node, script, w.Dir, report, w.fleet)
}

// postUpgrade runs the commands of the preset that Renovate runs after an update of charts.
func (w *workplace) postUpgrade() {
	w.Helper()
	var rules struct {
		PackageRules []struct {
			PostUpgradeTasks struct {
				Commands    []string `json:"commands"`
				FileFilters []string `json:"fileFilters"`
			} `json:"postUpgradeTasks"`
		} `json:"packageRules"`
	}
	text, err := os.ReadFile(preset)
	if err == nil {
		err = json.Unmarshal(text, &rules)
	}
	if err != nil {
		w.Fatal(err)
	}
	ran := 0
	for _, rule := range rules.PackageRules {
		for _, command := range rule.PostUpgradeTasks.Commands {
			w.Log(w.run(w.fleet, strings.Fields(command)...))
			ran++
		}
	}
	if ran == 0 {
		w.Fatal("the preset has no command")
	}
}

// TestPreset updates charts and images of a fleet with Renovate, and completes the pins of
// the charts. The packages are then those that fleetc chart add writes.
func TestPreset(t *testing.T) {
	w := newWorkplace(t)
	git := w.publish()
	w.run(w.fleet, "fleetc", "init", "example.com/infra")
	w.write("environments/dev/a/cluster.cue", "package fleet\n\ncluster: {name: \"a\", kubernetes: \"1.36\"}\n")
	add := func(http, commit string) {
		w.run(w.fleet, "fleetc", "chart", "add", w.URL+"/charts/web", "--name", "http", "--version", http)
		w.run(w.fleet, "fleetc", "chart", "add", "oci://"+w.Host+"/charts/web", "--name", "oci", "--version", http)
		w.run(w.fleet, "fleetc", "chart", "add", "git+"+git+"//web", "--name", "git", "--version", commit)
	}
	packages := []string{"http", "oci", "git"}
	add("2.1.0", "web-2.1.0")
	want := map[string]string{}
	for _, p := range packages {
		want[p] = w.read("environments/charts/" + p + "/chart.cue")
	}
	add("1.0.0", "web-1.0.0")
	var uses strings.Builder
	uses.WriteString("package fleet\n\nimport (\n")
	for _, p := range packages {
		fmt.Fprintf(&uses, "\t%q\n", "example.com/infra/environments/charts/"+p)
	}
	uses.WriteString(")\n\n")
	for _, p := range packages {
		fmt.Fprintf(&uses, "releases: %q: %s.#Release & {namespace: \"web\"}\n", "the-"+p, p)
	}
	w.write("environments/use.cue", uses.String())
	w.several()

	app := w.image("example/app", "1.2.0", "1.10.1", "latest", "1.11.0-rc.1")
	replace := func(text, tag, digest string) string {
		return strings.NewReplacer("HOST", w.Host, "TAG", tag, "DIGEST", digest).Replace(text)
	}
	for file, text := range images {
		w.write(file, replace(text, "1.2.0", app[0]))
	}
	config, err := os.ReadFile(preset)
	if err != nil {
		t.Fatal(err)
	}
	w.write("renovate.json", string(config))
	w.run(w.fleet, "git", "init", "-q")
	w.run(w.fleet, "git", "add", "-A")
	w.run(w.fleet, "git", "commit", "-qm", "fleet")

	w.renovate()
	for file, text := range images {
		if got, want := w.read(file), replace(text, "1.10.1", app[1]); got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", file, got, want)
		}
	}
	for _, p := range packages {
		if got := w.read("environments/charts/" + p + "/chart.cue"); !strings.Contains(got, `"2.1.0"`) || got == want[p] {
			t.Errorf("Renovate does not change the version of %s alone:\n%s", p, got)
		}
	}
	w.postUpgrade()
	for _, p := range packages {
		if got := w.read("environments/charts/" + p + "/chart.cue"); got != want[p] {
			t.Errorf("%s:\n%s\nwant:\n%s", p, got, want[p])
		}
	}
	if got := w.read("environments/charts/several/chart.cue"); !strings.Contains(got, `version: *"2.1.0" | "0.9.0"`) {
		t.Errorf("not the default of several versions is updated:\n%s", got)
	}
	w.run(w.fleet, "fleetc", "chart", "verify")
}

// several adds a package with two versions, of which a layer selects one.
func (w *workplace) several() {
	w.Helper()
	chart := []string{"fleetc", "chart", "add", w.URL + "/charts/web", "--name", "several", "--version"}
	w.run(w.fleet, append(chart, "0.9.0")...)
	w.write("environments/several.cue", "package fleet\n\nimport \"example.com/infra/environments/charts/several\"\n\nreleases: \"several\": several.#Release & {namespace: \"web\"}\n")
	w.write("environments/prod/b/cluster.cue", "package fleet\n\ncluster: {name: \"b\", kubernetes: \"1.36\"}\nreleases: \"several\": chart: version: \"0.9.0\"\n")
	w.run(w.fleet, append(chart, "1.0.0")...)
	if got := w.read("environments/charts/several/chart.cue"); !strings.Contains(got, `version: *"1.0.0" | "0.9.0"`) {
		w.Fatalf("chart add does not keep the version of a layer:\n%s", got)
	}
}

// images are files with images. TAG and DIGEST are updated; all other text stays.
var images = map[string]string{
	"environments/objects.cue": `package fleet

_inline: image: "HOST/example/app:TAG"
_digest: {
	initImage: "HOST/example/app:TAG@DIGEST"
	// image: "HOST/example/app:1.2.0"
	image:     "HOST/example/app:latest"
	other:     "HOST/example/app:1.2.0"
}
_version: "1.2.0"
_computed: image: "HOST/example/app:\(_version)"
`,
	"environments/values.cue": `package fleet

_a: {
	repository: "HOST/example/app"
	tag:        "TAG"
}
_b: image: {repository: "HOST/example/app", tag: "TAG@DIGEST", pullPolicy: "Always"}
_c: image: {
	registry:   "HOST"
	repository: "example/app"
	tag:        "TAG"
	digest:     "DIGEST"
}
`,
	"environments/comments.cue": `package fleet

// renovate: image=HOST/example/app
_releases: "web": defaults: dev: image: tag: "TAG"
// renovate: image=HOST/example/app versioning=semver
_releases: "api": defaults: dev: image: tag: "TAG@DIGEST"
_releases: "own": defaults: dev: image: tag: "1.2.0"
`,
	"environments/embed.cue": `@extern(embed)

package fleet

_values: _ @embed(file=dev/values.yaml)
`,
	"environments/dev/values.yaml": `image:
  repository: HOST/example/app
  tag: TAG
sidecar:
  # renovate: image=HOST/example/app
  version: "TAG"
other:
  version: "1.2.0"
`,
}

// TestExpressions checks that the regular expressions of the preset are those of RE2, which
// Renovate uses where it is installed. Go has the same expressions.
func TestExpressions(t *testing.T) {
	text, err := os.ReadFile(preset)
	if err != nil {
		t.Fatal(err)
	}
	var p struct {
		CustomManagers []struct {
			ManagerFilePatterns []string `json:"managerFilePatterns"`
			MatchStrings        []string `json:"matchStrings"`
		} `json:"customManagers"`
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&p); err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, m := range p.CustomManagers {
		for _, e := range slices.Concat(m.ManagerFilePatterns, m.MatchStrings) {
			if _, err := regexp.Compile(strings.Trim(e, "/")); err != nil {
				t.Error(err)
			}
			count++
		}
	}
	if count == 0 {
		t.Error("the preset has no expressions")
	}
}

// TestValid checks the preset, and the configuration of this repository, with
// Renovate's validator.
func TestValid(t *testing.T) {
	r, err := Install(t.Context(), ".", os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), r.Node, filepath.Join(r.Dir, "dist", "config-validator.js"), "--strict", "--no-global", preset, "../../renovate.json")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
