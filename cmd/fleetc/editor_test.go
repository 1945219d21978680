package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestEditor opens a layer of a new fleet in CUE's own language server, as an
// editor does, and asks it to complete the values of a chart: the generated
// package is all that it needs, fleetc does not run.
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
	server.call("initialize", map[string]any{
		"processId": nil, "rootUri": "file://" + dir, "capabilities": map[string]any{},
		"workspaceFolders": []any{map[string]any{"uri": "file://" + dir, "name": "fleet"}},
	})
	server.notify("initialized", map[string]any{})
	server.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{
		"uri": "file://" + file, "languageId": "cue", "version": 1, "text": layer,
	}})
	for _, test := range []struct {
		line int // from 0
		want []string
	}{
		{7, []string{"host", "port", "scheme"}},
		{10, []string{"output", "excludeNamespaces", "tolerations"}},
	} {
		result := server.call("textDocument/completion", map[string]any{
			"textDocument": map[string]any{"uri": "file://" + file},
			"position":     map[string]any{"line": test.line, "character": 2},
		})
		var list struct {
			Items []struct {
				Label string `json:"label"`
			} `json:"items"`
		}
		if err := json.Unmarshal(result, &list); err != nil {
			t.Fatalf("%v: %s", err, result)
		}
		var labels []string
		for _, i := range list.Items {
			labels = append(labels, strings.Trim(strings.TrimSuffix(strings.TrimSuffix(i.Label, ":"), "?"), `"`))
		}
		for _, w := range test.want {
			if !slices.Contains(labels, w) {
				t.Errorf("line %d completes to %v, without %s", test.line+1, labels, w)
			}
		}
	}
}

// A languageServer is a cue lsp process, spoken to as editors do.
type languageServer struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
	id  int
}

func startLanguageServer(t *testing.T, dir string) *languageServer {
	t.Helper()
	path, err := exec.Command("go", "tool", "-modfile=../../testdata/tools/go.mod", "-n", "cue").Output()
	if err != nil {
		t.Fatalf("build cue: %v", err)
	}
	cmd := exec.Command(strings.TrimSpace(string(path)), "lsp")
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
	return &languageServer{t: t, in: in, out: bufio.NewReader(out)}
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

// call sends a request and returns its result. Requests of the server's own
// are answered with nothing.
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
