package unify

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"cuelang.org/go/cue"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// actions reads the actions field of a cluster with its stages, or of a
// release, at the path. It adds faults that CUE does not report.
func (e *evaluation) actions(owner cue.Value, path string, release *fleet.Release, stages []string, faults *diag.List) []fleet.Action {
	var out []fleet.Action
	for _, f := range fieldsOf(owner, "actions") {
		r := &actionReader{evaluation: e, v: f.v, release: release, path: path + "." + cue.Str(f.name).String(), faults: faults}
		r.pos = e.posIn(owner, f.v)
		a := fleet.Action{Name: f.name, Stage: textOf(f.v, "stage"), After: textOf(f.v, "at") == "after", Pos: r.pos}
		a.ApplyOnly = lookup(f.v, "applyOnly").Exists()
		a.Task = r.step("", "POST", "http", "exec", "job", "manual")
		if len(present(f.v, "verify")) > 0 {
			a.Verify = r.step("verify", "GET", "http", "exec")
		}
		if len(present(f.v, "undo")) > 0 {
			a.Undo = r.step("undo", "POST", "http", "exec", "job")
		}
		r.settings(&a)
		if release != nil {
			a.Release, a.Stage = release.Name, release.Stage
		} else if a.Stage != "" && !slices.Contains(stages, a.Stage) {
			r.wrong("stage", "no stage is called "+a.Stage, diag.OneOf(a.Stage, stages), diag.Respell(a.Stage, stages)...)
		}
		out = append(out, a)
	}
	return out
}

// An actionReader reads one action.
type actionReader struct {
	*evaluation
	v       cue.Value
	release *fleet.Release // nil for an action of a stage
	path    string
	pos     diag.Pos
	faults  *diag.List
}

// wrong adds a fault at a field of the action, or at the action itself when
// field is empty.
func (r *actionReader) wrong(field, msg, hint string, fixes ...diag.Fix) {
	v, path := r.v, r.path
	if field != "" {
		v, path = lookup(v, field), path+"."+field
	}
	r.faults.Add(&diag.Diag{Code: diag.CodeActionInvalid, At: []diag.Pos{r.layerPos(r.pos, v)}, Path: path, Msg: msg, Hint: hint, Fixes: fixes})
}

// settings reads the environment and the timeout of the action.
func (r *actionReader) settings(a *fleet.Action) {
	r.decodeFields(r.v, map[string]any{"environment": &a.Environment}) // the schema reports errors
	a.Timeout = r.duration("timeout")
}

// duration reads the duration in a field of the action; 0 if the field is not set.
func (r *actionReader) duration(field string) time.Duration {
	text := textOf(r.v, field)
	d, err := time.ParseDuration(text)
	if text != "" && (err != nil || d <= 0) {
		r.wrong(field, "invalid duration "+diag.Visible(text, diag.MaxText), "write it as in 90s or 1h30m")
	}
	return d
}

// step reads a task of the action from a field, or from the action itself when
// field is empty.
func (r *actionReader) step(field, method string, kinds ...string) fleet.Task {
	v, in := r.v, ""
	if field != "" {
		v, in = lookup(v, field), field+"."
	}
	if set := present(v, kinds...); len(set) != 1 {
		r.wrong(field, "requires exactly one of "+strings.Join(kinds, ", ")+", but has "+orNone(set), "")
	}
	for _, kind := range kinds {
		r.checkReferences(lookup(v, kind), in+kind, kind)
	}
	s := fleet.Task{Manual: textOf(v, "manual")}
	if job := lookup(v, "job"); job.Exists() {
		s.Job = r.job(job, in+"job")
	}
	r.decodeFields(v, map[string]any{"exec": &s.Exec}) // the schema reports errors
	if http := lookup(v, "http"); http.Exists() {
		s.HTTP = r.request(http, in+"http", method)
	}
	if query := lookup(v, "prometheus"); query.Exists() {
		s.Prometheus = r.query(query, in+"prometheus")
	}
	return s
}

