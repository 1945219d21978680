package e2e

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"testing"
)

// A release whose record does not fit into a Secret is a fault of the plan, for an
// install and an upgrade: nothing is written.
func TestHelmTooLarge(t *testing.T) {
	p := newHelm(t)
	noise := make([]byte, 900<<10) // too much for Helm to pack into 1 MiB of base64
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(noise)
	large := func(contains string) {
		p.write("charts/app/files/noise.txt", contains)
	}
	const want = `environments/app.cue:.*HelmRelease.helm.sh app/app: the record that Helm stores of the release would have [0-9]+ bytes, and Kubernetes stores at most 1048576 in a Secret`
	for _, moment := range []string{"install", "upgrade"} {
		large(base64.StdEncoding.EncodeToString(noise))
		_, mark := p.writes("one", 0)
		for _, args := range [][]string{{"--dry-run"}, {"--yes"}} {
			p.fleetc(append([]string{"apply"}, args...)...).exits(p, 2).says(p, want)
		}
		if w, _ := p.writes("one", mark); len(w) > 0 {
			t.Errorf("%s: a refused apply writes %q", moment, w)
		}
		large(fmt.Sprint("small: ", moment))
		p.fleetc("apply", "--yes").ok(p)
	}
}

// An error that Helm prints on several lines is one line of a fault.
func TestHelmErrorLines(t *testing.T) {
	p := newHelm(t)
	p.write("charts/app/templates/found.yaml", `apiVersion: v1
kind: ConfigMap
metadata: {name: found}
{{ if lookup "v1" "Namespace" "" "app" }}data: {a: {b: c}}{{ end }}
`)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, `HelmRelease.helm.sh app/app: Helm: .*error occurred: \* .* cannot be handled as a ConfigMap`)
}
