package apply

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestAddRevision(t *testing.T) {
	tests := []struct {
		name, applied string // bundles, one letter each
		most          int
		want          string // number, bundle, number of applies, and earlier numbers
	}{
		{"first", "A", 0, "1A1[]"},
		{"distinct", "ABC", 0, "1A1[] 2B1[] 3C1[]"},
		{"repairs are one revision", "AABBB", 0, "1A2[] 2B3[]"},
		{"a bundle comes back", "ABA", 0, "2B1[] 3A2[1]"},
		{"a bundle comes back twice", "ABABA", 0, "4B2[2] 5A3[1 3]"},
		{"a repair after it came back", "ABAA", 0, "2B1[] 3A3[1]"},
		{"repairs do not count towards the limit", "ABBBBBBBBBBB", 2, "1A1[] 2B11[]"},
		{"the limit is on bundles", "ABACADD", 3, "4C1[] 5A3[1 3] 6D2[]"},
		{"one bundle", "ABB", 1, "2B2[]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var history []Revision
			start := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
			for i, bundle := range strings.Split(tt.applied, "") {
				number := 0
				history, number = addRevision(history, Revision{Bundle: bundle, Time: start.Add(time.Duration(i) * time.Minute), By: "ann", Tool: "1"}, tt.most)
				if newest := history[len(history)-1]; newest.Number != number || newest.Bundle != bundle {
					t.Fatalf("apply %d is revision %d, and the newest is %d of %s", i, number, newest.Number, newest.Bundle)
				}
			}
			var got []string
			for _, r := range history {
				got = append(got, fmt.Sprintf("%d%s%d%v", r.Number, r.Bundle, r.Count(), r.Folded))
				if applies := r.AllApplies(); len(applies) != min(r.Count(), maxApplies) {
					t.Errorf("revision %d lists %d of %d applies", r.Number, len(applies), r.Count())
				}
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got %s, want %s", strings.Join(got, " "), tt.want)
			}
			newest := history[len(history)-1]
			if last := newest.LastApply().Time; last != start.Add(time.Duration(len(tt.applied)-1)*time.Minute) {
				t.Errorf("the last apply of the newest was at %s", last)
			}
		})
	}
}

// Earlier fleetc versions wrote one revision per apply in format 1.
const earlierInventory = `{"format":1,"fleet":"f","cluster":"c","uid":"u","bundle":"A","stages":{},"releases":{},"objects":[],"history":[
{"number":3,"bundle":"A","commit":"c1","time":"2026-11-20T10:00:00Z","by":"ann","tool":"1","created":2,"changed":0,"pruned":0,"parts":[["bundle-0123456789abcdef0123456789abcdef"]]},
{"number":4,"bundle":"A","commit":"c1","time":"2026-11-20T11:00:00Z","by":"bob","tool":"1","created":0,"changed":1,"pruned":0,"parts":[["bundle-0123456789abcdef0123456789abcdef"]]},
{"number":5,"bundle":"B","time":"2026-11-20T12:00:00Z","by":"ann","tool":"1","created":0,"changed":1,"pruned":0,"parts":[["bundle-0123456789abcdef0123456789abcdef"]]},
{"number":6,"bundle":"A","time":"2026-11-20T13:00:00Z","by":"ann","tool":"2","rollback":4,"created":0,"changed":1,"pruned":0,"parts":[["bundle-0123456789abcdef0123456789abcdef"]]}]}`

func TestEarlierHistory(t *testing.T) {
	v, err := decodeInventory([]byte(earlierInventory))
	if err != nil {
		t.Fatal(err)
	}
	if len(v.History) != 2 || v.Current() == nil || v.Current().Number != 6 {
		t.Fatalf("the history is %+v", v.History)
	}
	a := v.History[1]
	var who []string
	for _, one := range a.AllApplies() {
		who = append(who, one.By+one.Tool)
	}
	if a.Count() != 3 || !reflect.DeepEqual(a.Folded, []int{3, 4}) || strings.Join(who, " ") != "ann1 bob1 ann2" || a.Rollback != 4 {
		t.Errorf("the folded revision is %+v", a)
	}
	if to, err := v.Revision(0); err != nil || to.Number != 5 {
		t.Errorf("the previous bundle is that of revision %d, %v", to.Number, err)
	}
	if to, err := v.Revision(4); err != nil || to.Number != 6 {
		t.Errorf("the bundle of revision 4 is that of revision %d, %v", to.Number, err)
	}
	next, number := addRevision(v.History, Revision{Bundle: "A"}, 10)
	if number != 6 || len(next) != 2 || next[1].Count() != 4 {
		t.Errorf("after a repair: revision %d, %+v", number, next)
	}
}
