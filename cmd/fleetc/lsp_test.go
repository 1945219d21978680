package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/testdata/fleets"
)

// lspFleet is a fleet with an object in each cluster.
var lspFleet = map[string]string{
	"cue.mod/module.cue": "module: \"example.com/small\"\nlanguage: version: \"v0.17.0\"\n",
	"environments/fleet.cue": "package fleet\n\nimport \"github.com/fleetc/fleetc/schema\"\n\ncluster?: schema.#Cluster\nreleases: schema.#Releases\n" +
		"releases: web: {namespace: \"a\", objects: [{apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"web\", data: a: _a}]}\n_a: string\n",
	"environments/dev/env.cue":          "package fleet\n\nenvironment: \"dev\"\n_a: *\"é𝄞\" | string\n",
	"environments/dev/one/cluster.cue":  "package fleet\n\ncluster: {name: \"one\", kubernetes: \"1.36\"}\n",
	"environments/dev/two/cluster.cue":  "package fleet\n\ncluster: {name: \"two\", kubernetes: \"1.36\"}\n",
	"environments/prod/one/cluster.cue": "package fleet\n\nenvironment: \"prod\"\ncluster: {name: \"one\", kubernetes: \"1.36\"}\n_a: \"b\"\n",
}

// lspDiagnostic is a diagnostic of the server. Its data is the fault.
type lspDiagnostic struct {
	Range struct {
		Start, End struct{ Line, Character int }
	}
	Message            string
	RelatedInformation []any
	Data               diag.Fault
}

// lspPublication are the diagnostics that the server published for a file.
type lspPublication struct {
	URI         string
	Version     int
	Diagnostics []lspDiagnostic
}

// lspClient is a client of fleetc lsp.
type lspClient struct {
	*testing.T
	rpc       *jrpc2.Client
	in        io.Writer
	cmd       *exec.Cmd
	published chan lspPublication
	faults    map[string][]lspDiagnostic // by file
	versions  map[string]int
}

// lspChannel sends the published diagnostics in the order in which they arrive. The client
// of the library handles notifications in any order.
type lspChannel struct {
	channel.Channel
	published chan<- lspPublication
}

func (c lspChannel) Recv() ([]byte, error) {
	for {
		data, err := c.Channel.Recv()
		var message struct {
			Method string
			Params json.RawMessage
		}
		if err != nil || json.Unmarshal(data, &message) != nil || message.Method != "textDocument/publishDiagnostics" {
			return data, err
		}
		var p lspPublication
		if err := json.Unmarshal(message.Params, &p); err != nil {
			return nil, err
		}
		c.published <- p
	}
}

func startLSP(t *testing.T) *lspClient {
	t.Helper()
	return startLSPWith(t, nil, "--offline")
}

