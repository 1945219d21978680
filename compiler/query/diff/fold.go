package diff

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// versionField matches the paths of labels and annotations that contain a
// chart version or the checksum of another object: see "Labels and
// Annotations" of Helm's best practices.
var versionField = regexp.MustCompile(`(^|\.)metadata\.(labels\.("(helm\.sh/chart|app\.kubernetes\.io/version)"|chart)|annotations\.("helm\.sh/chart"|"?checksum[/-][^"]*"?))$`)

// isVersionField reports whether the label or annotation at the path follows
// from a chart's version or from another object's content.
func isVersionField(path string) bool { return versionField.MatchString(path) }

// WithoutVersions returns a copy of an object without version labels and
// checksums.
func WithoutVersions(object map[string]any) map[string]any {
	out := runtime.DeepCopyJSON(object)
	dropVersions(out)
	return out
}

// dropVersions removes version labels and checksums from all metadata in a
// value.
func dropVersions(value any) {
	switch value := value.(type) {
	case map[string]any:
		metadata, _ := value["metadata"].(map[string]any)
		for _, kind := range []string{"labels", "annotations"} {
			texts, _ := metadata[kind].(map[string]any)
			maps.DeleteFunc(texts, func(key string, _ any) bool { return isVersionField("metadata." + kind + "." + quoteKey(key)) })
		}
		for _, v := range value {
			dropVersions(v)
		}
	case []any:
		for _, v := range value {
			dropVersions(v)
		}
	}
}

// foldable reports whether a change may be folded: it changes the value of a
// version label or checksum. Added and removed labels are shown.
func (f FieldChange) foldable() bool {
	return f.HasBefore && f.HasAfter && f.Manager == "" && isVersionField(f.Path)
}

// foldedFields collects the changes of version labels and checksums, which are
// shown in one line.
type foldedFields struct {
	objects  map[string]bool            // IDs of objects with such changes
	values   map[string]map[string]bool // "before -> after", by label
	clusters map[string]bool            // clusters without other changes
}

func newFoldedFields() foldedFields {
	return foldedFields{map[string]bool{}, map[string]map[string]bool{}, map[string]bool{}}
}

// fold removes changes of version labels and checksums, and objects without
// other changes.
func (s Style) fold(changes []Change) ([]Change, foldedFields) {
	folded := newFoldedFields()
	if s.All {
		return changes, folded
	}
	var out []Change
	for _, c := range changes {
		if c.Action != Update || !slices.ContainsFunc(c.Fields, FieldChange.foldable) {
			out = append(out, c)
			continue
		}
		folded.objects[c.ID] = true
		var rest []FieldChange
		for _, f := range c.Fields {
			if f.foldable() {
				folded.add(f)
			} else {
				rest = append(rest, f)
			}
		}
		if c.Fields = rest; len(rest) > 0 || c.FromRelease != "" || c.Live != (Live{}) && c.Live.Reason != "changed" {
			out = append(out, c)
		}
	}
	return out, folded
}

// merge adds the folded changes of a group without other changes.
func (ff *foldedFields) merge(g Group, of foldedFields) {
	for _, cluster := range g.Clusters {
		ff.clusters[cluster] = true
	}
	maps.Copy(ff.objects, of.objects)
	for key, values := range of.values {
		if ff.values[key] == nil {
			ff.values[key] = map[string]bool{}
		}
		maps.Copy(ff.values[key], values)
	}
}

func (ff *foldedFields) add(f FieldChange) {
	key := f.Path[strings.LastIndex(f.Path, "metadata.")+len("metadata."):]
	_, key, _ = strings.Cut(key, ".")
	key = strings.Trim(key, `"`)
	if ff.values[key] == nil {
		ff.values[key] = map[string]bool{}
	}
	if strings.HasPrefix(key, "checksum") {
		return
	}
	before, fits := inline(f.Before, 0)
	after, too := inline(f.After, 0)
	if fits && too {
		ff.values[key][before+" -> "+after] = true
	}
}

// String returns the line about the folded changes, or an empty string:
//
// version labels and checksums of 23 objects: checksum/config, helm.sh/chart
// app-1.0.0 -> app-1.1.0
func (ff foldedFields) String() string {
	if len(ff.objects) == 0 {
		return ""
	}
	const most = 6 // maximum number of listed keys
	var texts []string
	for _, key := range slices.Sorted(maps.Keys(ff.values)) {
		text := clippedPath(visible(key))
		switch values := slices.Sorted(maps.Keys(ff.values[key])); {
		case len(values) == 1:
			text += " " + values[0]
		case len(values) > 1:
			text += fmt.Sprintf(" (%d versions)", len(values))
		}
		texts = append(texts, text)
	}
	if n := len(texts) - most; n > 0 {
		texts = append(texts[:most], fmt.Sprintf("%d more", n))
	}
	of := diag.Count(len(ff.objects), "object", "objects")
	if len(ff.objects) == 1 {
		for id := range ff.objects {
			of = clippedLine(id, 0)
		}
	}
	text := "version labels and checksums of " + of
	if len(ff.clusters) > 0 {
		text += " in " + diag.Count(len(ff.clusters), "cluster", "clusters")
	}
	return text + ": " + strings.Join(texts, ", ")
}

// lines returns the folded changes as at most one line.
func (ff foldedFields) lines() []line {
	if text := ff.String(); text != "" {
		return []line{{'~', text}}
	}
	return nil
}
