package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestEditor opens a layer of a new fleet in CUE's language server and
// completes the values of a chart: the generated package is sufficient,
// without running fleetc.
func TestEditor(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "charts", "fluentd"), os.DirFS("../../testdata/charts/fluentd")); err != nil {
		t.Fatal(err)
	}
	fleetc(t, "-C", dir, "init", "example.com/infra")
	fleetc(t, "-C", dir, "chart", "add", "./charts/fluentd")
	const layer = `package fleet

import "example.com/infra/environments/charts/fluentd"

releases: "fluentd": fluentd.#Release & {
	namespace: "logging"
	values: output: {
		
	}
	defaults: root: {
		
	}
}
`
	file := filepath.Join(dir, "environments", "logging.cue")
	if err := os.WriteFile(file, []byte(layer), 0o644); err != nil {
		t.Fatal(err)
	}
	server := startLanguageServer(t, dir)
	server.open(file, layer)
	for line, want := range map[int][]string{
		7:  {"host", "port", "scheme"},
		10: {"output", "excludeNamespaces", "tolerations"},
	} {
		labels := server.complete(file, line)
		for _, w := range want {
			if !slices.Contains(labels, w) {
				t.Errorf("line %d completes to %v, without %s", line+1, labels, w)
			}
		}
	}
}

// TestEditorVersions completes the values of a chart with another version in a
// layer: the values of both versions are offered.
func TestEditorVersions(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for version, key := range map[string]string{"1.0.0": "former", "2.0.0": "latter"} {
		write("src/"+version+"/Chart.yaml", "apiVersion: v2\nname: web\nversion: "+version+"\n")
		write("src/"+version+"/values.yaml", key+": 1\n")
		write("src/"+version+"/templates/x.yaml", "# {{ .Values."+key+" }}\n")
	}
	if err := packageCharts(filepath.Join(dir, "src"), filepath.Join(dir, "packaged")); err != nil {
		t.Fatal(err)
	}
	repository := httptest.NewServer(http.FileServer(http.Dir(filepath.Join(dir, "packaged"))))
	defer repository.Close()
	const layer = `package fleet

import "example.com/infra/environments/charts/web"

releases: "web": web.#Release & {
	namespace: "web"
	values: {
		
	}
}
`
	fleetc(t, "-C", dir, "init", "example.com/infra")
	fleetc(t, "-C", dir, "--offline=false", "--cache-dir", dir, "chart", "add", repository.URL+"/web", "--version", "1.0.0")
	file := write("environments/fleet.cue", layer)
	write("environments/dev/cluster.cue", "package fleet\ncluster: {name: \"dev\", kubernetes: \"1.36\"}\n")
	write("environments/prod/cluster.cue", "package fleet\ncluster: {name: \"prod\", kubernetes: \"1.36\"}\n")
	fleetc(t, "-C", dir, "--offline=false", "--cache-dir", dir, "chart", "update", "web", "--version", "2.0.0", "--in", "dev")
	server := startLanguageServer(t, dir)
	server.open(file, layer)
	labels := server.complete(file, 7)
	for _, want := range []string{"former", "latter"} {
		if !slices.Contains(labels, want) {
			t.Errorf("it completes to %v, without %s", labels, want)
		}
	}
}

// A languageServer is a cue lsp process, used as editors do.
type languageServer struct {
	t   *testing.T
	dir string
	in  io.Writer
	out *bufio.Reader
	id  int
}

// cueCommand builds the cue command in the version of the CUE library, and
// returns its path.
func cueCommand(t *testing.T) string {
	t.Helper()
	path, err := toolPath("tools", "cue")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// toolPath builds a program of testdata/tools and returns its path.
func toolPath(module, name string) (string, error) {
	path, err := exec.Command("go", "tool", "-modfile=../../testdata/"+module+"/go.mod", "-n", name).Output()
	if err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	return strings.TrimSpace(string(path)), nil
}

func startLanguageServer(t *testing.T, dir string) *languageServer {
	t.Helper()
	cmd := exec.Command(cueCommand(t), "lsp")
	cmd.Dir = dir
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &languageServer{t: t, dir: dir, in: in, out: bufio.NewReader(out)}
}

// open starts a session and opens a file.
func (s *languageServer) open(file, text string) {
	s.t.Helper()
	s.call("initialize", map[string]any{
		"processId": nil, "rootUri": "file://" + s.dir, "capabilities": map[string]any{},
		"workspaceFolders": []any{map[string]any{"uri": "file://" + s.dir, "name": "fleet"}},
	})
	s.notify("initialized", map[string]any{})
	s.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{
		"uri": "file://" + file, "languageId": "cue", "version": 1, "text": text,
	}})
}

// complete returns the completions in a line, which is counted from 0.
func (s *languageServer) complete(file string, line int) []string {
	s.t.Helper()
	result := s.call("textDocument/completion", map[string]any{
		"textDocument": map[string]any{"uri": "file://" + file},
		"position":     map[string]any{"line": line, "character": 2},
	})
	var list struct {
		Items []struct {
			Label string `json:"label"`
		} `json:"items"`
	}
	if err := json.Unmarshal(result, &list); err != nil {
		s.t.Fatalf("%v: %s", err, result)
	}
	var labels []string
	for _, i := range list.Items {
		labels = append(labels, strings.Trim(strings.TrimSuffix(strings.TrimSuffix(i.Label, ":"), "?"), `"`))
	}
	return labels
}

func (s *languageServer) send(message map[string]any) {
	s.t.Helper()
	message["jsonrpc"] = "2.0"
	data, err := json.Marshal(message)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(s.in, "Content-Length: %d\r\n\r\n%s", len(data), data); err != nil {
		s.t.Fatal(err)
	}
}

func (s *languageServer) notify(method string, params any) {
	s.t.Helper()
	s.send(map[string]any{"method": method, "params": params})
}

// call sends a request and returns its result. It answers requests of the
// server with an empty result.
func (s *languageServer) call(method string, params any) json.RawMessage {
	s.t.Helper()
	s.id++
	s.send(map[string]any{"id": s.id, "method": method, "params": params})
	for {
		header, err := textproto.NewReader(s.out).ReadMIMEHeader()
		if err != nil {
			s.t.Fatalf("%s: %v", method, err)
		}
		n, err := strconv.Atoi(header.Get("Content-Length"))
		if err != nil {
			s.t.Fatal(err)
		}
		data := make([]byte, n)
		if _, err := io.ReadFull(s.out, data); err != nil {
			s.t.Fatal(err)
		}
		var message struct {
			ID     *int            `json:"id"`
			Method string          `json:"method"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal(data, &message); err != nil {
			s.t.Fatalf("%v: %s", err, data)
		}
		switch {
		case message.Method != "" && message.ID != nil:
			s.send(map[string]any{"id": *message.ID, "result": nil})
		case message.Method == "" && message.ID != nil && *message.ID == s.id:
			if len(message.Error) > 0 {
				s.t.Fatalf("%s: %s", method, message.Error)
			}
			return message.Result
		}
	}
}
