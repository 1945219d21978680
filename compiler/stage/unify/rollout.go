package unify

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cuelang.org/go/cue"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// rollout reads the field rollout. It returns nil when there is none, or when CUE reports
// faults of it.
func (e *evaluation) rollout(v cue.Value, faults *diag.List) *fleet.Rollout {
	field, ok := e.rootField(v, "rollout", "the rollout, which is", "it", faults)
	if !ok {
		return nil
	}
	r := &fleet.Rollout{Pos: e.fieldPos(field)}
	for i, wave := range items(lookup(field, "waves")) {
		r.Waves = append(r.Waves, e.wave(wave, fmt.Sprintf("rollout.waves.%d", i), faults))
	}
	for i, freeze := range items(lookup(field, "freezes")) {
		r.Freezes = append(r.Freezes, e.freeze(freeze, fmt.Sprintf("rollout.freezes.%d", i), faults))
	}
	for i, w := range r.Waves {
		if j := slices.Index(r.WaveNames(), w.Name); j < i {
			faults.Add(rolloutFault(fmt.Sprintf("rollout.waves.%d.name", i), "two waves are called "+w.Name, "rename one of them", w.Pos, r.Waves[j].Pos))
		}
		if w.Others && i < len(r.Waves)-1 {
			faults.Add(rolloutFault(fmt.Sprintf("rollout.waves.%d.others", i),
				"wave "+w.Name+" has all other clusters, but is not the last wave", "move it to the end, or select its clusters", w.Pos))
		}
	}
	return r
}

// rootField returns a field that only the root layer can set. ok is false when there is
// none, or when it has faults. what and it name the field in the fault.
func (e *evaluation) rootField(v cue.Value, name, what, it string, faults *diag.List) (field cue.Value, ok bool) {
	field = lookup(v, name)
	if !field.Exists() {
		return field, false
	}
	for _, part := range diag.Conjuncts(field) {
		if layer := e.layerOf(labelPos(part)); layer != "" && layer != e.layers[0].Name {
			faults.Add(&diag.Diag{
				Code: diag.CodeNotRootLayer,
				At:   []diag.Pos{diag.CUEPos(e.root, labelPos(part))}, Path: name, Msg: fmt.Sprintf("layer %s sets %s for all clusters", layer, what),
				Hint: "write " + it + " in a file of the root layer, such as environments/" + name + ".cue",
			})
			return field, false
		}
	}
	return field, field.Validate(cue.Concrete(true)) == nil
}

func (e *evaluation) wave(v cue.Value, at string, faults *diag.List) fleet.Wave {
	w := fleet.Wave{Name: textOf(v, "name"), Others: lookup(v, "others").Exists(), Approve: textOf(v, "approve"), Pos: e.fieldPos(lookup(v, "name"))}
	clusters := lookup(v, "clusters")
	if clusters.Exists() {
		w.Clusters = e.clusterSelector(clusters, at+".clusters", faults)
	}
	if clusters.Exists() == w.Others {
		faults.Add(rolloutFault(at, "requires exactly one of clusters and others, but has "+orNone(present(v, "clusters", "others")),
			"write clusters to select clusters, or others: true in the last wave", w.Pos))
	}
	w.Verify = e.waveChecks(v, at+".verify", faults)
	e.parallel(&w, lookup(v, "parallel"), at+".parallel", faults)
	if n, err := lookup(v, "maxFailures").Int64(); err == nil {
		w.MaxFailures = int(n)
	}
	if text := textOf(v, "soak"); text != "" {
		var err error
		if w.Soak, err = time.ParseDuration(text); err != nil {
			faults.Add(rolloutFault(at+".soak", "invalid duration "+diag.Visible(text, diag.MaxText), "write it as in 90s or 1h30m", e.fieldPos(lookup(v, "soak"))))
		}
	}
	return w
}

// waveChecks reads the checks of a wave at the path.
func (e *evaluation) waveChecks(wave cue.Value, at string, faults *diag.List) []fleet.Action {
	var out []fleet.Action
	for _, f := range fieldsOf(wave, "verify") {
		r := &actionReader{evaluation: e, v: f.v, path: at + "." + cue.Str(f.name).String(), faults: faults}
		r.pos = e.posIn(wave, f.v)
		a := fleet.Action{Name: f.name, After: true, Pos: r.pos}
		a.Task = r.step("", "GET", "http", "exec", "job", "prometheus")
		r.settings(&a)
		out = append(out, a)
	}
	return out
}

// parallel reads a number of clusters, or a share of them.
func (e *evaluation) parallel(w *fleet.Wave, v cue.Value, at string, faults *diag.List) {
	if !v.Exists() {
		return
	}
	text, _ := v.String()
	if n, err := v.Int64(); err == nil {
		w.Parallel, text = int(n), strconv.FormatInt(n, 10)
	} else if share, ok := strings.CutSuffix(text, "%"); ok {
		w.Share, _ = strconv.Atoi(share)
	}
	if w.Parallel < 1 && (w.Share < 1 || w.Share > 100) {
		faults.Add(rolloutFault(at, fmt.Sprintf("%q is not a valid number of clusters", diag.Visible(text, diag.MaxText)),
			`write a number of at least 1, or a percentage of the clusters of the wave, such as "25%"`, e.fieldPos(v)))
	}
}

func (e *evaluation) freeze(v cue.Value, at string, faults *diag.List) fleet.Freeze {
	f := fleet.Freeze{From: textOf(v, "from"), To: textOf(v, "to"), Reason: textOf(v, "reason"), Pos: e.fieldPos(lookup(v, "from"))}
	for _, name := range []string{"from", "to"} {
		if text := textOf(v, name); !isDate(text) {
			faults.Add(rolloutFault(at+"."+name, fmt.Sprintf("%q is not a valid date", text), "write it as in 2026-12-31", e.fieldPos(lookup(v, name))))
		}
	}
	if f.To < f.From {
		faults.Add(rolloutFault(at+".to", fmt.Sprintf("the freeze ends on %s, before it begins on %s", f.To, f.From), "correct one of the days",
			e.fieldPos(lookup(v, "to")), f.Pos))
	}
	if except := lookup(v, "except"); except.Exists() {
		s := e.clusterSelector(except, at+".except", faults)
		f.Except = &s
	}
	return f
}

// rolloutFault returns a fault of the rollout at a path and its positions.
func rolloutFault(path, msg, hint string, at ...diag.Pos) error {
	return &diag.Diag{Code: diag.CodeRolloutInvalid, At: at, Path: path, Msg: msg, Hint: hint}
}

// isDate reports whether a text is a date that exists, such as 2026-12-31.
func isDate(text string) bool {
	_, err := time.Parse(time.DateOnly, text)
	return err == nil
}
