package unify

import (
	"testing"
)

func TestActions(t *testing.T) {
	c, err := cluster(t, `
-- root.cue --
stages: [{name: "network"}, {name: "apps"}]
releases: a: {namespace: "n", objects: [#cm], actions: "migrate": {at: "before", job: spec: template: spec: {restartPolicy: "Never", containers: [{name: "x", image: "x"}], priority: 3}}}
actions: "drain": {
	at: "before", stage: "apps", timeout: "10m"
	http: {url: "https://lb.\(cluster.name).example.com/drain", json: {weight: 0}, secretHeaders: Authorization: "LB_TOKEN", headers: X: "y"}
	verify: http: {url: "https://lb.example.com/state", contains: "drained", status: [200, 204]}
	undo: exec: ["./undrain", "all"]
	environment: ["LB"]
}
actions: "ask": {at: "after", stage: "network", manual: "the dashboards are green", applyOnly: true}
`)
	if err != nil {
		t.Fatal(text(err))
	}
	const want = `[{"Name":"ask","Release":"","Stage":"network","After":true,"HTTP":null,"Exec":null,"Job":null,"Manual":"the dashboards are green","Verify":{"HTTP":null,"Exec":null,"Job":null,"Manual":""},"Undo":{"HTTP":null,"Exec":null,"Job":null,"Manual":""},"Environment":null,"Timeout":0,"ApplyOnly":true,"Pos":{"file":"environments/fleet.cue","line":11,"column":10}},{"Name":"drain","Release":"","Stage":"apps","After":false,"HTTP":{"URL":"https://lb.eu.example.com/drain","Method":"POST","Headers":{"Content-Type":"application/json","X":"y"},"SecretHeaders":{"Authorization":"LB_TOKEN"},"Body":"{\"weight\":0}","Status":null,"Contains":""},"Exec":null,"Job":null,"Manual":"","Verify":{"HTTP":{"URL":"https://lb.example.com/state","Method":"GET","Headers":null,"SecretHeaders":null,"Body":"","Status":[200,204],"Contains":"drained"},"Exec":null,"Job":null,"Manual":""},"Undo":{"HTTP":null,"Exec":["./undrain","all"],"Job":null,"Manual":""},"Environment":["LB"],"Timeout":600000000000,"ApplyOnly":false,"Pos":{"file":"environments/fleet.cue","line":4,"column":10}}]
[{"Name":"migrate","Release":"a","Stage":"apps","After":false,"HTTP":null,"Exec":null,"Job":{"apiVersion":"batch/v1","kind":"Job","metadata":{"namespace":"n"},"spec":{"template":{"spec":{"containers":[{"image":"x","name":"x"}],"priority":3,"restartPolicy":"Never"}}}},"Manual":"","Verify":{"HTTP":null,"Exec":null,"Job":null,"Manual":""},"Undo":{"HTTP":null,"Exec":null,"Job":null,"Manual":""},"Environment":null,"Timeout":0,"ApplyOnly":false,"Pos":{"file":"environments/fleet.cue","line":3,"column":56}}]`
	if got := encode(t, c.Actions) + "\n" + encode(t, c.Releases[0].Actions); got != want {
		t.Errorf("actions:\n%s\nwant:\n%s", got, want)
	}
}

func TestActionFaults(t *testing.T) {
	_, err := cluster(t, `
-- root.cue --
stages: [{name: "network"}, {name: "apps"}]
releases: a: {namespace: "n", objects: [#cm], actions: "x": {at: "before"}}
actions: "two": {at: "before", stage: "app", exec: ["a"], manual: "b"}
actions: "three": {at: "after", stage: "apps", exec: ["a"], verify: {}, undo: {exec: ["a"], http: url: "http://x"}}
actions: "four": {at: "after", stage: "apps", http: {url: "http://x", body: "x", json: 1}}
secrets: db: env: "DB"
actions: "five": {
	at: "before", stage: "apps"
	http: {url: "http://x/\(secrets.db.ref)", headers: b: "\(secrets.db.ref)"}
	verify: exec: ["check", secrets.db.ref]
	undo: job: {metadata: namespace: "x", spec: template: spec: containers: [{name: "x", env: [{name: "X", value: secrets.db.ref}]}]}
}
actions: "six": {at: "before", stage: "apps", manual: "\(secrets.db.ref)"}
`)
	const want = `
environments/fleet.cue:3:56: releases.a.actions.x: requires exactly one of http, exec, job, manual, but has none [FL2111]
    in prod/eu
environments/fleet.cue:4:10: actions.two: requires exactly one of http, exec, job, manual, but has exec and manual [FL2111]
    in prod/eu
environments/fleet.cue:4:32: actions.two.stage: no stage is called app [FL2111]
    hint: did you mean apps?
    in prod/eu
environments/fleet.cue:5:61: actions.three.verify: requires exactly one of http, exec, but has none [FL2111]
    in prod/eu
environments/fleet.cue:5:73: actions.three.undo: requires exactly one of http, exec, job, but has http and exec [FL2111]
    in prod/eu
environments/fleet.cue:6:82: actions.four.http.json: the request has both body and json [FL2111]
    hint: keep one of them
    in prod/eu
environments/fleet.cue:10:2: actions.five.http: actions do not replace the reference to the secret db [FL2111]
    hint: set the value as an environment variable of fleetc apply, and name the variable in secretHeaders
    in prod/eu
environments/fleet.cue:11:10: actions.five.verify.exec: actions do not replace the reference to the secret db [FL2111]
    hint: set the value as an environment variable of fleetc apply, and name the variable in environment
    in prod/eu
environments/fleet.cue:12:8: actions.five.undo.job: actions do not replace the reference to the secret db [FL2111]
    hint: write the reference into a Secret of a release, and read that with secretKeyRef
    in prod/eu
environments/fleet.cue:14:47: actions.six.manual: actions do not replace the reference to the secret db [FL2111]
    hint: remove the reference from the text
    in prod/eu
`
	if got := "\n" + text(err); got != want {
		t.Errorf("faults:%s\nwant:%s", got, want)
	}
}