// startLSPWith starts the server with flags for a client with capabilities of workspaces.
func startLSPWith(t *testing.T, capabilities map[string]any, flags ...string) *lspClient {
	t.Helper()
	cmd := exec.Command("fleetc", append(flags, "--cache-dir", t.TempDir(), "lsp")...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	c := &lspClient{T: t, in: in, cmd: cmd, published: make(chan lspPublication, 1000), faults: map[string][]lspDiagnostic{}, versions: map[string]int{}}
	registered := make(chan string, 1)
	c.rpc = jrpc2.NewClient(lspChannel{channel.LSP(out, in), c.published}, &jrpc2.ClientOptions{
		OnNotify: func(r *jrpc2.Request) { t.Errorf("%s: %s", r.Method(), r.ParamString()) },
		OnCallback: func(_ context.Context, r *jrpc2.Request) (any, error) {
			registered <- r.ParamString()
			return nil, nil
		},
	})
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	workspace := map[string]any{"didChangeWatchedFiles": map[string]any{"dynamicRegistration": true}}
	maps.Copy(workspace, capabilities)
	c.call("initialize", map[string]any{"processId": nil, "rootUri": nil, "capabilities": map[string]any{"workspace": workspace}})
	c.notify("initialized", map[string]any{})
	if got := <-registered; !strings.Contains(got, "workspace/didChangeWatchedFiles") {
		t.Fatalf("the server registers %s", got)
	}
	return c
}

func (c *lspClient) call(method string, params any) {
	c.Helper()
	if _, err := c.rpc.Call(context.Background(), method, params); err != nil {
		c.Fatalf("%s: %v", method, err)
	}
}

func (c *lspClient) notify(method string, params any) {
	c.Helper()
	if err := c.rpc.Notify(context.Background(), method, params); err != nil {
		c.Fatalf("%s: %v", method, err)
	}
}

func lspDocument(file string, version int, text string) map[string]any {
	return map[string]any{"uri": "file://" + file, "languageId": "cue", "version": version, "text": text}
}

func (c *lspClient) open(file, text string) {
	c.Helper()
	c.versions[file] = 1
	c.notify("textDocument/didOpen", map[string]any{"textDocument": lspDocument(file, 1, text)})
	c.wait(file)
}

// change sends changes of an open file and waits for its diagnostics.
func (c *lspClient) change(file string, changes ...map[string]any) {
	c.Helper()
	c.versions[file]++
	c.notify("textDocument/didChange", map[string]any{"textDocument": lspDocument(file, c.versions[file], ""), "contentChanges": changes})
	c.wait(file)
}

// wait waits for the diagnostics of a check of the current version of a file. The server
// publishes those of the last open file of the fleet at the end of a check.
func (c *lspClient) wait(file string) {
	c.Helper()
	root, _, _ := strings.Cut(file, "environments")
	last := file
	for open := range c.versions {
		if strings.HasPrefix(open, root) {
			last = max(last, open)
		}
	}
	current := false
	for p := range c.published {
		c.add(p)
		current = current || p.URI == "file://"+file && p.Version == c.versions[file]
		if current && p.URI == "file://"+last {
			return
		}
	}
}

func (c *lspClient) add(p lspPublication) {
	file := strings.TrimPrefix(p.URI, "file://")
	if c.faults[file] = p.Diagnostics; len(p.Diagnostics) == 0 {
		delete(c.faults, file)
	}
}

// all returns the published faults, as texts in order.
func (c *lspClient) all() []string {
	out := []string{}
	for _, list := range c.faults {
		for _, d := range list {
			out = append(out, faultText(c.T, d.Data))
		}
	}
	slices.Sort(out)
	return out
}

func faultText(t *testing.T, f diag.Fault) string {
	t.Helper()
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// vetted returns the faults of fleetc vet for a fleet, as texts in order.
func vetted(t *testing.T, dir string) []string {
	t.Helper()
	text, err := exec.Command("fleetc", "-C", dir, "--offline", "--cache-dir", t.TempDir(), "vet", "-o", "json").Output()
	var result struct{ Faults []diag.Fault }
	if jsonErr := json.Unmarshal(text, &result); jsonErr != nil {
		t.Fatal(err, jsonErr)
	}
	out := []string{}
	for _, f := range result.Faults {
		out = append(out, faultText(t, f))
	}
	slices.Sort(out)
	return out
}

func lspDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	fleets.Write(t, dir, lspFleet)
	return dir
}

// replaced is a change of a range, in lines and UTF-16 code units.
func replaced(line, from, to int, text string) map[string]any {
	return map[string]any{"text": text, "range": map[string]any{
		"start": map[string]any{"line": line, "character": from}, "end": map[string]any{"line": line, "character": to},
	}}
}

// The faults of unsaved text are shown in all files of the fleet, with positions in UTF-16,
// and disappear when they are mended.
func TestLSPDiagnostics(t *testing.T) {
	dir := lspDir(t)
	c := startLSP(t)
	env := filepath.Join(dir, "environments/dev/env.cue")
	c.open(env, lspFleet["environments/dev/env.cue"])
	if got := c.all(); len(got) > 0 {
		t.Fatalf("a fleet without faults has %v", got)
	}
	c.change(env, replaced(3, 7, 8, "")) // half of a clef has no position
	c.change(env, map[string]any{"text": "package fleet\n\nenvironment: \"dev\"\n_x: {x: \"é𝄞\"}, _a: 1\n"})
	list := c.faults[env]
	if len(list) != 2 || list[0].Range.Start.Line != 3 || list[0].Range.Start.Character != len(utf16.Encode([]rune("_x: {x: \"é𝄞\"}, _a: "))) ||
		!strings.Contains(list[0].Message, "dev/one, dev/two") || len(list[0].RelatedInformation) == 0 {
		t.Errorf("the faults of %s are %+v", env, c.faults)
	}
	one := filepath.Join(dir, "environments/dev/one/cluster.cue")
	c.open(one, "package fleet\n\ncluster: {name: \"one\", kubernetes: \"1.36\"}\nreleases: web: namespac: \"a\"\n")
	if len(c.faults[one]) == 0 || len(c.faults[env]) == 0 {
		t.Errorf("the faults are %v", c.all())
	}
	c.change(env, map[string]any{"text": lspFleet["environments/dev/env.cue"]})
	if len(c.faults[env]) > 0 || len(c.faults[one]) == 0 {
		t.Errorf("the faults are %v", c.all())
	}
	c.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": "file://" + one}})
	for len(c.faults) > 0 {
		c.add(<-c.published)
	}
}

// A file outside of a fleet has no diagnostics, two fleets have their own, and the faults of
// a fleet whose directory is renamed disappear.
func TestLSPRoots(t *testing.T) {
	first, second, outside := lspDir(t), lspDir(t), filepath.Join(t.TempDir(), "a.cue")
	c := startLSP(t)
	c.notify("textDocument/didOpen", map[string]any{"textDocument": lspDocument(outside, 1, "package")})
	name := "environments/prod/one/cluster.cue"
	c.open(filepath.Join(first, name), lspFleet[name]+"cluster: x: 1\n")
	c.open(filepath.Join(second, name), lspFleet[name])
	if len(c.faults) != 1 || len(c.faults[filepath.Join(first, name)]) == 0 {
		t.Errorf("the faults are %v", c.all())
	}
	if err := os.Rename(first, first+"-renamed"); err != nil {
		t.Fatal(err)
	}
	c.notify("workspace/didChangeWatchedFiles", map[string]any{"changes": []any{map[string]any{"uri": "file://" + first, "type": 3}}})
	for len(c.faults) > 0 {
		c.add(<-c.published)
	}
}

// The unsaved text of a new file and of an embedded file are part of the fleet.
func TestLSPUnsavedFiles(t *testing.T) {
	dir, copied := lspDir(t), lspDir(t)
	embeds := map[string]string{
		"environments/dev/two/embeds.cue": "@extern(embed)\npackage fleet\n\n_a: data.a\ndata: _ @embed(file=data.yaml)\n", "environments/dev/two/data.yaml": "a: text\n",
	}
	fleets.Write(t, dir, embeds)
	fleets.Write(t, copied, embeds)
	c := startLSP(t)
	for _, edit := range []struct{ name, text string }{
		{"environments/dev/two/data.yaml", "a: text\n"},
		{"environments/dev/two/data.yaml", "a: 1\n"},
		{"environments/dev/two/data.yaml", "a: text\nb: [\n"},
		{"environments/dev/two/data.yaml", "a: new text\n"},
		{"environments/dev/one/more.cue", "package fleet\n\n_a: 1\n"},
		{"environments/dev/one/more.cue", "package fleet\n\nreleases: web: namespac: \"b\"\n"},
		{"environments/dev/one/more.cue", "package other\n"},
		{"environments/dev/one/more.cue", "package fleet\n"},
		{"environments/dev/new/cluster.cue", "package fleet\n\ncluster: {name: \"two\", kubernetes: \"0.1\"}\n"},
		{"environments/dev/new/cluster.cue", "package fleet\n\n_a: \"b\"\n"},
		{"environments/dev/new/cluster.cue", "package fleet\n\ncluster: {name: \"new\", kubernetes: \"1.36\"}\n"},
		{"environments/testdata/a.cue", "package fleet\n\nx\n"},
	} {
		file := filepath.Join(dir, edit.name)
		if c.versions[file] == 0 {
			c.open(file, edit.text)
		} else {
			c.change(file, map[string]any{"text": edit.text})
		}
		fleets.Write(t, copied, map[string]string{edit.name: edit.text})
		if got, want := c.all(), vetted(t, copied); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%s\ngot  %s\nwant %s", edit.name, edit.text, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		}
	}
}

// A saved file shows the faults of rendering.
func TestLSPRender(t *testing.T) {
	dir := lspDir(t)
	c := startLSP(t)
	name := "environments/fleet.cue"
	file := filepath.Join(dir, name)
	text := strings.Replace(lspFleet[name], "objects: [{apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"web\", data: a: _a}]", "manifests: \"missing\"", 1)
	c.open(file, text)
	if got := c.all(); len(got) > 0 {
		t.Fatalf("faults before the file is saved: %v", got)
	}
	fleets.Write(t, dir, map[string]string{name: text})
	c.notify("textDocument/didSave", map[string]any{"textDocument": map[string]any{"uri": "file://" + file}})
	for len(c.faults) == 0 {
		c.add(<-c.published)
	}
	if got := c.all(); !strings.Contains(fmt.Sprint(got), "missing") {
		t.Errorf("the faults are %v", got)
	}
}

// Malformed messages do not end the server, and exit does.
func TestLSPMalformed(t *testing.T) {
	dir := lspDir(t)
	c := startLSP(t)
	send := func(text string) {
		if _, err := io.WriteString(c.in, text); err != nil {
			t.Fatal(err)
		}
	}
	send("nonsense\r\n\r\nContent-Length: x\r\n\r\nContent-Length: 999999999999999999999\r\n\r\n" + strings.Repeat("a", 100_000) + "\r\n")
	for _, params := range []string{
		`1`, `{"textDocument": 1}`, `{"textDocument": {"uri": "file://%zz"}}`, `{"textDocument": {"uri": "http://a/b"}}`,
		`{"textDocument": {"uri": "file:///"}, "contentChanges": [{"range": {"start": {"line": -1, "character": -1}, "end": {"line": 99999999, "character": -5}}, "text": "a"}]}`,
	} {
		for _, method := range []string{"initialize", "textDocument/didOpen", "textDocument/didChange", "textDocument/didSave", "workspace/didChangeWatchedFiles", "none"} {
			message := `{"jsonrpc": "2.0", "method": "` + method + `", "params": ` + params + `}`
			send(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(message), message))
		}
	}
	name := "environments/prod/one/cluster.cue"
	c.open(filepath.Join(dir, name), "package fleet\n\ncluster: x: 1\n")
	c.change(filepath.Join(dir, name), replaced(-1, -3, 1<<30, "p"), replaced(1<<30, 1, 0, "p"))
	if len(c.faults) == 0 {
		t.Error("no faults")
	}
	c.call("shutdown", nil)
	c.notify("exit", nil)
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("exit after shutdown: %v", err)
	}
}

