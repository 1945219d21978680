package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/deliver/export"
)

// cmdReport pushes the report of a cluster to a bare repository: all Kustomizations that the
// branch main has for it now are in the state.
//
//	report REPOSITORY CLUSTER STATE AGE SINCE
//
// The report is as old as AGE says, and the objects are ready for SINCE: durations, such as
// 1h. FILE in place of STATE is the content of the report.
func cmdReport(ts *testscript.TestScript, neg bool, args []string) {
	const count = 5
	if neg || len(args) != count && len(args) != 3 {
		ts.Fatalf("usage: report REPOSITORY CLUSTER STATE AGE SINCE, or report REPOSITORY CLUSTER FILE")
	}
	repository, id := ts.MkAbs(args[0]), args[1]
	git := func(input string, words ...string) string {
		cmd := exec.Command("git", append([]string{"-C", repository, "-c", "user.name=cluster", "-c", "user.email=cluster@example.com"}, words...)...)
		cmd.Stdin = strings.NewReader(input)
		out, err := cmd.Output()
		ts.Check(err)
		return strings.TrimSpace(string(out))
	}
	var text string
	if len(args) == count {
		text = reportOf(ts, id, args[2:], git)
	} else {
		data, err := os.ReadFile(ts.MkAbs(args[2]))
		ts.Check(err)
		text = string(data)
	}
	blob := git(text, "hash-object", "-w", "--stdin")
	tree := git("100644 blob "+blob+"\t"+export.GitOpsReportFile+"\n", "mktree")
	git("", "update-ref", "refs/heads/"+export.GitOpsReportBranch(defaultReports, id), git("report", "commit-tree", tree))
}

// reportOf returns the text of a report. about has its state, age and since.
func reportOf(ts *testscript.TestScript, id string, about []string, git func(input string, words ...string) string) string {
	age, err := time.ParseDuration(about[1])
	ts.Check(err)
	since, err := time.ParseDuration(about[2])
	ts.Check(err)
	now := time.Now()
	var objects []export.GitOpsObject
	dir := "main:clusters/" + id + "/flux"
	for file := range strings.FieldsSeq(git("", "ls-tree", "--name-only", dir)) {
		var object map[string]any
		ts.Check(yaml.Unmarshal([]byte(git("", "show", dir+"/"+file)), &object))
		target, _ := export.GitOpsTargetOf(object)
		objects = append(objects, export.GitOpsObject{
			Kind: target.Kind, Namespace: target.Namespace, Name: target.Name, Source: target.Source, Fleet: "example.com/infra",
			State: export.GitOpsState(about[0]), Commit: git("", "rev-parse", "main"), Since: now.Add(-since), Message: "as the script says",
		})
	}
	data, err := json.Marshal(export.NewGitOpsReport(id, now.Add(-age), objects))
	ts.Check(err)
	return string(data)
}

// cmdAgo sets a variable to a time before now: ago VARIABLE DURATION.
func cmdAgo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: ago VARIABLE DURATION")
	}
	d, err := time.ParseDuration(args[1])
	ts.Check(err)
	ts.Setenv(args[0], time.Now().Add(-d).UTC().Format(time.RFC3339))
}
