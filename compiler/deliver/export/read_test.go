package export

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

func TestClusters(t *testing.T) {
	tree := newTree(t)
	if ids, err := tree.Clusters(); ids != nil || err != nil {
		t.Fatalf("no tree gives %v, %v", ids, err)
	}
	mustExport(t, tree, true, bundle("prod/eu-1", "web/Deployment/shop/web=1"), bundle("dev", "web/Deployment/shop/web=1"))
	other := *tree
	other.Fleet = "example.com/other"
	mustExport(t, &other, false, bundle("theirs", "web/Deployment/shop/web=1"))
	for name, text := range map[string]string{
		"foreign": `{"bundle": 1}`, "moved": `{"format": "fleetc.bundle/v1", "fleet": "` + tree.Fleet + `", "cluster": "elsewhere"}`,
		"damaged": `{"format": "fleetc.bundle/v1", "fleet": `, ".git": `{"format": "fleetc.bundle/v1", "fleet": `,
	} {
		file := filepath.Join(tree.Dir, name, "bundle.json")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ids, err := tree.Clusters()
	if err != nil || !slices.Equal(ids, []string{"damaged", "dev", "prod/eu-1"}) {
		t.Errorf("got %v, %v", ids, err)
	}
	if _, err := tree.Objects("damaged"); err == nil {
		t.Error("a damaged bundle.json is not a fault")
	}
}

func TestObjects(t *testing.T) {
	tree := newTree(t)
	if objs, err := tree.Objects("dev"); objs != nil || err != nil {
		t.Fatalf("no tree gives %v, %v", objs, err)
	}
	b := bundle("dev", "web/Deployment/shop/web=1", "db/Secret/shop/db=3")
	b.YAML[0] = fleet.Text{[]byte("apiVersion: v1\nkind: Deployment\nmetadata:\n  name: web\n  namespace: shop\nspec:\n  replicas: 2\n  share: 1.5\n")}
	b.YAML[1] = fleet.Text{[]byte("apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\n  namespace: shop\n")}
	mustExport(t, tree, true, b)
	objs, err := tree.Objects("dev")
	if err != nil || len(objs) != 2 {
		t.Fatalf("got %v, %v", objs, err)
	}
	spec := objs[0].Object["spec"].(map[string]any)
	if objs[0].ID() != b.Objects[0].ID() || objs[0].Release.Name != "web" || spec["replicas"] != int64(2) || spec["share"] != 1.5 {
		t.Errorf("got %v of %v", objs[0].Object, objs[0].Release)
	}
	if objs, err := tree.Objects("other"); objs != nil || err != nil {
		t.Errorf("another cluster gives %v, %v", objs, err)
	}
	file := filepath.Join(tree.Dir, "dev/web/deployment-shop-web.yaml")
	for name, spoil := range map[string]func() error{
		"no object": func() error { return os.WriteFile(file, []byte("- a\n"), 0o644) },
		"missing":   func() error { return os.Remove(file) },
		"no file":   func() error { return os.Mkdir(file, 0o755) },
	} {
		if err := os.RemoveAll(file); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if name == "no file" {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if _, err := tree.Objects("dev"); err == nil || !strings.Contains(err.Error(), "deployment-shop-web.yaml: ") {
			t.Errorf("%s gives %v", name, err)
		}
	}
}
