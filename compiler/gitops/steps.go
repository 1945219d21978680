package gitops

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/fleet"
)

// A step is a part of a level that applies as a whole, before the next one.
type step struct {
	name    string // apps or, of a higher level, apps.level-1; apps.base, apps.pre-1 or apps.post-1 of what comes before and after it
	wave    int    // its place, which does not depend on how many others there are in its level
	objects []fleet.Object
}

// The places of the parts of a level among the waves.
const (
	wavesOfLevel = 1000
	mainWave     = 500
)

// nameOf returns the name of a level of a stage. Names of stages have no dots.
func nameOf(l fleet.ApplyStep) string {
	if l.Level == 0 {
		return l.Stage
	}
	return l.Stage + ".level-" + strconv.Itoa(l.Level)
}

// A part says what of its level an object is.
type part int

const (
	mainPart   part = iota
	prePart         // a hook that runs before
	postPart        // a hook that runs after
	notApplied      // a hook for something else, such as a deletion
)

// runAnnotation has a Job run again when it changes.
const runAnnotation = "fleetc.dev/run"

// partsOf returns the parts of its level that an object is of. Whether a chart
// is installed or upgraded is not known: hooks for either are for both.
func partsOf(o fleet.Object) []part {
	events := fleet.HookEvents(o.Unstructured)
	if len(events) == 0 {
		return []part{mainPart}
	}
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(events, n) })
	}
	var parts []part
	if has("pre-install", "pre-upgrade") {
		parts = append(parts, prePart)
	}
	// What does not run is there for all that come after it.
	if has("post-install", "post-upgrade") && (len(parts) == 0 || fleet.HookRuns(o.Unstructured)) {
		parts = append(parts, postPart)
	}
	if len(parts) == 0 {
		return []part{notApplied}
	}
	return parts
}

// steps returns the steps of the given objects of a bundle, in order. Those that
// would have nothing are left out. Hooks are as run makes them.
func steps(b *fleet.Bundle, objs []fleet.Object, run func(o fleet.Object, p part) fleet.Object) []step {
	var out []step
	for i, level := range b.Cluster.ApplySteps() {
		var base, rest []fleet.Object
		hooks := map[part]map[string][]fleet.Object{prePart: {}, postPart: {}} // by release
		for _, o := range objs {
			if o.Release.ApplyStep() != level {
				continue
			}
			for _, p := range partsOf(o) {
				switch {
				case p == notApplied:
				case p != mainPart:
					hooks[p][o.Release.Name] = append(hooks[p][o.Release.Name], o)
				case fleet.IsBase(o.GroupVersionKind().GroupKind()):
					base = append(base, o)
				default:
					rest = append(rest, o)
				}
			}
		}
		if len(hooks[prePart]) == 0 {
			// Whoever applies them knows that they come first.
			base, rest = nil, slices.Concat(base, rest)
		}
		add := func(name string, wave int, objects []fleet.Object) {
			if len(objects) > 0 {
				out = append(out, step{name, i*wavesOfLevel + wave, objects})
			}
		}
		name := nameOf(level)
		add(name+".base", 0, base)
		for n, objects := range inTurn(hooks[prePart], prePart, run) {
			add(name+".pre-"+strconv.Itoa(n+1), n+1, objects)
		}
		add(name, mainWave, rest)
		for n, objects := range inTurn(hooks[postPart], postPart, run) {
			add(name+".post-"+strconv.Itoa(n+1), mainWave+n+1, objects)
		}
	}
	return out
}

// inTurn returns the hooks of releases in the order of their weights: first
// those of every release up to its first that runs, then up to the second.
func inTurn(hooks map[string][]fleet.Object, p part, run func(fleet.Object, part) fleet.Object) [][]fleet.Object {
	var turns [][]fleet.Object
	for _, release := range slices.Sorted(maps.Keys(hooks)) {
		ordered := slices.Clone(hooks[release])
		slices.SortStableFunc(ordered, func(a, b fleet.Object) int {
			return cmp.Compare(fleet.HookWeight(a.Unstructured), fleet.HookWeight(b.Unstructured))
		})
		n := 0
		for _, o := range ordered {
			if n == len(turns) {
				turns = append(turns, nil)
			}
			turns[n] = append(turns[n], run(o, p))
			if fleet.HookRuns(o.Unstructured) {
				n++
			}
		}
	}
	return turns
}

// hook returns an object that was a hook of Helm's as one without its
// annotations. One that runs stays when it is through, since it would run again
// when it is not there; of one that runs twice, the second has a name of its own.
func hook(o fleet.Object, p part) fleet.Object {
	again := p == postPart && partsOf(o)[0] == prePart
	o.Unstructured = o.DeepCopy()
	a := o.GetAnnotations()
	for _, name := range []string{fleet.HookAnnotation, fleet.HookWeightAnnotation, fleet.HookDeleteAnnotation} {
		delete(a, name)
	}
	if len(a) == 0 {
		a = nil // as it was without them
	}
	o.SetAnnotations(a)
	if again {
		o.SetName(named(o.GetName(), "post"))
	}
	if o.GetKind() == "Job" {
		unstructured.RemoveNestedField(o.Object, "spec", "ttlSecondsAfterFinished")
	}
	return o
}

// maxJobName is how long the name of a Job or pod may be, since it is the value
// of a label too.
const maxJobName = 63

// named returns a name with something at its end.
func named(name, end string) string {
	if len(name)+1+len(end) > maxJobName {
		end = short(name) + "-" + end
		name = strings.TrimRight(name[:maxJobName-1-len(end)], "-.")
	}
	return name + "-" + end
}

// annotate sets an annotation of an object, which it copies.
func annotate(o fleet.Object, name, value string) fleet.Object {
	o.Unstructured = o.DeepCopy()
	a := o.GetAnnotations()
	if a == nil {
		a = map[string]string{}
	}
	a[name] = value
	o.SetAnnotations(a)
	return o
}

// contents returns what names the content of each release of a bundle.
func contents(b *fleet.Bundle) map[string]string {
	sums := map[string][]byte{}
	for i, o := range b.Objects {
		sum := b.Sum(i)
		sums[o.Release.Name] = append(sums[o.Release.Name], sum[:]...)
	}
	out := make(map[string]string, len(sums))
	for name, all := range sums {
		out[name] = short(string(all))
	}
	return out
}

// short returns a name for a text.
func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:5])
}