// Random edits have the faults of fleetc vet on the same text. FLEETC_LSP_EDITS is their
// number.
func TestLSPRandomEdits(t *testing.T) {
	n := 12
	if text := os.Getenv("FLEETC_LSP_EDITS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("objects", func(t *testing.T) {
		files := maps.Clone(lspFleet)
		delete(files, "cue.mod/module.cue")
		testRandomEdits(t, n, lspDir(t), lspDir(t), files)
	})
	t.Run("charts", func(t *testing.T) {
		dir, copied := fleets.Generate(t, 4), fleets.Generate(t, 4)
		files := map[string]string{}
		for _, name := range []string{"fleet.cue", "dev/env.cue", "prod/env.cue", "dev/c000/cluster.cue", "dev/c003/cluster.cue", "staging/c001/cluster.cue"} {
			text, err := os.ReadFile(filepath.Join(dir, "environments", name))
			if err != nil {
				t.Fatal(err)
			}
			files["environments/"+name] = string(text)
		}
		resolved, err := filepath.EvalSymlinks(dir)
		if err != nil {
			t.Fatal(err)
		}
		testRandomEdits(t, n, resolved, copied, files)
	})
}

// testRandomEdits edits the files of a fleet and of its copy.
func testRandomEdits(t *testing.T, n int, dir, copied string, original map[string]string) {
	c := startLSP(t)
	files := slices.Sorted(maps.Keys(original))
	texts := maps.Clone(original)
	for _, name := range files {
		c.open(filepath.Join(dir, name), texts[name])
	}
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"x", "\"", "{", "}", ": ", "1", "\n", "é", "releases: web: namespac: 1\n", "a: \"c\"", "environment: \"test\"\n", "name", "cluster: x: 1\n"}
	for i := range n {
		name := files[random.IntN(len(files))]
		if random.IntN(3) == 0 {
			texts[name] = original[name]
			c.change(filepath.Join(dir, name), map[string]any{"text": texts[name]})
		} else {
			lines := strings.Split(texts[name], "\n")
			line := random.IntN(len(lines))
			of := []rune(lines[line])
			from := random.IntN(len(of) + 1)
			to := min(len(of), from+random.IntN(3))
			piece := pieces[random.IntN(len(pieces))]
			lines[line] = string(of[:from]) + piece + string(of[to:])
			texts[name] = strings.Join(lines, "\n")
			c.change(filepath.Join(dir, name), replaced(line, len(utf16.Encode(of[:from])), len(utf16.Encode(of[:to])), piece))
		}
		fleets.Write(t, copied, texts)
		got, want := c.all(), vetted(t, copied)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("edit %d of %s:\n%s\ngot  %s\nwant %s", i, name, texts[name], strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		}
	}
}
