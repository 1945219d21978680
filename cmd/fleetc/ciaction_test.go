package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// ciVersion is the release of fleetc that docs/ci.md uses.
const ciVersion = "v1.2.3"

// publish publishes a release of fleetc on the forge. Its program records each
// call in the file calls of the home directory.
func (r *ciRunner) publish() {
	r.t.Helper()
	program, err := exec.LookPath("fleetc")
	if err != nil {
		r.t.Fatal(err)
	}
	script := "#!/bin/sh\necho \"$*\" >> ~/calls\nexec " + program + " \"$@\"\n"
	var archive bytes.Buffer
	zw := gzip.NewWriter(&archive)
	tw := tar.NewWriter(zw)
	if err := tw.WriteHeader(&tar.Header{Name: "fleetc", Mode: 0o755, Size: int64(len(script))}); err != nil {
		r.t.Fatal(err)
	}
	if _, err := tw.Write([]byte(script)); err != nil {
		r.t.Fatal(err)
	}
	if err := tw.Close(); err != nil {
		r.t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		r.t.Fatal(err)
	}
	name := "fleetc_" + strings.TrimPrefix(ciVersion, "v") + "_linux_" + runtime.GOARCH + ".tar.gz"
	directory := "/fleetc/fleetc/releases/download/" + ciVersion + "/"
	r.forge.mu.Lock()
	defer r.forge.mu.Unlock()
	r.forge.releases = map[string][]byte{
		directory + name:            archive.Bytes(),
		directory + "checksums.txt": fmt.Appendf(nil, "%064x  other.tar.gz\n%x  %s\n", 0, sha256.Sum256(archive.Bytes()), name),
	}
}

// login stores a password as docker login does.
func (r *ciRunner) login(host, user, password string) {
	r.t.Helper()
	auth := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	writeFile(r.t, r.home, ".docker/config.json", `{"auths":{"`+host+`":{"auth":"`+auth+`"}}}`)
}

// calls returns the calls of the released fleetc on this machine.
func (r *ciRunner) calls() string {
	r.t.Helper()
	return r.must("/", "cat ~/calls 2>/dev/null || true")
}

var ifCommand = regexp.MustCompile(`^inputs\.command == '([a-z]+)'$`)

// action runs action.yml, as a step of a job.
func (r *ciRunner) action(with map[string]string) (string, error) {
	r.t.Helper()
	text, err := os.ReadFile("../../action.yml")
	if err != nil {
		r.t.Fatal(err)
	}
	action := decodeCI[struct {
		Inputs map[string]struct{ Default string }
		Runs   struct {
			Using string
			Steps []struct {
				Name, Shell, If, Run string
				Env                  map[string]string
			}
		}
	}](r.t, string(text))
	temp := r.t.TempDir()
	arch := map[string]string{"amd64": "X64", "arm64": "ARM64"}[runtime.GOARCH]
	values := map[string]string{"runner.temp": temp, "runner.os": "Linux", "runner.arch": arch, "github.token": jobToken, "github.event.number": ""}
	if r.event == "pull_request" {
		values["github.event.number"] = "7"
	}
	expand := func(text string) string {
		return ciExpression.ReplaceAllStringFunc(text, func(s string) string {
			name := ciExpression.FindStringSubmatch(s)[1]
			value, ok := values[name]
			if !ok {
				r.t.Fatalf("action.yml: the expression %s is not known", name)
			}
			return value
		})
	}
	for name, input := range action.Inputs {
		values["inputs."+name] = expand(input.Default)
	}
	for name, value := range with {
		if _, ok := action.Inputs[name]; !ok {
			r.t.Fatalf("action.yml has no input %s", name)
		}
		values["inputs."+name] = value
	}
	values["inputs.version || github.action_ref"] = ciVersion
	if v := values["inputs.version"]; v != "" {
		values["inputs.version || github.action_ref"] = v
	}
	env := map[string]string{
		"GITHUB_API_URL": "https://" + githubAPI, "GITHUB_REPOSITORY": "example/fleet", "GITHUB_BASE_REF": "main",
		"GITHUB_PATH": filepath.Join(temp, "path"), "PATH": r.env["PATH"],
	}
	for _, s := range action.Runs.Steps {
		if m := ifCommand.FindStringSubmatch(s.If); s.If != "" && m == nil {
			r.t.Fatalf("action.yml: the condition %q is not known", s.If)
		} else if m != nil && m[1] != values["inputs.command"] {
			continue
		}
		if strings.Contains(s.Run, "${{") || s.Shell != "bash" {
			r.t.Errorf("action.yml: the step %q runs text of an expression, or has no shell", s.Name)
		}
		all := maps.Clone(env)
		for name, value := range s.Env {
			all[name] = expand(value)
		}
		if out, err := r.shell(r.work, "bash --noprofile --norc -eo pipefail", s.Run, all); err != nil {
			return s.Name + "\n" + out, err
		}
		if path, err := os.ReadFile(env["GITHUB_PATH"]); err == nil {
			env["PATH"] = strings.TrimSpace(string(path)) + ":" + r.env["PATH"]
		}
	}
	return "", nil
}

