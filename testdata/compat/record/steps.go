package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

//go:embed fleet.txtar
var files []byte

// write writes all records.
func (r *recorder) write() error {
	for _, step := range []func() error{r.pin, r.apply, r.pause, r.plan, r.export, r.dump} {
		if err := step(); err != nil {
			return err
		}
	}
	// Nothing imports the copies of the libraries, and they are large.
	if err := os.RemoveAll(filepath.Join(r.fleet(), "cue.mod/pkg/github.com/fleetc/fleetc/lib")); err != nil {
		return err
	}
	if err := os.CopyFS(filepath.Join(r.out, "fleet"), os.DirFS(r.fleet())); err != nil {
		return err
	}
	return os.CopyFS(filepath.Join(r.out, "cache"), os.DirFS(filepath.Join(r.dir, "home", "cache", "fleetc")))
}

// unpack writes the files of the archive below a directory, such as fleet, to the fleet.
func (r *recorder) unpack(below string) error {
	for _, f := range txtar.Parse(files).Files {
		name, ok := strings.CutPrefix(f.Name, below+"/")
		if !ok {
			continue
		}
		file := filepath.Join(r.fleet(), filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, f.Data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// pin starts the fleet, and pins a chart of a repository into it.
func (r *recorder) pin() error {
	if err := os.MkdirAll(r.fleet(), 0o755); err != nil {
		return err
	}
	if err := r.fleetc("init", "example.com/infra"); err != nil {
		return err
	}
	archive, err := chartArchive()
	if err != nil {
		return err
	}
	repository := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/index.yaml":
			fmt.Fprint(w, "apiVersion: v1\nentries:\n  web:\n    - {name: web, version: 1.0.0, urls: [web-1.0.0.tgz]}\n")
		case "/web-1.0.0.tgz":
			_, _ = w.Write(archive)
		default:
			http.NotFound(w, req)
		}
	}))
	defer repository.Close()
	if err := r.fleetc("chart", "add", repository.URL+"/web"); err != nil {
		return err
	}
	if err := r.unpack("fleet"); err != nil {
		return err
	}
	if err := r.fleetc("chart", "vendor"); err != nil {
		return err
	}
	return r.fleetc("vet", "--render")
}

// chartArchive returns the archive of the chart.
func chartArchive() ([]byte, error) {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	for _, f := range txtar.Parse(files).Files {
		name, ok := strings.CutPrefix(f.Name, "chart/")
		if !ok {
			continue
		}
		if err := w.WriteHeader(&tar.Header{Name: "web/" + name, Mode: 0o644, Size: int64(len(f.Data))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.Data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	err := zip.Close()
	return out.Bytes(), err
}

// edit replaces a text in a file of the fleet.
func (r *recorder) edit(name, from, to string) error {
	file := filepath.Join(r.fleet(), filepath.FromSlash(name))
	text, err := os.ReadFile(file)
	if err == nil && !bytes.Contains(text, []byte(from)) {
		err = fmt.Errorf("%s has no %q", name, from)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(file, bytes.ReplaceAll(text, []byte(from), []byte(to)), 0o644)
}

const rootLayer = "environments/fleet.cue"

// apply makes two revisions. The second prunes an object.
func (r *recorder) apply() error {
	if err := r.fleetc("apply", "--yes", "dev/one"); err != nil {
		return err
	}
	if err := r.edit(rootLayer, `values: colour: "blue"`, `values: {colour: "green", extra: false}`); err != nil {
		return err
	}
	return r.fleetc("apply", "--yes", "dev/one")
}

// pause pauses a rollout, if the commit has rollouts: in the cluster, and in the branch of
// an export.
func (r *recorder) pause() error {
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	if help, err := r.run("--help"); err != nil || !strings.Contains(help, "\n  rollout ") {
		return err
	}
	if err := r.unpack("rollout"); err != nil {
		return err
	}
	if err := r.fleetc("rollout", "pause", "first", "--reason", "a pause of a test"); err != nil {
		return err
	}
	branch := filepath.Join(r.dir, "branch.git")
	if _, err := output(exec.CommandContext(r.ctx, "git", "init", "--quiet", "--bare", "--initial-branch=main", branch)); err != nil {
		return err
	}
	if err := r.fleetc("export", "--git", branch, "--branch", "main"); err != nil {
		return err
	}
	if err := r.fleetc("rollout", "pause", "first", "--reason", "a pause of a test", "--git", branch, "--branch", "main"); err != nil {
		return err
	}
	records, err := output(exec.CommandContext(r.ctx, "git", "-C", branch, "show", "main:.fleetc/rollout.json"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "rollout.json"), []byte(records), 0o644)
}

// plan writes a plan that is not carried out.
func (r *recorder) plan() error {
	if err := r.edit(rootLayer, `colour: "green"`, `colour: "red"`); err != nil {
		return err
	}
	file, err := filepath.Abs(filepath.Join(r.out, "plan.json"))
	if err != nil {
		return err
	}
	// The exit status is 1 if there is something to do.
	if err := r.fleetc("apply", "--plan", file, "dev/one"); err != nil && !exists(file) {
		return err
	}
	return nil
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// export exports the fleet in each layout.
func (r *recorder) export() error {
	for _, layout := range []string{"plain", "flux", "argocd"} {
		dir, err := filepath.Abs(filepath.Join(r.out, layout))
		if err != nil {
			return err
		}
		if err := r.fleetc("export", "--layout", layout, "--out", dir); err != nil {
			return err
		}
	}
	return nil
}

// dump writes the objects that the applies made, as the cluster has them: those of the
// releases and those in which fleetc and Helm keep records.
func (r *recorder) dump() error {
	var all []json.RawMessage
	for _, namespace := range []string{"kube-system", "fleetc-system", "web", "native"} {
		text, err := r.control.Kubectl(r.ctx, "--context", "one", "get", "namespace", namespace, "-o", "json", "--show-managed-fields")
		if err != nil {
			return err
		}
		all = append(all, json.RawMessage(text))
		if namespace == "kube-system" {
			continue // only its UID identifies the cluster
		}
		text, err = r.control.Kubectl(r.ctx, "--context", "one", "get", "configmaps,secrets,deployments", "-n", namespace, "-o", "json", "--show-managed-fields", "--field-selector", "metadata.name!=kube-root-ca.crt")
		if err != nil {
			return err
		}
		var list struct {
			Items []json.RawMessage `json:"items"`
		}
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			return err
		}
		all = append(all, list.Items...)
	}
	out, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "cluster.json"), append(out, '\n'), 0o644)
}
