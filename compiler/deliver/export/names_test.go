package export

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// named returns an object with any names, even invalid ones.
func named(release, apiVersion, kind, namespace, name string) fleet.Object {
	return fleet.Object{
		Release: &fleet.Release{Name: release},
		Unstructured: &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"namespace": namespace, "name": name},
		}},
	}
}

func TestFileNames(t *testing.T) {
	long := strings.Repeat("x", 250)
	for _, c := range []struct {
		name string
		objs []fleet.Object
		want []string
	}{
		{
			"plain",
			[]fleet.Object{
				named("web", "apps/v1", "Deployment", "shop", "web"), named("web", "v1", "Namespace", "", "shop"),
				named("db", "apps/v1", "Deployment", "shop", "web.v1"), named("x", "apps/v1", "Deployment", "shop", "web"),
			},
			[]string{"web/deployment-shop-web.yaml", "web/namespace-shop.yaml", "db/deployment-shop-web.v1.yaml", "x/deployment-shop-web.yaml"},
		},
		{
			"two groups",
			[]fleet.Object{named("w", "a/v1", "Ingress", "s", "x"), named("w", "b/v1", "Ingress", "s", "x"), named("w", "b/v1", "Ingress", "s", "y")},
			[]string{"w/ingress-s-x-2a66820f.yaml", "w/ingress-s-x-d9404360.yaml", "w/ingress-s-y.yaml"},
		},
		{
			"dashes",
			[]fleet.Object{named("w", "v1", "Pod", "a-b", "c"), named("w", "v1", "Pod", "a", "b-c")},
			[]string{"w/pod-a-b-c-83ebfa62.yaml", "w/pod-a-b-c-e4e4ea62.yaml"},
		},
		{
			"characters",
			[]fleet.Object{
				named("w", "v1", "ClusterRole", "", "system:node"), named("w", "v1", "ClusterRole", "", "System-node"),
				named("w", "v1", "ClusterRole", "", "../../etc/passwd"), named("w", "v1", "ClusterRole", "", "a..b."), named("w", "v1", "Ünï", "", "ö"),
			},
			[]string{
				"w/clusterrole-system_node-H.yaml", "w/clusterrole-_ystem-node-H.yaml",
				"w/clusterrole-.__.__etc_passwd-H.yaml", "w/clusterrole-a._b_-H.yaml", "w/_n_-_-H.yaml",
			},
		},
		{
			"length",
			[]fleet.Object{named("w", "v1", "Pod", "", long[:190]), named("w", "v1", "Pod", "", long[:191]), named("w", "v1", "Pod", "", long)},
			[]string{"w/pod-" + long[:190] + ".yaml", "w/pod-" + long[:181] + "-H.yaml", "w/pod-" + long[:181] + "-H.yaml"},
		},
		{
			"releases",
			[]fleet.Object{
				named("../x", "v1", "Pod", "", "a"), named("bundle.json", "v1", "Pod", "", "a"), named("Web", "v1", "Pod", "", "a"),
				named("", "v1", "Pod", "", "a"), named(".git", "v1", "Pod", "", "a"), named("a/b", "v1", "Pod", "", "a"),
			},
			[]string{
				"_._x-H/pod-a.yaml", "bundle.json-H/pod-a.yaml", "_eb-H/pod-a.yaml",
				"_-H/pod-a.yaml", "_git-H/pod-a.yaml", "a_b-H/pod-a.yaml",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := FileNames(c.objs)
			for i := range got {
				if !match(c.want[i], got[i]) {
					t.Errorf("got %s, want %s", got[i], c.want[i])
				}
			}
			checkNames(t, c.objs, got)
		})
	}
}

// match compares names; -H in the pattern stands for a dash and eight hex
// digits.
func match(pattern, name string) bool {
	before, after, ok := strings.Cut(pattern, "-H")
	if !ok || len(name) < len(before)+9 {
		return pattern == name
	}
	return strings.HasPrefix(name, before+"-") && name[len(before)+9:] == after
}

// TestFileNamesOfSuffixes checks a suffixed name that equals another object's
// own name.
func TestFileNamesOfSuffixes(t *testing.T) {
	objs := []fleet.Object{named("w", "v1", "Pod", "a-b", "c"), named("w", "v1", "Pod", "a", "b-c")}
	taken := strings.TrimSuffix(strings.TrimPrefix(FileNames(objs)[0], "w/pod-"), ".yaml")
	objs = append(objs, named("w", "v1", "Pod", "", taken))
	got := FileNames(objs)
	checkNames(t, objs, got)
	if len(got[2]) != len("w/pod-.yaml")+len(taken)+9 {
		t.Errorf("got %q", got)
	}
}

// TestFileNamesOfEqualHashes checks names whose hashes have the same prefix.
func TestFileNamesOfEqualHashes(t *testing.T) {
	objs := []fleet.Object{named("w", "v1", "Pod", "", "TMGBAA"), named("w", "v1", "Pod", "", "PZKHAA"), named("w", "v1", "Pod", "", "PZKHAB")}
	got := FileNames(objs)
	checkNames(t, objs, got)
	if len(got[0]) != len("w/pod-______-.yaml")+64 || len(got[2]) != len("w/pod-______-.yaml")+8 {
		t.Errorf("got %q", got)
	}
}

// checkNames checks that names are unique, valid and independent of the order.
func checkNames(t *testing.T, objs []fleet.Object, names []string) {
	t.Helper()
	seen := map[string]string{}
	byID := map[string]string{}
	for i, name := range names {
		id := objs[i].Release.Name + "\x00" + objs[i].ID()
		if other, ok := seen[strings.ToLower(name)]; ok && other != id {
			t.Fatalf("%q and %q are both %s", other, id, name)
		}
		seen[strings.ToLower(name)] = id
		byID[id] = name
		if !isValidFileName(name) || strings.Contains(name, "..") || strings.Count(name, "/") != 1 || len(path.Base(name)) > 199 || len(path.Dir(name)) > 199 {
			t.Fatalf("%q is no good name", name)
		}
	}
	shuffled := slices.Clone(objs)
	rand.New(rand.NewPCG(1, uint64(len(objs)))).Shuffle(len(objs), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	for i, name := range FileNames(shuffled) {
		if want := byID[shuffled[i].Release.Name+"\x00"+shuffled[i].ID()]; name != want {
			t.Fatalf("in another order %s is %s", want, name)
		}
	}
}

func FuzzFileNames(f *testing.F) {
	f.Add("Pod a-b c Pod a b-c", "w")
	f.Add("Deployment shop web deployment shop web POD .. ../..", "w/..")
	f.Add("Pod a-b c Pod a b-c pod a b-c-83ebfa62", "")
	f.Add(strings.Repeat("x", 300)+" a b "+strings.Repeat("x", 301)+" a b", "bundle.json")
	f.Add("\xff\x00 \\ : .a . ..", ".")
	f.Fuzz(func(t *testing.T, words, release string) {
		parts := strings.Split(words, " ")
		var objs []fleet.Object
		seen := map[string]bool{}
		for i := 0; i+2 < len(parts) && i < 60; i += 3 {
			for _, rel := range []string{release, "w"} {
				o := named(rel, fmt.Sprintf("g%d/v1", len(parts[i])%2), parts[i], parts[i+1], parts[i+2])
				if id := rel + "\x00" + o.ID(); !seen[id] {
					seen[id] = true
					objs = append(objs, o)
				}
			}
		}
		checkNames(t, objs, FileNames(objs))
	})
}
