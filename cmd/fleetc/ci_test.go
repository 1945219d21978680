package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// A ciRunner runs the jobs of docs/ci.md as written, with git, a shell, curl
// and jq, for a fleet in a git repository. Only the hosts are emulated.
type ciRunner struct {
	t      *testing.T
	forge  *forge
	fleet  string                     // a user's working tree
	origin string                     // the repository of the fleet
	work   string                     // of the running job
	home   string                     // of the running job
	env    map[string]string          // for all jobs
	event  string                     // the event of GitHub jobs
	edit   func(script string) string // changes the scripts of jobs
}

func newCIRunner(t *testing.T) *ciRunner {
	t.Helper()
	f := newForge(t)
	r := &ciRunner{t: t, forge: f, fleet: beginnersFleet(t), origin: filepath.Join(t.TempDir(), "fleet.git"), event: "push"}
	r.env = map[string]string{
		"PATH": os.Getenv("PATH"), "LC_ALL": "C", "GIT_CONFIG_NOSYSTEM": "1",
		"https_proxy": f.proxy, "HTTPS_PROXY": f.proxy, "SSL_CERT_FILE": f.ca, "CURL_CA_BUNDLE": f.ca, "GIT_SSL_CAINFO": f.ca,
	}
	writeFile(t, r.fleet, "environments/dev/env.cue", "package fleet\n\nenvironment: \"dev\"\n")
	r.begin()
	r.must(r.fleet, "git init -q -b main && git init -q --bare -b main "+r.origin+" && git remote add origin "+r.origin)
	r.push("main", "fleet")
	return r
}

// begin gives the next job a fresh machine.
func (r *ciRunner) begin() { r.work, r.home = r.t.TempDir(), r.t.TempDir() }

// push commits the fleet to a branch and pushes it.
func (r *ciRunner) push(branch, message string) {
	r.t.Helper()
	r.must(r.fleet, "git checkout -q -B "+branch+" && git add -A && git -c user.name=a -c user.email=a@example.com commit -q -m "+message+" && git push -q origin "+branch)
}

// setReplicas changes the user's fleet.
func (r *ciRunner) setReplicas(n int) {
	r.t.Helper()
	writeFile(r.t, r.fleet, "environments/prod/env.cue", fmt.Sprintf("package fleet\n\nenvironment: \"prod\"\nreleases: \"my-web\": defaults: prod: replicaCount: %d\n", n))
}

// shell runs a script and returns its output.
func (r *ciRunner) shell(dir, shell, script string, env map[string]string) (string, error) {
	r.t.Helper()
	file := filepath.Join(r.t.TempDir(), "script")
	if r.edit != nil {
		script = r.edit(script)
	}
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		r.t.Fatal(err)
	}
	args := append(strings.Fields(shell), file)
	cmd := exec.CommandContext(r.t.Context(), args[0], args[1:]...)
	all := maps.Clone(r.env)
	all["HOME"] = r.home
	maps.Copy(all, env)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		cmd.Env = append(cmd.Env, name+"="+all[name])
	}
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	r.forge.mu.Lock() // synchronizes with the forge
	defer r.forge.mu.Unlock()
	return string(out), err
}

// must runs a script that must succeed.
func (r *ciRunner) must(dir, script string) string {
	r.t.Helper()
	out, err := r.shell(dir, "bash -e", script, nil)
	if err != nil {
		r.t.Fatalf("%v\n%s\nprints\n%s", err, script, out)
	}
	return out
}

// clusters returns a file of a host's repository of clusters.
func (r *ciRunner) clusters(host, ref, file string) string {
	r.t.Helper()
	return r.must("/", "git --git-dir "+filepath.Join(r.forge.root, host, "example/clusters.git")+" show "+ref+":clusters/"+file+" || git --git-dir "+filepath.Join(r.forge.root, host, "example/clusters.git")+" ls-tree -r --name-only "+ref)
}

// A ciStep is a step of a GitHub job.
type ciStep struct {
	Uses, Run, If string
	With, Env     map[string]string
}

var ciExpression = regexp.MustCompile(`\$\{\{ *(.*?) *\}\}`)

// expand replaces the expressions of a text, as GitHub does.
func (r *ciRunner) expand(text string, matrix int) string {
	values := map[string]string{
		"github.token": jobToken, "github.event.number": "7", "github.actor": "ann", "secrets.CLUSTERS_TOKEN": clustersToken,
		"matrix.shard": fmt.Sprint(matrix),
	}
	return ciExpression.ReplaceAllStringFunc(text, func(s string) string {
		name := ciExpression.FindStringSubmatch(s)[1]
		if values[name] == "" {
			r.t.Fatalf("an expression of GitHub is not known: %s", name)
		}
		return values[name]
	})
}

