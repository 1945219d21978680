package unify

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

func TestHealth(t *testing.T) {
	c, err := cluster(t, `
-- root.cue --
#certificates: {"Certificate.cert-manager.io": ready: [{type: "Ready"}], ...}
health: #certificates
health: "Job.batch": timeout: "1h30m"
health: "lb": {match: {kinds: ["Service"], names: ["a-*"]}, wait: false}
releases: [string]: {namespace: "n", objects: [#cm]}
releases: b: {}
-- prod.cue --
health: "Database.example.com": {
	ready: [{expression: "status.phase == 'Running'"}]
	progressing: [{expression: "status.phase == 'Upgrading'"}]
	failed: [{type: "Broken"}, {type: "Ready", status: "False", reasons: ["Lost", "Gone"]}]
}
-- eu.cue --
health: "Job.batch": wait: true
if cluster.name == "eu" {
	health: "CronJob.batch": wait: false
}
#quiet: {namespace: "n", objects: [#cm], health: "Pod": {match: {names: ["a"]}, wait: false}, ...}
releases: c: #quiet
releases: a: health: "Job.batch": wait: false
`)
	if err != nil {
		t.Fatal(text(err))
	}
	var b strings.Builder
	for _, rules := range [][]fleet.HealthRule{c.Health, c.Releases[0].Health, c.Releases[1].Health, c.Releases[2].Health} {
		for _, r := range rules {
			fmt.Fprintf(&b, "%s: %s %s %v", r.Pos, r.Name, encode(t, r.Match), r.Timeout)
			if r.Wait != nil {
				fmt.Fprintf(&b, " wait %v", *r.Wait)
			}
			b.WriteString("\n")
			for field, tests := range [][]fleet.HealthTest{r.Ready, r.Progressing, r.Failed} {
				for _, test := range tests {
					fmt.Fprintf(&b, "  %s: %d %s %s %v %s\n", test.Pos, field, test.Type, test.Status, test.Reasons, test.Expression)
				}
			}
		}
		b.WriteString("--\n")
	}
	const want = `environments/fleet.cue:2:17: Certificate.cert-manager.io {"kinds":["Certificate.cert-manager.io"]} 0s
  environments/fleet.cue:2:56: 0 Ready True [] 
environments/prod/eu/fleet.cue:4:10: CronJob.batch {"kinds":["CronJob.batch"]} 0s wait false
environments/prod/fleet.cue:2:9: Database.example.com {"kinds":["Database.example.com"]} 0s
  environments/prod/fleet.cue:3:10: 0   [] status.phase == 'Running'
  environments/prod/fleet.cue:4:16: 1   [] status.phase == 'Upgrading'
  environments/prod/fleet.cue:5:11: 2 Broken True [] 
  environments/prod/fleet.cue:5:29: 2 Ready False [Lost Gone] 
environments/fleet.cue:4:9: Job.batch {"kinds":["Job.batch"]} 1h30m0s wait true
environments/fleet.cue:5:9: lb {"kinds":["Service"],"names":["a-*"]} 0s wait false
--
environments/prod/eu/fleet.cue:8:22: Job.batch {"kinds":["Job.batch"]} 0s wait false
--
--
environments/prod/eu/fleet.cue:6:50: Pod {"names":["a"]} 0s wait false
--
`
	if got := b.String(); got != want {
		t.Errorf("rules:\n%s\nwant:\n%s", got, want)
	}
}

func TestHealthFaults(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"typos", `
-- root.cue --
health: "Certificate.cert-manager.io": {redy: [], ready: [{type: "Ready"}]}
`, `
environments/fleet.cue:2:41: health."Certificate.cert-manager.io".redy: field not allowed [FL1204]
    hint: did you mean ready?
    in prod/eu
`},
		{"in a list", `
-- root.cue --
health: x: {ready: [{typ: "Ready"}]}
`, `
environments/fleet.cue:2:22: health.x.ready.0.typ: field not allowed [FL1204]
    hint: did you mean type?
    in prod/eu
`},
		{"status", `
-- root.cue --
health: x: {ready: [{type: "Ready", status: "Maybe"}]}
`, `
environments/fleet.cue:2:45: health.x.ready.0.status: "Maybe" is not one of "False", "True", "Unknown" [FL1201]
    hint: use one of "False", "True", "Unknown"
    in prod/eu
`},
		{"neither", `
-- root.cue --
health: x: {ready: true}
`, `
environments/fleet.cue:2:20: health.x.ready: true is a bool, and must be a list [FL1203]
    hint: write [true]
    in prod/eu
`},
		{"patterns", `
-- root.cue --
releases: a: {namespace: "n", objects: [#cm], health: x: {match: names: ["[a"], wait: false}}
`, `
environments/fleet.cue:2:66: releases.a.health.x.match.names: malformed pattern [a [FL1211]
    hint: write \ before a literal bracket
    in prod/eu
`},
		{"conflict", `
-- root.cue --
health: x: {ready: [{expression: "a"}]}
-- eu.cue --
health: x: {ready: [{expression: "b"}], timeout: "5 min"}
releases: a: {namespace: "n", objects: [#cm], health: x: {match: names: ["[a"], wait: "no"}}
`, `
environments/prod/eu/fleet.cue:2:34: health.x.ready.0.expression: set to two different values, "b" and "a" [FL1202]
    environments/fleet.cue:2:34: and here
    hint: keep one of the two lines
    in prod/eu
environments/prod/eu/fleet.cue:2:50: health.x.timeout: invalid value "5 min": it must be a duration in h, m and s [FL1211]
    hint: write it as in "1m30s"
    in prod/eu
environments/prod/eu/fleet.cue:3:87: releases.a.health.x.wait: "no" is a string, and must be a bool [FL1203]
    environments/a.cue:5:15: and here
    hint: write true or false
    in prod/eu
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := cluster(t, test.in)
			if got := "\n" + text(err); got != test.want {
				t.Errorf("faults:%s\nwant:%s", got, test.want)
			}
		})
	}
}
