package diff

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestJSONReadsBack(t *testing.T) {
	hostile := "\x1b\x7f\u009b\u202e\u200b\U000e0041 <&> é ☃ 😀"
	c := change("p", nil, hostile)
	c.Fields = append(c.Fields, FieldChange{Path: "q", HasAfter: true}, FieldChange{Path: "r", Before: []any{hostile}, HasBefore: true, Secret: true})
	c.Partial, c.FromRelease = true, hostile
	r := Result{Groups: []Group{{[]string{hostile}, []Change{c, {ID: "B", Action: Update}}}}, Summary: Summary{Updated: 2, Changes: 2, Clusters: 1, Of: 1}}
	r.Created, r.Deleted, r.NotCompared = []WholeCluster{{hostile, 3}}, []WholeCluster{{"b", 0}}, []string{hostile}
	_, _, text := checkWritten(t, r, Style{})
	want := map[string]any{
		"summary":     map[string]any{"created": 0.0, "updated": 2.0, "deleted": 0.0, "changes": 2.0, "clusters": 1.0, "of": 1.0},
		"created":     []any{map[string]any{"cluster": hostile, "objects": 3.0}},
		"deleted":     []any{map[string]any{"cluster": "b", "objects": 0.0}},
		"notCompared": []any{hostile},
		"groups": []any{map[string]any{"clusters": []any{hostile}, "changes": []any{
			map[string]any{
				"id": "A n/b", "action": "update", "fromRelease": hostile, "partial": true,
				"fields": []any{
					map[string]any{"path": "p", "was": nil, "is": hostile},
					map[string]any{"path": "q", "is": nil},
					map[string]any{"path": "r", "was": []any{hostile}, "secret": true},
				},
			},
			map[string]any{"id": "B", "action": "update", "fields": []any{}},
		}}},
	}
	if got := decoded(t, text); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%v\nwant\n%v", got, want)
	}
}

func TestJSONOfNothing(t *testing.T) {
	_, _, text := checkWritten(t, Result{}, Style{})
	for _, list := range []string{"created", "deleted", "notCompared", "groups"} {
		if got := decoded(t, text); !reflect.DeepEqual(got.(map[string]any)[list], []any{}) {
			t.Errorf("%s: got %s", list, text)
		}
	}
}

func TestJSONOfNoJSON(t *testing.T) {
	r := Result{Groups: []Group{{[]string{"a"}, []Change{change("p", math.NaN(), json.Number("x"))}}}}
	var b strings.Builder
	if err := WriteJSON(&b, r); err == nil || b.Len() > 0 {
		t.Errorf("err is %v, and the text %s", err, b.String())
	}
}
