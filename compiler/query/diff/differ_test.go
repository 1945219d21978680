package diff

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// cluster returns the exported objects of a cluster of the example fleet.
func cluster(t *testing.T, id string) []fleet.Object {
	t.Helper()
	var out []fleet.Object
	err := filepath.WalkDir("../../../testdata/golden/"+id, func(file string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		out = append(out, objects(t, string(text))...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRealObjects compares clusters of the example, and applies the changes.
func TestRealObjects(t *testing.T) {
	ids := []string{"dev/alice", "prod/eu/central-1", "prod/us/east-1", "staging/main"}
	all := map[string][]fleet.Object{}
	for _, id := range ids {
		all[id] = cluster(t, id)
	}
	updated := 0
	for _, from := range ids {
		for _, to := range ids {
			changes := Objects(all[from], all[to], key)
			if (from == to) != (len(changes) == 0) {
				t.Errorf("from %s to %s: %d changes", from, to, len(changes))
			}
			for _, c := range changes {
				var before, after any
				for _, o := range all[from] {
					if o.ID() == c.ID {
						before, _ = mask(o.Object, key)
					}
				}
				for _, o := range all[to] {
					if o.ID() == c.ID {
						after, _ = mask(o.Object, key)
					}
				}
				if c.Action == Update {
					updated++
					before, _ = reveal(before)
					after, _ = reveal(after)
					if got := applied(t, before, c.Fields); !equal(got, after) {
						t.Errorf("%s from %s to %s: the changes are not complete:\n%s", c.ID, from, to, short(c.Fields))
					}
				}
			}
		}
	}
	if updated < 100 {
		t.Errorf("only %d objects differ", updated)
	}
}

func TestDeepObjects(t *testing.T) {
	var before, after any = "a", "b"
	for i := range 9000 {
		if i%2 == 0 {
			before, after = []any{before, i}, []any{after, i}
		} else {
			before, after = map[string]any{"k": before}, map[string]any{"k": after}
		}
	}
	changes := Objects(object(before), object(after), key)
	if n := len(changes[0].Fields); n != 1 {
		t.Fatalf("%d changes", n)
	}
	f := changes[0].Fields[0]
	if n := strings.Count(f.Path, "[") + strings.Count(f.Path, ".k"); n != maxDepth-1 {
		t.Errorf("the path has %d steps", n)
	}
	if got := applied(t, object(before)[0].Object, changes[0].Fields); !equal(got, any(object(after)[0].Object)) {
		t.Error("the changes do not make what is after")
	}
	var g Grouper
	g.Add("a", slices.Concat(changes, Objects(nil, object(after), key)))
	text, markdown, _ := checkWritten(t, g.Result(), Style{Content: true})
	if len(text) > 100_000 || len(markdown) > 100_000 {
		t.Errorf("%d and %d bytes", len(text), len(markdown))
	}
}

// liveResult is the comparison of two running clusters with their fleet.
func liveResult() Result {
	conflict := Change{
		ID: "ConfigMap web/web", Action: Update, Release: "web", Live: Live{Reason: "conflict"},
		Fields: []FieldChange{{Path: "data.colour", Before: "red", After: "blue", HasBefore: true, HasAfter: true, Manager: "kubectl-edit"}},
	}
	predicted := conflict
	predicted.Live.Predicted = true
	var g Grouper
	g.Add("dev/a", []Change{
		conflict,
		{ID: "Secret web/web", Action: Unknown, Release: "web", Live: Live{Reason: "unknown", Why: "the user is not allowed to get secrets in web"}},
		{ID: "Service web/web", Action: Update, Release: "web", Live: Live{Reason: "conflict", Why: "helm created it"}},
	})
	g.Add("dev/b", []Change{predicted})
	r := g.Result()
	r.Predicted = []Prediction{{Why: "the user is not allowed to patch <@them>", Clusters: []string{"dev/b"}, Objects: 7}}
	return r
}

func TestLiveText(t *testing.T) {
	var b strings.Builder
	if err := WriteText(&b, liveResult(), Style{}); err != nil {
		t.Fatal(err)
	}
	const want = `in dev/a
  ~ ConfigMap web/web (release web)
    ~ data.colour (kubectl-edit has it): red -> blue
  ! Secret web/web (release web, the user is not allowed to get secrets in web)
  ~ Service web/web (release web, helm created it)

in dev/b
  ~ ConfigMap web/web (release web, predicted)
    ~ data.colour (kubectl-edit has it): red -> blue

compared without a dry run: 7 objects in dev/b: the user is not allowed to patch <@them>
2 objects updated, 1 unknown in 2 of 2 clusters
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func TestLiveMarkdown(t *testing.T) {
	var b strings.Builder
	if err := WriteMarkdown(&b, liveResult(), Style{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\n<code>compared without a dry run: 7 objects in dev/b: the user is not allowed to patch &#60;&#64;them&#62;</code>\n",
		"\n! Secret web/web (release web, the user is not allowed to get secrets in web)\n",
		"\n- data.colour (kubectl-edit has it): red\n+ data.colour (kubectl-edit has it): blue\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestLiveGitHub(t *testing.T) {
	r := liveResult()
	r.Predicted[0].Why = "\n::error::boo"
	var b strings.Builder
	if err := WriteGitHub(&b, r, Style{}); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(b.String(), `compared without a dry run: 7 objects in dev/b: \n::error::boo`+"\n::notice") {
		t.Errorf("got\n%s", b.String())
	}
}

func TestLiveJSON(t *testing.T) {
	var b strings.Builder
	if err := WriteJSON(&b, liveResult()); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Summary   struct{ Unknown int }
		Predicted []struct {
			Why      string
			Clusters []string
			Objects  int
		}
		Groups []struct {
			Changes []struct {
				ID, Action, Reason, Why, Compared string
				Fields                            []struct{ Manager string }
			}
		}
	}
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	if got.Summary.Unknown != 1 || len(got.Predicted) != 1 || got.Predicted[0].Objects != 7 {
		t.Errorf("got %s", b.String())
	}
	var lines []string
	for _, g := range got.Groups {
		for _, c := range g.Changes {
			line := strings.Join([]string{c.ID, c.Action, c.Reason, c.Compared, c.Why}, "|")
			for _, f := range c.Fields {
				line += "|" + f.Manager
			}
			lines = append(lines, line)
		}
	}
	const want = `ConfigMap web/web|update|conflict|dry-run||kubectl-edit
Secret web/web|unknown|unknown||the user is not allowed to get secrets in web
Service web/web|update|conflict|dry-run|helm created it
ConfigMap web/web|update|conflict|predicted||kubectl-edit`
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
