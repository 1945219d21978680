package render

import (
	"bytes"
	"log"
	"regexp"
	"slices"
	"strings"
	"sync"

	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
)

// logging serialises what is done while the standard logger is captured.
// Helm's SDK reports lost values there and nowhere else.
var logging sync.Mutex

// captureLog calls f and returns the lines that the standard logger was given
// meanwhile.
func captureLog(f func()) []string {
	logging.Lock()
	defer logging.Unlock()
	var buf bytes.Buffer
	out, flags, prefix := log.Writer(), log.Flags(), log.Prefix()
	log.SetOutput(&buf)
	log.SetFlags(0)
	log.SetPrefix("")
	defer func() {
		log.SetOutput(out)
		log.SetFlags(flags)
		log.SetPrefix(prefix)
	}()
	f()
	return strings.FieldsFunc(buf.String(), func(r rune) bool { return r == '\n' })
}

// lost are the messages with which Helm says that it does not use a value that
// was given to it. Its other messages about tables are of values of the chart
// that make way for the user's.
var lost = []struct {
	line *regexp.Regexp
	msg  string
	keys func(match []string) []string // the keys at the end of the value's path
}{
	{
		regexp.MustCompile(`^Conflict: cannot merge map onto non-map for "(.*)"\. Skipping\.$`),
		"this global value is a map, and a dependency has another kind of value in its place",
		func(m []string) []string { return []string{chartutil.GlobalKey, m[1]} },
	},
	{
		regexp.MustCompile(`^key (.*) is table\. Skipping$`),
		"this global value does not reach a dependency, which has a map in its place",
		func(m []string) []string { return []string{chartutil.GlobalKey, m[1]} },
	},
	{
		regexp.MustCompile(`^warning: skipping globals because (destination|source) global is not a table\.$`),
		"global is not a map, and reaches no dependency",
		func([]string) []string { return []string{chartutil.GlobalKey} },
	},
}

// lostValues reports the user's values that Helm does not use as they were
// given, by what it logged when it merged them. What it logs of the chart
// alone is not the user's concern.
func (j *job) lostValues(lines []string, caps *chartutil.Capabilities) error {
	if len(lines) == 0 {
		return nil
	}
	_, own, err := coalesce(instance(j.source.chart), j.release, map[string]any{}, caps)
	if err != nil {
		own = nil // the chart does not even merge without the user's values
	}
	var faults diag.List
	for _, line := range lines {
		if slices.Contains(own, line) {
			continue
		}
		for _, l := range lost {
			if m := l.line.FindStringSubmatch(line); m != nil {
				faults.Add(lostValue(j.release, l.keys(m), l.msg))
				break
			}
		}
	}
	return faults.Err()
}

// lostValue is the fault for the user's value whose path ends in the keys.
func lostValue(r *fleet.Release, keys []string, msg string) error {
	d := &diag.Diag{
		At: []diag.Pos{r.Pos}, Path: r.Path(append([]string{"values"}, keys...)...),
		Msg: msg, Hint: "give it the type that the chart's values.yaml has",
	}
	if path, t := find(r.Values, keys); t != nil {
		d.Path = r.Path(append([]string{"values"}, path...)...)
		if t.Pos.IsValid() {
			d.At = []diag.Pos{t.Pos}
		}
	}
	return d
}

// find returns the first value, in the order of keys, whose path ends in the
// given one, and that path.
func find(t *fleet.Tree, end []string) ([]string, *fleet.Tree) {
	if at, depth := t.Lookup(end...); depth == len(end) {
		return end, at
	}
	for _, k := range t.Keys() {
		if path, at := find(t.Fields[k], end); at != nil {
			return append([]string{k}, path...), at
		}
	}
	return nil, nil
}
