package edit

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/fleetc/fleetc/compiler/deliver/export"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// TestUpdatesJSON checks that the JSON form of updates has exactly the documented fields, and
// no content of files.
func TestUpdatesJSON(t *testing.T) {
	u := &Updates{
		Written: []string{"a.cue"}, Others: []string{"rest"}, LeftOut: []LeftOut{}, Dir: "/fleet", Limit: 3, Incomplete: true,
		Groups:   []*UpdateGroup{{Name: "web", Failed: errors.New("broken"), BodyFile: "web.md", Before: map[string][]byte{"a.cue": []byte("x")}, After: load.Edits{"a.cue": []byte("y")}}},
		Branches: []PushedGroup{{Group: "web", Branch: "fleetc/update/web", Base: "main", State: export.BranchCommitted, Commit: "c0ffee"}},
	}
	got, err := json.MarshalIndent(u, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
 "written": [
  "a.cue"
 ],
 "groups": [
  {
   "name": "web",
   "title": "Update web: ",
   "updates": null,
   "files": [],
   "faults": [
    {
     "code": "FL3110",
     "at": [],
     "message": "broken",
     "clusters": []
    }
   ],
   "values": [],
   "notes": [],
   "beforeYouMerge": [],
   "rendered": {
    "summary": {
     "created": 0,
     "updated": 0,
     "deleted": 0,
     "changes": 0,
     "clusters": 0,
     "of": 0
    },
    "created": [],
    "deleted": [],
    "notCompared": [],
    "groups": []
   },
   "bodyFile": "web.md"
  }
 ],
 "branches": [
  {
   "group": "web",
   "branch": "fleetc/update/web",
   "base": "main",
   "state": "committed",
   "commit": "c0ffee"
  }
 ],
 "others": [
  "rest"
 ],
 "leftOut": []
}`
	if string(got) != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