// TestGitHubAction runs the workflow of the action.
func TestGitHubAction(t *testing.T) {
	t.Parallel()
	r := newCIRunner(t)
	r.publish()
	jobs := decodeCI[struct{ Jobs map[string]ciJob }](t, ciBlocks(t, "GitHub Actions")[0]).Jobs
	must := func(branch, job string) {
		t.Helper()
		if out, err := r.github(branch, 0, jobs[job].Steps); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	must("main", "check")
	if got := r.calls(); got != "-C . vet --render -o github\n" {
		t.Errorf("the released fleetc was called with\n%s", got)
	}
	must("main", "export")
	if got := r.clusters(githubHost, "main", "prod/eu/my-web/deployment-web-my-web-plain.yaml"); !strings.Contains(got, "replicas: 3") {
		t.Errorf("the export has\n%s", got)
	}

	r.checkPullRequests(jobs["check"].Steps, "fleetc .")
}

// TestGitHubActionRefuses gives the action wrong inputs and a wrong archive.
func TestGitHubActionRefuses(t *testing.T) {
	t.Parallel()
	r := newCIRunner(t)
	r.publish()
	for name, test := range map[string]struct {
		with map[string]string
		want string
	}{
		"command":       {map[string]string{"command": "vett"}, "::error::command must be vet, diff, export or install"},
		"branch":        {map[string]string{"command": "vet", "version": "main"}, "::error::set version to a release"},
		"unknown":       {map[string]string{"command": "vet", "version": "v9.9.9"}, "404"},
		"no event":      {map[string]string{"command": "diff"}, "::error::diff needs the event pull_request"},
		"no repository": {map[string]string{"command": "export"}, "::error::export needs repository"},
		"argument":      {map[string]string{"command": "vet", "args": "prod\n--rendr; id\n"}, "unknown flag: --rendr; id"},
	} {
		r.begin()
		r.must(r.work, "git clone -q file://"+r.origin+" .")
		if out, err := r.action(test.with); err == nil || !strings.Contains(out, test.want) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	r.forge.mu.Lock()
	for path, file := range r.forge.releases {
		if strings.HasSuffix(path, ".tar.gz") {
			r.forge.releases[path] = append(bytes.Clone(file), 0)
		}
	}
	r.forge.mu.Unlock()
	r.begin()
	if out, err := r.action(map[string]string{"command": "vet"}); err == nil || !strings.Contains(out, "FAILED") || r.calls() != "" {
		t.Errorf("a changed archive: %v\n%s", err, out)
	}
}

// component returns the script of a job of the GitLab component with the inputs of a
// pipeline, which exports the variables of the job first.
func (r *ciRunner) component(job string) string {
	r.t.Helper()
	text, err := os.ReadFile("../../templates/fleetc.yml")
	if err != nil {
		r.t.Fatal(err)
	}
	header, body, _ := strings.Cut(string(text), "\n---\n")
	inputs := decodeCI[struct {
		Spec struct {
			Inputs map[string]struct{ Default string }
		}
	}](r.t, header).Spec.Inputs
	given := decodeCI[struct {
		Include []struct{ Inputs map[string]string }
	}](r.t, ciBlocks(r.t, "GitLab")[0]).Include[0].Inputs
	values := map[string]string{}
	for name, input := range inputs {
		values[name] = input.Default
	}
	for name, value := range given {
		if _, ok := inputs[name]; !ok {
			r.t.Fatalf("the component has no input %s", name)
		}
		values[name] = value
	}
	body = regexp.MustCompile(`\$\[\[ inputs\.([a-z]+) \]\]`).ReplaceAllStringFunc(body, func(s string) string {
		return values[strings.TrimSuffix(strings.TrimPrefix(s, "$[[ inputs."), " ]]")]
	})
	type componentJob struct {
		BeforeScript []string `yaml:"before_script"`
		Script       []string
		Variables    map[string]string
	}
	jobs := decodeCI[map[string]yaml.Node](r.t, body)
	var base, own componentJob
	for name, j := range map[string]*componentJob{".fleetc": &base, job: &own} {
		node := jobs[name]
		if err := node.Decode(j); err != nil {
			r.t.Fatal(err)
		}
	}
	variables := map[string]string{}
	maps.Copy(variables, base.Variables)
	maps.Copy(variables, own.Variables)
	var script strings.Builder
	for name, value := range variables {
		fmt.Fprintf(&script, "export %s=%q\n", name, strings.ReplaceAll(value, "$CI_PROJECT_DIR", "$PWD"))
	}
	script.WriteString(strings.Join(append(base.BeforeScript, own.Script...), "\n"))
	return script.String()
}

// TestGitLabComponent runs the jobs of the component.
func TestGitLabComponent(t *testing.T) {
	t.Parallel()
	r := newCIRunner(t)
	r.publish()
	run := func(branch, job string) (string, error) {
		t.Helper()
		return r.gitlab(branch, r.component(job))
	}
	must := func(branch, job string) {
		t.Helper()
		if out, err := run(branch, job); err != nil {
			t.Fatalf("%s: %v\n%s", job, err, out)
		}
	}
	must("main", "fleetc-vet")
	if got := r.must(r.work, "cat quality.json"); got != "[]\n" || r.calls() != "-C . vet --render -o json\n" {
		t.Errorf("without faults, the report is %s; calls:\n%s", got, r.calls())
	}
	for _, n := range []int{5, 7} {
		r.setReplicas(n)
		r.push("change", "more")
		must("change", "fleetc-diff")
		if len(r.forge.notes) != 1 || !strings.HasPrefix(r.forge.notes[0], "<!-- fleetc . -->\n**1 object updated in 2 of 3 clusters**\n") || !strings.Contains(r.forge.notes[0], fmt.Sprintf("\n+ spec.replicas: %d\n", n)) {
			t.Errorf("notes %q", r.forge.notes)
		}
	}
	must("change", "fleetc-export")
	if got := r.clusters(gitlabHost, "main", "prod/eu/my-web/deployment-web-my-web-plain.yaml"); !strings.Contains(got, "replicas: 7") {
		t.Errorf("the export has\n%s", got)
	}
	push := decodeCI[map[string]struct{ Script []string }](t, ciBlocks(t, "GitLab")[1])["fleetc-push"]
	if out, err := r.gitlab("main", strings.Join(push.Script, "\n")); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	r.wantImages(gitlabRegistry, "example/clusters")
	writeFile(t, r.fleet, "environments/prod/wrong.cue", wrongFile)
	r.push("wrong", "wrong")
	out, err := run("wrong", "fleetc-vet")
	if quality := r.must(r.work, "cat quality.json"); err == nil || !strings.Contains(quality, `"path": "environments/prod/wrong.cue"`) {
		t.Errorf("a wrong fleet: %v\n%s\n%s", err, out, quality)
	}
}

// TestInstallArchive follows the instructions for an archive on a new machine.
func TestInstallArchive(t *testing.T) {
	t.Parallel()
	r := newCIRunner(t)
	r.publish()
	for _, b := range readPage(t, "docs/install.md").blocks {
		if b.section != "An archive" || b.lang != "sh" {
			continue
		}
		r.begin()
		out, err := r.shell(r.work, "bash -e", strings.Join(b.lines, "\n")+"\n", nil)
		if err != nil || !strings.Contains(out, ".tar.gz: OK\n") || r.calls() != "version\n" {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	t.Error("docs/install.md has no instructions for an archive")
}
