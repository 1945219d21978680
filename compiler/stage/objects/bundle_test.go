package objects

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

func object(rel *fleet.Release, apiVersion, kind, namespace, name string) fleet.Object {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return fleet.Object{Unstructured: u, Release: rel}
}

var (
	cluster = &fleet.Cluster{ID: "prod/eu-1", Stages: []string{"crds", "apps"}}
	crds    = &fleet.Release{Name: "zz-crds", Stage: "crds"}
	testWeb = &fleet.Release{Name: "web", Stage: "apps", Pos: diag.Pos{File: "web.cue", Line: 3}}
	db      = &fleet.Release{Name: "db", Stage: "apps"}
)

// ordered is in the order that Assemble must return.
func ordered() []fleet.Object {
	return []fleet.Object{
		object(crds, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "b"),
		object(crds, "example.com/v1", "Zebra", "", "a"),
		object(testWeb, "v1", "Namespace", "", "b"),
		object(db, "v1", "Secret", "a", "a"),
		object(testWeb, "v1", "ConfigMap", "b", "a"),
		object(db, "v1", "ConfigMap", "c", "a"),
		object(testWeb, "v1", "ConfigMap", "a", "b"),
		object(db, "apps/v1", "Deployment", "a", "z"),
		object(testWeb, "networking.k8s.io/v1", "Ingress", "a", "a"),
		object(testWeb, "apiregistration.k8s.io/v1", "APIService", "", "a"),
		object(testWeb, "example.com/v1", "Apple", "a", "a"),
		object(testWeb, "one.example.com/v1", "Pear", "a", "a"),
		object(testWeb, "two.example.com/v1", "Pear", "a", "a"),
	}
}

func assemble(c *fleet.Cluster, objs []fleet.Object, pins []fleet.Pin) (*fleet.Bundle, error) {
	return (&Assembler{Fleet: "example.com/fleet"}).Assemble(c, objs, pins)
}

