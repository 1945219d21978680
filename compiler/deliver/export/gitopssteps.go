package export

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A step is a part of a level that applies as a unit before the next step.
type step struct {
	name    string // apps, or apps.level-1 for a higher level; apps.base, apps.pre-1 or apps.post-1 for parts before and after it
	wave    int    // sync wave, independent of the number of steps in the level
	objects []fleet.Object
}

// Offsets of the parts of a level among the waves.
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

// A part is the role of an object within its level.
type part int

const (
	mainPart   part = iota
	prePart         // hook that runs before
	postPart        // hook that runs after
	notApplied      // hook for another event, such as a deletion
)

// runAnnotation makes a changed Job run again.
const runAnnotation = "fleetc.dev/run"

// partsOf returns the parts of an object. The layout cannot tell installs from
// upgrades, so hooks for either run for both.
func partsOf(o fleet.Object) []part {
	events := fleet.HookEvents(o.Unstructured)
	if len(events) == 0 {
		return []part{mainPart}
	}
	hasAny := func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(events, n) })
	}
	var parts []part
	if hasAny("pre-install", "pre-upgrade") {
		parts = append(parts, prePart)
	}
	// A hook that does not run is present for all later parts.
	if hasAny("post-install", "post-upgrade") && (len(parts) == 0 || fleet.HookRuns(o.Unstructured)) {
		parts = append(parts, postPart)
	}
	if len(parts) == 0 {
		return []part{notApplied}
	}
	return parts
}

// steps returns the steps of the given objects, in order and without empty ones. run
// converts hooks.
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
			// They apply together, and the GitOps tool applies these kinds first.
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

// inTurn groups the hooks of releases by weight: first the hooks of each release up
// to the first that runs, then up to the second, and so on.
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

// hook converts a Helm hook to an object without Helm's annotations. A hook that
// runs stays after completion, because a missing one would run again. A hook that
// runs twice gets a second name.
func hook(o fleet.Object, p part) fleet.Object {
	again := p == postPart && partsOf(o)[0] == prePart
	o.Unstructured = o.DeepCopy()
	a := o.GetAnnotations()
	for _, name := range []string{fleet.HookAnnotation, fleet.HookWeightAnnotation, fleet.HookDeleteAnnotation} {
		delete(a, name)
	}
	if len(a) == 0 {
		a = nil // nil, as before the annotations
	}
	o.SetAnnotations(a)
	if again {
		o.SetName(withSuffix(o.GetName(), "post"))
	}
	if o.GetKind() == "Job" {
		unstructured.RemoveNestedField(o.Object, "spec", "ttlSecondsAfterFinished")
	}
	return o
}

// maxJobName limits the name of a Job or pod, which is also the value of a label.
const maxJobName = 63

// withSuffix appends a suffix to a name.
func withSuffix(name, end string) string {
	if len(name)+1+len(end) > maxJobName {
		end = short(name) + "-" + end
		name = strings.TrimRight(name[:maxJobName-1-len(end)], "-.")
	}
	return name + "-" + end
}

// annotate returns a copy of an object with an annotation.
func annotate(o fleet.Object, name, value string) fleet.Object {
	o.Unstructured = fleet.WithAnnotation(o.Unstructured, name, value)
	return o
}

// contents returns a digest of the content of each release of a bundle.
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

// short returns a short digest of a text.
func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:5])
}
