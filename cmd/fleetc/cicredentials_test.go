package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var boundHelper = regexp.MustCompile(`credential\.https://[^ "']+\.helper`)

// TestExportTokenStaysWithItsHost runs the documented export jobs for a fleet
// with a chart from a host that requires a password. The host must not receive
// the token for the clusters, which it would if the credential helper applied
// to all hosts.
func TestExportTokenStaysWithItsHost(t *testing.T) {
	t.Parallel()
	r := newCIRunner(t)
	r.publish()
	r.must(r.fleet, "fleetc chart add git+https://"+chartsHost+"/charts.git//hello")
	writeFile(t, r.fleet, "environments/hello.cue", "package fleet\n\nimport \"example.com/infra/environments/charts/hello\"\n\nreleases: \"hello\": hello.#Release & {namespace: \"hello\"}\n")
	r.push("main", "chart")
	r.forge.mu.Lock()
	r.forge.private = true
	r.forge.mu.Unlock()

	blocks := ciBlocks(t, "GitHub Actions")
	export := decodeCI[struct{ Jobs map[string]ciJob }](t, blocks[0]).Jobs["export"].Steps
	propose := append(slices.Clone(export[:len(export)-1]), decodeCI[[]ciStep](t, blocks[1])...)
	for name, run := range map[string]func() (string, error){
		"GitHub, export":  func() (string, error) { return r.github("main", 0, export) },
		"GitHub, propose": func() (string, error) { return r.github("main", 0, propose) },
		"GitLab, export":  func() (string, error) { return r.gitlab("main", r.component("fleetc-export")) },
	} {
		for _, isBound := range []bool{true, false} {
			r.forge.mu.Lock()
			delete(r.forge.given, chartsHost)
			r.forge.mu.Unlock()
			edits := 0
			r.edit = func(script string) string {
				edits += len(boundHelper.FindAllString(script, -1))
				if isBound {
					return script
				}
				return boundHelper.ReplaceAllString(script, "credential.helper")
			}
			out, err := run()
			if err == nil || edits != 1 || !strings.Contains(out, chartsHost) {
				t.Errorf("%s: %d credential helpers, %v\n%s", name, edits, err, out)
			}
			if given := r.forge.given[chartsHost]; isBound == (len(given) > 0) {
				t.Errorf("%s, bound to a host: %v: the host of charts got %q\n%s", name, isBound, given, out)
			}
		}
	}
}