// The YAML of a shared object equals that of a separate one, with any cluster
// ID.
func TestAssembleShared(t *testing.T) {
	alone, together := ordered(), ordered()
	alone[4].SetAnnotations(map[string]string{"a": "b", "z": "y"})
	together[4].SetAnnotations(map[string]string{"a": "b", "z": "y"})
	for i := range together {
		together[i].Shared = true
	}
	a := &Assembler{Fleet: "example.com/fleet"}
	for _, id := range []string{"prod/eu-1", "prod/eu-2", "0", "true", "dev/a: b", "dev/é # x", "dev/a'b"} {
		c := &fleet.Cluster{ID: id, Stages: cluster.Stages}
		want, err := assemble(c, alone, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := a.Assemble(c, together, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.Digest != want.Digest {
			t.Errorf("of %s, the digests differ", id)
		}
		for i := range want.YAML {
			text, err := Encode(want.Objects[i].Object)
			if err != nil || !got.YAML[i].Equal(text) || !want.YAML[i].Equal(text) || got.Sums[i] != sha256.Sum256(text) {
				t.Errorf("of %s, there is\n%s\nand\n%s\nwant\n%s", id, got.YAML[i], want.YAML[i], text)
			}
			if got.Objects[i].Shared {
				t.Errorf("%s says that clusters share it, with the ID of one in it", got.Objects[i].ID())
			}
		}
	}
	if reflect.DeepEqual(together, alone) {
		t.Error("nothing is shared")
	}
}

func TestAssembleOrder(t *testing.T) {
	want := ordered()
	pins := []fleet.Pin{{Release: "web"}, {Release: "db"}}
	var digest string
	for seed := range uint64(50) {
		objs := slices.Clone(want)
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(objs), func(i, j int) { objs[i], objs[j] = objs[j], objs[i] })
		given := slices.Clone(objs)
		b, err := assemble(cluster, objs, pins)
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range b.Objects {
			if o.ID() != want[i].ID() || o.Release != want[i].Release {
				t.Fatalf("seed %d: object %d is %s, want %s", seed, i, o.ID(), want[i].ID())
			}
			text, err := Encode(o.Object)
			if err != nil || !b.YAML[i].Equal(text) {
				t.Fatalf("the text of %s is\n%s (%v)", o.ID(), b.YAML[i], err)
			}
		}
		if digest == "" {
			digest = b.Digest
		}
		if b.Digest != digest {
			t.Fatalf("seed %d: digest %s, want %s", seed, b.Digest, digest)
		}
		for i := range objs {
			if !reflect.DeepEqual(objs[i], given[i]) {
				t.Fatal("Assemble reordered its argument")
			}
		}
		if b.Charts[0].Release != "db" || b.Charts[1].Release != "web" || pins[0].Release != "web" {
			t.Fatalf("pins %v, given %v", b.Charts, pins)
		}
	}
	// The digest is stored in exports and clusters: changing it changes every
	// fleet, and must be intended.
	if want := "sha256:295b3f9821f8c096ca5db0266c92da2146e5dea0958a881943a796f633505e33"; digest != want {
		t.Errorf("digest %s, want %s", digest, want)
	}
}

func TestAssembleEmpty(t *testing.T) {
	b, err := assemble(cluster, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Objects) != 0 || b.Digest != "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" {
		t.Errorf("got %d objects, digest %s", len(b.Objects), b.Digest)
	}
}

// TestDigest changes one thing at a time and wants another digest each time.
func TestDigest(t *testing.T) {
	seen := map[string]string{}
	digest := func(what string, c *fleet.Cluster, objs []fleet.Object) {
		t.Helper()
		b, err := assemble(c, objs, nil)
		if err != nil {
			t.Fatal(err)
		}
		if before, ok := seen[b.Digest]; ok {
			t.Errorf("%s has the digest of %s", what, before)
		}
		seen[b.Digest] = what
	}
	digest("the bundle", cluster, ordered())
	digest("one object less", cluster, ordered()[1:])
	digest("the stages reversed", &fleet.Cluster{Stages: []string{"apps", "crds"}}, ordered())
	objs := ordered()
	objs[4].SetLabels(map[string]string{"a": "b"})
	digest("a label", cluster, objs)
	objs = ordered()
	objs[4].Release = db
	digest("another release", cluster, objs)
	objs = ordered()
	objs[4].Release = &fleet.Release{Name: "web", Stage: "crds"}
	digest("another stage", cluster, objs)
	objs = ordered()
	objs[4].SetAPIVersion("v2")
	digest("another version", cluster, objs)
	objs = ordered()[:1]
	digest("one object", cluster, objs)
	objs[0].Release = &fleet.Release{Name: "zz-crds", Stage: "crds", Level: 1}
	digest("one object of another level", cluster, objs)
	byHelm := func(name, colour string) *fleet.Cluster {
		values := fleet.Map(map[string]*fleet.Tree{"colour": {Scalar: colour}})
		return &fleet.Cluster{Stages: cluster.Stages, Releases: []*fleet.Release{{Name: name, Stage: "apps", Delivery: fleet.ByHelm, Values: values}}}
	}
	digest("a release that Helm delivers", byHelm("app", "red"), ordered())
	digest("another value of it", byHelm("app", "blue"), ordered())
	digest("another name of it", byHelm("api", "blue"), ordered())
}

// The digest covers the chart of a release that Helm delivers, and not that of others.
func TestDigestChart(t *testing.T) {
	digest := func(by fleet.Delivery, chart string) string {
		c := &fleet.Cluster{Stages: cluster.Stages, Releases: []*fleet.Release{{Name: "web", Stage: "apps", Delivery: by, Values: fleet.Map(nil)}}}
		b, err := assemble(c, ordered(), []fleet.Pin{{Release: "web", Chart: fleet.ChartRef{Digest: chart}}})
		if err != nil {
			t.Fatal(err)
		}
		return b.Digest
	}
	if digest(fleet.ByHelm, "sha256:1") == digest(fleet.ByHelm, "sha256:2") {
		t.Error("two charts that Helm delivers give one digest")
	}
	if digest(fleet.ByManifests, "sha256:1") != digest(fleet.ByManifests, "sha256:2") {
		t.Error("two charts with the same objects give two digests")
	}
}

// The levels of a stage follow each other, independent of kinds.
func TestAssembleLevels(t *testing.T) {
	level := func(name string, n int) *fleet.Release { return &fleet.Release{Name: name, Stage: "apps", Level: n} }
	api, web, db := level("api", 2), level("web", 1), level("db", 0)
	b, err := assemble(cluster, []fleet.Object{
		object(api, "v1", "Namespace", "", "api"), object(web, "v1", "ConfigMap", "a", "web"), object(web, "v1", "Namespace", "", "web"),
		object(db, "apps/v1", "Deployment", "a", "db"), object(crds, "example.com/v1", "Zebra", "", "a"),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range b.Objects {
		got = append(got, o.ID())
	}
	want := []string{"Zebra.example.com a", "Deployment.apps a/db", "Namespace web", "ConfigMap a/web", "Namespace api"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAssembleFaults(t *testing.T) {
	lost := &fleet.Release{Name: "lost", Stage: "app", Pos: diag.Pos{File: "lost.cue", Line: 7}}
	nan := object(testWeb, "v1", "ConfigMap", "a", "nan")
	nan.Object["data"] = map[string]any{"x": math.NaN()}
	nan.Pos = diag.Pos{File: "web.cue", Line: 9}
	for _, c := range []struct {
		objs []fleet.Object
		want []string
	}{
		{[]fleet.Object{object(lost, "v1", "Pod", "a", "a")}, []string{`lost.cue:7: releases.lost.stage: the cluster has no stage "app"`}},
		{
			[]fleet.Object{object(testWeb, "v1", "Pod", "a", "a"), object(db, "v1beta1", "Pod", "a", "a")},
			[]string{"web.cue:3: Pod a/a: releases web and db both have this object"},
		},
		{[]fleet.Object{nan, object(testWeb, "v1", "Pod", "", "a")}, []string{"web.cue:9: ConfigMap a/nan: data.x: NaN is not a valid JSON number"}},
	} {
		b, err := assemble(cluster, c.objs, nil)
		var got []string
		for _, d := range diag.All(err) {
			got = append(got, d.Error())
		}
		if b != nil || !slices.Equal(got, c.want) {
			t.Errorf("got %v and %q, want %q", b, got, c.want)
		}
	}
	_, err := assemble(cluster, []fleet.Object{object(lost, "v1", "Pod", "a", "a")}, nil)
	if d, ok := errors.AsType[*diag.Diag](err); !ok || d.Hint != "did you mean apps?" {
		t.Errorf("got %#v", err)
	}
}

// A string that looks like the header of another object does not give two
// bundles the same digest.
func TestDigestFraming(t *testing.T) {
	one := object(testWeb, "v1", "ConfigMap", "a", "a")
	two := object(testWeb, "v1", "ConfigMap", "a", "b")
	both, err := assemble(cluster, []fleet.Object{one, two}, nil)
	if err != nil {
		t.Fatal(err)
	}
	one.Object["z"] = "\n" + `["apps","web","ConfigMap a/b",` + fmt.Sprint(both.YAML[1].Len()) + "]\n" + both.YAML[1].String()
	joined, err := assemble(cluster, []fleet.Object{one}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if joined.Digest == both.Digest || !strings.HasPrefix(joined.Digest, "sha256:") || len(joined.Digest) != 71 {
		t.Errorf("digests %s and %s", joined.Digest, both.Digest)
	}
}

func BenchmarkAssemble(b *testing.B) {
	objs := make([]fleet.Object, 2000)
	for i := range objs {
		objs[i] = fleet.Object{Unstructured: &unstructured.Unstructured{Object: deployment(i)}, Release: testWeb}
	}
	b.ReportAllocs()
	for b.Loop() {
		out, err := assemble(cluster, objs, nil)
		if err != nil {
			b.Fatal(err)
		}
		size := 0
		for _, text := range out.YAML {
			size += text.Len()
		}
		b.SetBytes(int64(size))
	}
}

func TestInstallOrder(t *testing.T) {
	if got := strings.Fields(installOrder); !slices.Equal(got, []string(releaseutil.InstallOrder)) {
		t.Errorf("got %v\nHelm has %v", got, releaseutil.InstallOrder)
	}
	ranks := kindRanks()
	if ranks["PriorityClass"] != 0 || ranks["APIService"] != len(ranks)-1 {
		t.Errorf("ranks %v", ranks)
	}
}