// referenceHints say how a task of each kind gets the value of a secret.
var referenceHints = map[string]string{
	"exec":       "set the value as an environment variable of fleetc apply, and name the variable in environment",
	"http":       "set the value as an environment variable of fleetc apply, and name the variable in secretHeaders",
	"prometheus": "set the value as an environment variable of fleetc apply, and name the variable in secretHeaders",
	"job":        "write the reference into a Secret of a release, and read that with secretKeyRef",
	"manual":     "remove the reference from the text",
}

// checkReferences adds a fault for a task of the kind that refers to a secret: it would
// send the text of the reference.
func (r *actionReader) checkReferences(v cue.Value, field, kind string) {
	if !v.Exists() {
		return
	}
	var names []string
	fleet.EachText(r.reader().tree(v).Native(), func(_ []string, text string) {
		names = append(names, fleet.References(text)...)
	})
	if len(names) > 0 {
		r.wrong(field, "actions do not replace the reference to the secret "+names[0], referenceHints[kind])
	}
}

// job reads a Job and sets its namespace.
func (r *actionReader) job(v cue.Value, field string) map[string]any {
	t := r.reader().tree(v)
	*r.faults = append(*r.faults, inexactNumbers(t, r.path+"."+field, kubernetesNumber)...)
	job, _ := t.Native().(map[string]any)
	meta, _ := job["metadata"].(map[string]any)
	switch {
	case job == nil || textOf(v, "metadata.namespace") != "":
	case r.release == nil:
		r.wrong(field, "the Job has no namespace", "set job: metadata: namespace")
	case meta == nil:
		job["metadata"] = map[string]any{"namespace": r.release.Namespace}
	default:
		meta["namespace"] = r.release.Namespace
	}
	return job
}

// request reads an HTTP request.
func (r *actionReader) request(v cue.Value, field, method string) *fleet.HTTPRequest {
	q := &fleet.HTTPRequest{URL: textOf(v, "url"), Method: cmp.Or(textOf(v, "method"), method), Body: textOf(v, "body"), Contains: textOf(v, "contains")}
	// The schema reports decoding errors.
	r.decodeFields(v, map[string]any{"headers": &q.Headers, "secretHeaders": &q.SecretHeaders, "status": &q.Status})
	r.checkURL(q.URL, field+".url")
	body := lookup(v, "json")
	if !body.Exists() {
		return q
	}
	if len(present(v, "body")) > 0 {
		r.wrong(field+".json", "the request has both body and json", "keep one of them")
	}
	if data, err := json.Marshal(r.reader().tree(body).Native()); err == nil {
		q.Body = string(data)
		isType := func(name string) bool { return strings.EqualFold(name, "Content-Type") }
		if !slices.ContainsFunc(slices.Collect(maps.Keys(q.Headers)), isType) {
			if q.Headers == nil {
				q.Headers = map[string]string{}
			}
			q.Headers["Content-Type"] = "application/json"
		}
	}
	return q
}

// checkURL adds a fault for an invalid URL, or one with credentials.
func (r *actionReader) checkURL(text, field string) {
	switch u, err := url.Parse(text); {
	case err != nil || u.Host == "":
		r.wrong(field, "invalid URL", "")
	case u.User != nil:
		r.wrong(field, "the URL contains credentials", "move them to secretHeaders")
	}
}

// query reads a query of Prometheus.
func (r *actionReader) query(v cue.Value, field string) *fleet.PrometheusQuery {
	q := &fleet.PrometheusQuery{URL: textOf(v, "url"), Query: textOf(v, "query")}
	// The schema reports decoding errors.
	r.decodeFields(v, map[string]any{"threshold": &q.Threshold, "secretHeaders": &q.SecretHeaders})
	r.checkURL(q.URL, field+".url")
	q.For = r.duration(field + ".for")
	return q
}

func orNone(set []string) string {
	if len(set) == 0 {
		return "none"
	}
	return strings.Join(set, " and ")
}