// github runs the steps of a job on a fresh machine. It returns the output of
// the first step that fails.
func (r *ciRunner) github(branch string, matrix int, steps []ciStep) (string, error) {
	r.t.Helper()
	r.begin()
	sha := strings.TrimSpace(r.must(r.fleet, "git rev-parse HEAD"))
	for _, s := range steps {
		action, _, _ := strings.Cut(s.Uses, "@")
		switch {
		case s.If != "" && s.If != "always()" && s.If != "github.event_name == '"+r.event+"'":
		case action == "actions/checkout":
			depth := "--depth=1"
			if s.With["fetch-depth"] == "0" {
				depth = ""
			}
			r.must(r.work, "git clone -q "+depth+" --branch "+branch+" file://"+r.origin+" ./"+s.With["path"])
		case action == "docker/login-action":
			r.login(s.With["registry"], r.expand(s.With["username"], matrix), r.expand(s.With["password"], matrix))
		case action == "fleetc/fleetc":
			with := map[string]string{}
			for name, value := range s.With {
				with[name] = r.expand(value, matrix)
			}
			if out, err := r.action(with); err != nil {
				return out, err
			}
		case action == "github/codeql-action/upload-sarif":
		case s.Run == "":
			r.t.Errorf("a step uses what is not known here: %s", s.Uses)
		default:
			env := map[string]string{
				"GITHUB_API_URL": "https://" + githubAPI, "GITHUB_REPOSITORY": "example/fleet", "GITHUB_BASE_REF": "main", "GITHUB_SHA": sha,
			}
			for name, value := range s.Env {
				env[name] = r.expand(value, matrix)
			}
			if out, err := r.shell(r.work, "bash -e", r.expand(s.Run, matrix), env); err != nil {
				return s.Run + "\n" + out, err
			}
		}
	}
	return "", nil
}

// wrongFile is a file of the layer prod with a fault.
const wrongFile = "package fleet\n\nreleases: \"my-web\": defaults: prod: replicaCounts: 3\n"

// checkPullRequests runs the steps for commits of a pull request, which gets one comment
// with the mark and the differences of its last commit, and for a wrong fleet, whose fault
// is an annotation.
func (r *ciRunner) checkPullRequests(steps []ciStep, mark string) {
	r.t.Helper()
	r.event = "pull_request"
	for _, n := range []int{5, 7} {
		r.setReplicas(n)
		r.push("change", "more")
		if out, err := r.github("change", 0, steps); err != nil {
			r.t.Fatalf("%v\n%s", err, out)
		}
		body := ""
		if len(r.forge.comments) == 1 {
			body, _ = r.forge.comments[0]["body"].(string)
		}
		if !strings.HasPrefix(body, "<!-- "+mark+" -->\n**1 object updated in 2 of 3 clusters**\n") || !strings.Contains(body, fmt.Sprintf("\n+ spec.replicas: %d\n", n)) {
			r.t.Errorf("%d comments, the first is\n%s", len(r.forge.comments), body)
		}
	}
	writeFile(r.t, r.fleet, "environments/prod/wrong.cue", wrongFile)
	r.push("wrong", "wrong")
	if out, err := r.github("wrong", 0, steps); err == nil || !strings.Contains(out, "::error file=environments/prod/wrong.cue,line=3,") {
		r.t.Errorf("a wrong fleet: %v\n%s", err, out)
	}
}

// ciBlocks returns the YAML blocks in a section of docs/ci.md.
func ciBlocks(t *testing.T, section string) []string {
	t.Helper()
	var out []string
	for _, b := range readPage(t, "docs/ci.md").blocks {
		if b.section == section && b.lang != "console" {
			out = append(out, strings.Join(b.lines, "\n"))
		}
	}
	if len(out) == 0 {
		t.Fatalf("docs/ci.md has no templates in %q", section)
	}
	return out
}

// decodeCI decodes a template.
func decodeCI[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return v
}

type ciJob struct {
	If       string
	Steps    []ciStep
	Strategy struct{ Matrix struct{ Shard []int } }
}

// TestGitHubJobs runs the jobs for GitHub Actions in which the action only installs fleetc.
func TestGitHubJobs(t *testing.T) {
	t.Parallel()
	r := newCIRunner(t)
	r.publish()
	blocks := ciBlocks(t, "GitHub Actions")
	if len(blocks) != 4 {
		t.Fatalf("%d templates", len(blocks))
	}
	export := decodeCI[struct{ Jobs map[string]ciJob }](t, blocks[0]).Jobs["export"].Steps
	propose := append(slices.Clone(export[:len(export)-1]), decodeCI[[]ciStep](t, blocks[1])...)
	push := decodeCI[map[string]ciJob](t, blocks[2])["push"]
	scan := slices.Concat(export[:1], decodeCI[[]ciStep](t, blocks[3]))
	must := func(branch string, matrix int, steps []ciStep) {
		t.Helper()
		if out, err := r.github(branch, matrix, steps); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}

	must("main", 0, export)
	writeFile(t, r.fleet, "environments/prod/wrong.cue", wrongFile)
	r.push("wrong", "wrong")
	if out, err := r.github("wrong", 0, scan); err == nil || !strings.Contains(r.must(r.work, "cat fleet.sarif"), `"version": "2.1.0"`) {
		t.Errorf("a wrong fleet is scanned: %v\n%s", err, out)
	}
	if err := os.Remove(filepath.Join(r.fleet, "environments/prod/wrong.cue")); err != nil {
		t.Fatal(err)
	}

	// A branch has one pull request, even after further commits.
	for _, n := range []int{7, 9} {
		r.setReplicas(n)
		r.push("main", "more")
		must("main", 0, propose)
		if got := r.clusters(githubHost, "fleetc/prod", "prod/eu/my-web/deployment-web-my-web-plain.yaml"); !strings.Contains(got, fmt.Sprintf("replicas: %d", n)) {
			t.Errorf("the branch has\n%s", got)
		}
	}
	if want := map[string]string{"fleetc/prod": "Update clusters: fleetc/prod"}; !maps.Equal(r.forge.pulls, want) {
		t.Errorf("pull requests %v, want %v", r.forge.pulls, want)
	}

	for _, shard := range push.Strategy.Matrix.Shard {
		must("main", shard, push.Steps)
	}
	r.wantImages(githubRegistry, "example/clusters")
}

