package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// sarifSchema compiles the SARIF 2.1.0 schema of OASIS. It is in the module
// that testdata/sarif requires, and verified by its go.sum.
var sarifSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	const module = "github.com/securego/gosec/v2"
	cmd := exec.Command("go", "mod", "download", "-json", module)
	cmd.Dir = filepath.Join("..", "..", "testdata", "sarif")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("the schema of SARIF comes with a module: go mod download %s: %w\n%s", module, err, out)
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal(out, &downloaded); err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(downloaded.Dir, "report", "sarif", "testdata", "sarif-schema-2.1.0.json"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	schema, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		return nil, err
	}
	const id = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(id, schema); err != nil {
		return nil, err
	}
	return c.Compile(id)
})

func validSARIF(text string) error {
	schema, err := sarifSchema()
	if err != nil {
		return err
	}
	log, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(log)
}

// cmdSARIF checks that a file, stdout or stderr is a valid SARIF 2.1.0 log:
// sarif FILE.
func cmdSARIF(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: sarif FILE")
	}
	ts.Check(validSARIF(ts.ReadFile(args[0])))
}

// TestSARIFSchema checks that the schema, which scripts rely on, rejects
// invalid logs.
func TestSARIFSchema(t *testing.T) {
	const log = `{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "x"}}, "results": [{"message": {"text": "y"}%s}]}]}`
	if err := validSARIF(strings.Replace(log, "%s", "", 1)); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{
		`, "level": "fatal"`, `, "ruleID": "x"`, `, "locations": {}`,
		`, "locations": [{"physicalLocation": {"region": {"startLine": 0}}}]`,
		`, "locations": [{"physicalLocation": {"artifactLocation": {"uri": "%zz"}}}]`,
	} {
		if validSARIF(strings.Replace(log, "%s", bad, 1)) == nil {
			t.Errorf("the schema allows %s", bad)
		}
	}
}

// TestSARIFReports checks logs of unusual faults.
func TestSARIFReports(t *testing.T) {
	odd := "a%b c:d\\e\x00\xff\n{0}[x](y)ü😀"
	list := diag.List{
		{Msg: "no place"},
		{At: []diag.Pos{{File: "environments"}}, Msg: "a file alone"},
		{At: []diag.Pos{{File: "a.cue", Line: 3}, {File: "/elsewhere/" + odd, Line: 1, Col: 7}}, Msg: "two"},
		{At: []diag.Pos{{File: odd, Line: 1, Col: 9}}, Path: odd, Msg: odd, Hint: odd, Clusters: []string{odd}},
		{At: []diag.Pos{{}}, Msg: ""},
	}
	for _, err := range []error{nil, list, list[:1], list[1:], fmt.Errorf("wrapped: %w", list)} {
		var b strings.Builder
		r := diag.Report{Err: err, Version: odd, Files: load.FaultFiles(t.TempDir())}
		if err := r.Write(&b, diag.SARIF); err != nil {
			t.Fatal(err)
		}
		if err := validSARIF(b.String()); err != nil {
			t.Errorf("%v\n%s", err, &b)
		}
	}
}

func TestFormatOf(t *testing.T) {
	for args, want := range map[string]diag.Format{
		"vet": "", "-o json": diag.JSON, "vet --nonsense --output=sarif x": diag.SARIF, "--output": "", "-o": "", "-o=json": diag.JSON, "-ojson": diag.JSON,
		"-o json --output github": diag.GitHub, "vet -- -o json": "", "--outputs json": "",
	} {
		if got := formatOf(strings.Fields(args)); got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}

// TestFormatFields checks that the page describes every field of the JSON.
func TestFormatFields(t *testing.T) {
	describes(t, readPage(t, "docs/ci.md"), append(jsonFields(reflect.TypeFor[diag.Fault]()), "faults"))
}
