package export

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

func TestIndex(t *testing.T) {
	tree := newTree(t)
	b := bundle("prod/eu-1", "web/Deployment/shop/web=<1>", "db/ClusterRole//a:b=2", "g/Pod/x/y=3")
	b.Charts = []fleet.Pin{
		{Release: "db", Chart: fleet.ChartRef{Repo: "oci://r.example.com/charts", Name: "db", Version: "1.2.3", Digest: "sha256:aa"}},
		{Release: "g", Chart: fleet.ChartRef{Git: fleet.GitRef{URL: "https://example.com/a?b&c", Ref: "v1", Path: "chart"}, Digest: "sha256:bb"}},
		{Release: "web", Chart: fleet.ChartRef{Path: "charts/web", Digest: "sha256:cc"}},
	}
	mustExport(t, tree, true, b)
	want := `{
  "format": "fleetc.bundle/v1",
  "fleet": "example.com/fleet",
  "cluster": "prod/eu-1",
  "fleetcVersion": "v1.2.3",
  "kubernetesVersion": "1.36",
  "digest": "` + b.Digest + `",
  "charts": [
    {
      "release": "db",
      "repo": "oci://r.example.com/charts",
      "name": "db",
      "version": "1.2.3",
      "digest": "sha256:aa"
    },
    {
      "release": "g",
      "git": {
        "url": "https://example.com/a?b&c",
        "ref": "v1",
        "path": "chart"
      },
      "digest": "sha256:bb"
    },
    {
      "release": "web",
      "path": "charts/web",
      "digest": "sha256:cc"
    }
  ],
  "objects": [
    {
      "apiVersion": "v1",
      "kind": "Deployment",
      "namespace": "shop",
      "name": "web",
      "release": "web",
      "stage": "apps",
      "file": "web/deployment-shop-web.yaml",
      "digest": "` + digestOf([]byte(textOf("prod/eu-1", "<1>"))) + `"
    },
    {
      "apiVersion": "v1",
      "kind": "ClusterRole",
      "name": "a:b",
      "release": "db",
      "stage": "apps",
      "file": "` + FileNames(b.Objects)[1] + `",
      "digest": "` + digestOf([]byte(textOf("prod/eu-1", "2"))) + `"
    },
    {
      "apiVersion": "v1",
      "kind": "Pod",
      "namespace": "x",
      "name": "y",
      "release": "g",
      "stage": "apps",
      "file": "g/pod-x-y.yaml",
      "digest": "` + digestOf([]byte(textOf("prod/eu-1", "3"))) + `"
    }
  ]
}
`
	got, err := os.ReadFile(filepath.Join(tree.Dir, "prod/eu-1/bundle.json"))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestIndexOfNothing(t *testing.T) {
	tree := newTree(t)
	mustExport(t, tree, true, bundle("a"))
	got := files(t, tree.Dir)["a/bundle.json"]
	if !strings.Contains(got, `"charts": [],`) || !strings.Contains(got, `"objects": []`) {
		t.Errorf("got %s", got)
	}
}

func TestParseIndex(t *testing.T) {
	const head = `{"format":"fleetc.bundle/v1","fleet":"f","cluster":"c","objects":[{"file":`
	for _, c := range []struct {
		data, want string
	}{
		{``, errForeign.Error()},
		{`{}`, errForeign.Error()},
		{`[1]`, errForeign.Error()},
		{`{"format":3}`, errForeign.Error()},
		{`{"format":"other/v1"}`, errForeign.Error()},
		{`{"format":"fleetc.bundle/v2"}`, `the file has the format "fleetc.bundle/v2", but this fleetc supports fleetc.bundle/v1`},
		{"<<<<<<< HEAD\n" + head, "the file is damaged: invalid character '<' looking for beginning of value"},
		{head, "the file is damaged: unexpected end of JSON input"},
		{head + `"a/b.yaml"}]}`, ""},
		{head + `"../b.yaml"}]}`, `the file is damaged: "../b.yaml" is not a valid file of a bundle`},
		{head + `"a/../../b.yaml"}]}`, `the file is damaged: "a/../../b.yaml" is not a valid file of a bundle`},
		{head + `"/etc/b.yaml"}]}`, `the file is damaged: "/etc/b.yaml" is not a valid file of a bundle`},
		{head + `"a/b/c/d/e.yaml"}]}`, `the file is damaged: "a/b/c/d/e.yaml" is not a valid file of a bundle`},
		{head + `"b.yaml"}]}`, `the file is damaged: "b.yaml" is not a valid file of a bundle`},
		{head + `"a/b.txt"}]}`, `the file is damaged: "a/b.txt" is not a valid file of a bundle`},
		{head + `"a\\b/c.yaml"}]}`, `the file is damaged: "a\\b/c.yaml" is not a valid file of a bundle`},
		{head + `".git/c.yaml"}]}`, `the file is damaged: ".git/c.yaml" is not a valid file of a bundle`},
		{head + `""}]}`, `the file is damaged: "" is not a valid file of a bundle`},
	} {
		_, err := parseIndex([]byte(c.data))
		if got := errorText(err); got != c.want {
			t.Errorf("%s: got %q, want %q", c.data, got, c.want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func FuzzParseIndex(f *testing.F) {
	f.Add([]byte(`{"format":"fleetc.bundle/v1","fleet":"f","cluster":"c","objects":[{"file":"a/b.yaml"}]}`))
	f.Add([]byte(`{"format":"fleetc.bundle/v1","objects":[{"file":"../b.yaml"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		idx, err := parseIndex(data)
		if err != nil {
			return
		}
		for name := range idx.owned() {
			if !filepath.IsLocal(name) || strings.ContainsAny(name, "\\:") || strings.HasPrefix(name, ".") {
				t.Errorf("owns %q", name)
			}
		}
	})
}

// TestIndexFaults checks foreign and damaged files in the place of an index.
func TestIndexFaults(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
	}{
		{"other tool", `{"name":"x"}`, "a/bundle.json: the export would overwrite this file, which fleetc did not write"},
		{"not JSON", `hello`, "a/bundle.json: the export would overwrite this file, which fleetc did not write"},
		{
			"conflict", "<<<<<<<\n" + `"format":"fleetc.bundle/v1"`,
			"a/bundle.json: the file is damaged: invalid character '<' looking for beginning of value",
		},
		{
			"other fleet", `{"format":"fleetc.bundle/v1","fleet":"example.com/other","cluster":"a"}`,
			`a/bundle.json: the directory belongs to the fleet "example.com/other", not to "example.com/fleet"`,
		},
		{
			"copied", `{"format":"fleetc.bundle/v1","fleet":"example.com/fleet","cluster":"b"}`,
			`a/bundle.json: the directory is for the cluster "a", but contains the bundle of "b"`,
		},
		{
			"escape", `{"format":"fleetc.bundle/v1","fleet":"example.com/fleet","cluster":"a","objects":[{"file":"../../victim.yaml"}]}`,
			`a/bundle.json: the file is damaged: "../../victim.yaml" is not a valid file of a bundle`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := newTree(t)
			write(t, filepath.Join(tree.Dir, "a", indexFile), c.text)
			write(t, filepath.Join(filepath.Dir(tree.Dir), "victim.yaml"), "x")
			before := listing(t, filepath.Join(tree.Dir, "a"))
			_, err := export(tree, false, bundle("b", "web/Pod/x/y=1"), bundle("a", "web/Pod/x/y=1"))
			wantFaults(t, tree.Dir, err, c.want)
			if after := listing(t, filepath.Join(tree.Dir, "a")); before != after {
				t.Errorf("before %s\nafter %s", before, after)
			}
			wantFiles(t, tree.Dir)
			if _, err := os.Stat(filepath.Join(filepath.Dir(tree.Dir), "victim.yaml")); err != nil {
				t.Error(err)
			}
			// Retire ignores an index that is certainly foreign; one that may
			// be ours is a fault.
			_, err = export(tree, true, bundle("b", "web/Pod/x/y=1"))
			switch c.name {
			case "conflict", "escape":
				wantFaults(t, tree.Dir, err, c.want)
			default:
				if err != nil {
					t.Error(err)
				}
				if got := files(t, tree.Dir)["a/bundle.json"]; got != c.text {
					t.Errorf("got %q", got)
				}
			}
		})
	}
}