// wantImages checks that a registry has an artifact of each cluster.
func (r *ciRunner) wantImages(host, repository string) {
	r.t.Helper()
	for _, cluster := range []string{"dev", "prod/eu", "prod/us"} {
		if want := repository + "/" + cluster + ":main"; !r.forge.images[host][want] {
			r.t.Errorf("%s has no %s, and has %v", host, want, slices.Sorted(maps.Keys(r.forge.images[host])))
		}
	}
}

// gitlab runs the script of a job on a fresh machine, and returns its output.
func (r *ciRunner) gitlab(branch, script string) (string, error) {
	r.t.Helper()
	r.begin()
	r.must(r.work, "git clone -q --branch "+branch+" file://"+r.origin+" .")
	return r.shell(r.work, "bash -eo pipefail", script, map[string]string{
		"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main", "CI_API_V4_URL": "https://" + gitlabHost + "/api/v4", "CI_PROJECT_ID": "42",
		"CI_MERGE_REQUEST_IID": "7", "COMMENT_TOKEN": jobToken, "CI_SERVER_HOST": gitlabHost, "CLUSTERS_TOKEN": clustersToken,
		"CI_REGISTRY": gitlabRegistry, "CI_REGISTRY_IMAGE": gitlabRegistry + "/example", "CI_REGISTRY_USER": "ann", "CI_REGISTRY_PASSWORD": jobToken,
		"CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "1",
	})
}

// TestShellJobs runs the Task for Tekton and the scripts for other systems.
func TestShellJobs(t *testing.T) {
	t.Parallel()
	r := newCIRunner(t)
	git := "[user]\nname = fleetc\nemail = fleetc@example.com\n[credential \"https://" + plainHost + "\"]\nhelper = \"!f() { echo username=ci; echo password=" + clustersToken + "; }; f\"\n"
	task := decodeCI[struct {
		Spec struct {
			Steps []struct {
				Script     string
				WorkingDir string `yaml:"workingDir"`
				Env        []struct{ Name, Value string }
			}
		}
	}](t, ciBlocks(t, "Tekton")[0])
	docker := t.TempDir()
	r.login(tektonRegistry, "ann", jobToken)
	if err := os.Rename(filepath.Join(r.home, ".docker/config.json"), filepath.Join(docker, "config.json")); err != nil {
		t.Fatal(err)
	}
	writeFile(t, r.home, ".gitconfig", git)
	tekton := strings.NewReplacer("/tekton/home", r.work, "$(workspaces.git.path)", r.home, "$(workspaces.docker.path)", docker, "$(workspaces.docker.bound)", "true",
		"$(params.fleet)", "file://"+r.origin, "$(params.revision)", "main", "$(params.clusters)", "https://"+plainHost+"/example/clusters")
	for _, s := range task.Spec.Steps {
		env := map[string]string{}
		for _, e := range s.Env {
			env[e.Name] = tekton.Replace(e.Value)
		}
		if out, err := r.shell(tekton.Replace(s.WorkingDir), "sh", tekton.Replace(s.Script), env); err != nil {
			t.Fatalf("%v\n%s\n%s", err, s.Script, out)
		}
	}
	if got := r.clusters(plainHost, "main", "dev/my-web/deployment-web-my-web-plain.yaml"); !strings.Contains(got, "replicas: 2") {
		t.Errorf("the export has\n%s", got)
	}
	r.wantImages(tektonRegistry, "clusters")

	r.setReplicas(5)
	scripts := slices.Concat(ciBlocks(t, "A shell"), ciBlocks(t, "Before a commit")[1:])
	if len(scripts) != 2 {
		t.Fatalf("%d scripts", len(scripts))
	}
	for _, script := range scripts {
		if out, err := r.shell(r.fleet, "sh", strings.ReplaceAll(script, plainHost+"/clusters", plainHost+"/example/clusters"), nil); err != nil {
			t.Fatalf("%v\n%s\n%s", err, script, out)
		}
	}
	if got := r.clusters(plainHost, "main", "prod/eu/my-web/deployment-web-my-web-plain.yaml"); !strings.Contains(got, "replicas: 5") {
		t.Errorf("the export has\n%s", got)
	}
}
