package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// kills returns the number of commands that a test kills: the environment variable
// KILLS, or few.
func kills(t *testing.T, few int) int {
	t.Helper()
	text := os.Getenv("KILLS")
	if text == "" {
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("KILLS=%s: want a number above 0", text)
	}
	return n
}

// killedRelease is a release of a chart with two ConfigMaps, in the round and
// delivery.
func killedRelease(round int, delivery string) string {
	return fmt.Sprintf("package fleet\n\nreleases: k: {\n\tnamespace: \"web\"\n\tstage: \"apps\"\n\tdelivery: %q\n\tchart: path: \"charts/k\"\n\tvalues: round: %d\n}\n", delivery, round)
}

// Rollbacks, Helm's installs, upgrades and uninstalls, and changes of the delivery
// are killed at any moment: the next apply converges and loses nothing.
func TestKillDeliveries(t *testing.T) {
	p := newWeb(t)
	p.write("charts/k/Chart.yaml", "apiVersion: v2\nname: k\nversion: 1.0.0\n")
	p.write("charts/k/values.yaml", "round: 0\n")
	p.write("charts/k/templates/a.yaml", `{{ range list "a" "b" }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: k-{{ . }}-{{ mod $.Values.round 3 }}}
data: {round: "{{ $.Values.round }}"}
{{ end }}`)
	deliveries := []string{"manifests", "helm"}
	random := rand.New(rand.NewPCG(11, 11))
	apply := []string{"apply", "--yes", "--prune-limit", "100"}
	p.write("environments/killed.cue", killedRelease(0, "helm"))
	p.fleetc(apply...).ok(p)
	takes := 2 * time.Second // duration of an apply; known after the first
	n := kills(t, 9)
	for round := 1; round <= n; round++ {
		delivery := deliveries[random.IntN(2)]
		p.write("environments/killed.cue", killedRelease(round, delivery))
		p.write("environments/numbered.cue", numberedRelease(round*5, round*5+10, round))
		command := apply
		switch random.IntN(4) {
		case 0:
			command = []string{"rollback", "dev/one", "--yes", "--prune-limit", "100"}
		case 1: // the release is removed
			p.write("environments/killed.cue", "package fleet\n")
		}
		p.begin(command...).kill(time.Duration(random.Int64N(int64(takes))))
		if round%3 != 0 && round != n {
			continue
		}
		p.write("environments/killed.cue", killedRelease(round, delivery))
		began := time.Now()
		p.fleetc(apply...).ok(p)
		takes = min(time.Since(began), 5*time.Second)
		p.checkNumbered(round*5, round*5+10, round)
		p.checkKilled(round, delivery)
		p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
	}
}

// checkKilled requires the two ConfigMaps of the round, no others of the release,
// and a Helm record exactly for Helm delivery.
func (p *place) checkKilled(round int, delivery string) {
	p.Helper()
	got := strings.Fields(p.kubectl("one", "-n", "web", "get", "configmaps", "-o", "jsonpath={range .items[*]}{.metadata.name}={.data.round} {end}"))
	got = slices.DeleteFunc(got, func(s string) bool { return !strings.HasPrefix(s, "k-") })
	want := []string{fmt.Sprintf("k-a-%d=%d", round%3, round), fmt.Sprintf("k-b-%d=%d", round%3, round)}
	if !slices.Equal(got, want) {
		p.Errorf("round %d, %s: there is %q, want %q", round, delivery, got, want)
	}
	records := p.kubectl("one", "-n", "web", "get", "secrets", "-l", "owner=helm,name=k", "-o", "name")
	if (records != "") != (delivery == "helm") {
		p.Errorf("round %d: delivered as %s, and Helm's records are %q", round, delivery, records)
	}
}
