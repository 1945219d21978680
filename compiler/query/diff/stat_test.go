package diff

import (
	"strings"
	"testing"
)

func TestStat(t *testing.T) {
	part := change("p", 1, 2)
	part.Partial = true
	for _, test := range []struct {
		r    Result
		want string
	}{
		{Result{Summary: Summary{Of: 2}}, "no differences in 2 clusters\n"},
		{Result{NotCompared: []string{"b"}}, "CLUSTER   CREATED   UPDATED   DELETED\n! b       not compared\n\n1 cluster not compared\n"},
		{Result{Deleted: []WholeCluster{{"b", 2}}}, "CLUSTER   CREATED   UPDATED   DELETED\n- b       0         0         2\n\n1 cluster deleted\n"},
		// An object in two groups counts once.
		{
			Result{
				Groups:  []Group{{[]string{"a", "b"}, []Change{part}}, {[]string{"a"}, []Change{part, {ID: "A n/b", Action: Create}, {ID: "C", Action: Delete}}}},
				Summary: Summary{Created: 1, Updated: 1, Deleted: 1, Changes: 4, Clusters: 2, Of: 2},
			},
			"CLUSTER   CREATED   UPDATED   DELETED\na         1         1         1\nb         0         1         0\n\n1 object created, 1 updated, 1 deleted in 2 of 2 clusters\n",
		},
	} {
		var b strings.Builder
		if err := WriteStat(&b, test.r); err != nil || b.String() != test.want {
			t.Errorf("got\n%s%v\nwant\n%s", b.String(), err, test.want)
		}
	}
}

func TestMarkdownOfManyWholeClusters(t *testing.T) {
	var r Result
	for range 1000 {
		r.Created = append(r.Created, WholeCluster{strings.Repeat("long/", 20), 7})
	}
	_, out, _ := checkWritten(t, r, Style{})
	if n := strings.Count(out, "+ cluster"); n != 100 || !strings.Contains(out, "... 900 more lines\n```\n") {
		t.Errorf("%d of 1000 lines, and it ends with %s", n, out[len(out)-60:])
	}
}
