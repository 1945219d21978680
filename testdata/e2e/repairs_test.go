package e2e

import (
	"strings"
	"testing"
)

// Reverting drift adds applies to one revision and does not displace older bundles.
// A bundle that returns has one revision as well.
func TestRepairsKeepHistory(t *testing.T) {
	p := newHelm(t)
	p.edit("environments/app.cue", `delivery:  "helm"`, `delivery:  "manifests"`)
	p.write("environments/keep.cue", "package fleet\n\ncluster: history: 2\n")
	p.fleetc("apply", "--yes").ok(p).says(p, "this is revision 1")
	p.edit("environments/app.cue", `colour: "blue"`, `colour: "red"`)
	p.fleetc("apply", "--yes").ok(p).says(p, "this is revision 2")
	for range 3 {
		p.kubectl("one", "-n", "app", "patch", "configmap", "app", "--type=merge", "--field-manager=fleetc", "-p", `{"data":{"colour":"drift"}}`)
		p.fleetc("apply", "--yes", "--force-conflicts").ok(p).says(p, "this is revision 2")
	}
	p.fleetc("history").ok(p).says(p, `dev/one +2\*.* 4 times, last at .* by `, `dev/one +1 .* once`)
	p.fleetc("rollback", "dev/one", "--yes").ok(p).says(p, "this is revision 3")
	if got := p.colour("one"); got != "blue" {
		t.Errorf("after repairs and a rollback, the colour is %s", got)
	}
	d := p.fleetc("history").ok(p).says(p, `dev/one +3\*.*rollback to 1.* 2 times, last at .*, earlier as 1`, `dev/one +2 .* 4 times`)
	if n := strings.Count(d.stdout, "dev/one"); n != 2 {
		t.Errorf("the history has %d revisions:\n%s", n, d.stdout)
	}
	p.fleetc("history", "-o", "json").ok(p).says(p, `"applied": 4`, `"folded": \[`)
	p.fleetc("rollback", "dev/one", "--to", "1", "--yes").ok(p).says(p, "nothing was written")
	p.fleetc("rollback", "dev/one", "--to", "2", "--yes").ok(p).says(p, "this is revision 4")
	p.fleetc("rollback", "dev/one", "--to", "1", "--yes").ok(p).says(p, "goes back to revision 3", "has the bundle of revision 1 as revision 3 now", "this is revision 5")
}
