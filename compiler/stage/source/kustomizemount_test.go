package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// archiveFiles are the files of an archive.
type archiveFiles map[string][]byte

func (a archiveFiles) IsDir(name string) bool {
	for file := range a {
		if name == "." || strings.HasPrefix(file, name+"/") {
			return true
		}
	}
	return false
}

func (a archiveFiles) Read(name string) ([]byte, error) {
	if data, ok := a[name]; ok {
		return data, nil
	}
	return nil, fs.ErrNotExist
}

// remotePlaces returns remotes for addresses of the form https://PLACE#PATH,
// where each place is a directory of the archive.
func remotePlaces(archive string) KustomizeRemotes {
	places := map[string]archiveFiles{}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		place, name, _ := strings.Cut(f.Name, "/")
		if places[place] == nil {
			places[place] = archiveFiles{}
		}
		places[place][name] = f.Data
	}
	return func(_ context.Context, address string) (*fleet.RemoteFiles, error) {
		place, name, _ := strings.Cut(strings.TrimPrefix(address, "https://"), "#")
		if place == "broken" {
			return nil, &diag.Diag{Msg: "the server is away", Hint: "wait"}
		}
		if places[place] == nil {
			return nil, nil
		}
		return &fleet.RemoteFiles{Name: "https://example.com/" + place + ".git@v1", Path: name, Files: places[place]}, nil
	}
}

const remoteFiles = `
-- a/app/kustomization.yaml --
resources: [../lib, "https://b#x.yaml"]
configMapGenerator: [{name: c, files: [data/f.txt]}]
-- a/app/data/f.txt --
text
-- a/lib/kustomization.yaml --
resources: ["https://b#deep"]
commonLabels: {from: a}
-- b/x.yaml --
apiVersion: v1
kind: ServiceAccount
metadata: {name: x}
-- b/deep/kustomization.yaml --
resources: [y.yaml]
-- b/deep/y.yaml --
apiVersion: v1
kind: ServiceAccount
metadata: {name: y}
-- b/component/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
nameSuffix: -c
`

// TestRemote compares builds with remote bases, files and components with
// builds of copies.
func TestRemote(t *testing.T) {
	local := `
-- app/kustomization.yaml --
namePrefix: p-
resources: ["https://a#app"]
components: ["https://b#component"]
patches: [{target: {kind: ServiceAccount, name: x}, patch: '[{"op": "add", "path": "/secrets", "value": [{"name": "s"}]}]'}]
`
	objs, reads, err := BuildKustomization(t.Context(), unpack(t, []byte(local)), "app", release(), KustomizeInputs{Remotes: remotePlaces(remoteFiles)})
	if err != nil {
		t.Fatal(faults(t, err))
	}
	if !slices.Equal(reads, []string{"app/kustomization.yaml"}) {
		t.Errorf("reads %v", reads)
	}
	copies := strings.NewReplacer("https://a#", "../a/", "https://b#", "../b/").Replace(local) +
		strings.NewReplacer("https://b#", "../../b/").Replace(remoteFiles)
	want := plain(t, filepath.Join(unpack(t, []byte(copies)), "app"))
	if got := contents(objs); len(got) != 3 || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nkustomize builds %v", got, want)
	}
}

// TestRemoteFaults tests that remote bases cannot read other files, and that
// invalid addresses are faults at the user's line.
func TestRemoteFaults(t *testing.T) {
	const remoteFile = "    hint: use another version of it, or copy it into the fleet and correct it there\n"
	for name, test := range map[string]struct{ local, remote, want string }{
		"not pinned":    {"resources: ['https://none#x']", "", "app/kustomization.yaml:1:13: releases.web.kustomize: https://none#x is remote, and not pinned [FL1404]\n" + at + "    hint: run fleetc source add app, which pins it\n"},
		"away":          {"resources: ['https://broken#x']", "", "app/kustomization.yaml:1:13: releases.web.kustomize: the server is away\n" + at + "    hint: wait\n"},
		"no such path":  {"resources: ['https://a#none']", "-- a/x --\n", "https://a#none: example.com_a@v1 does not have it"},
		"into fleet":    {"resources: ['https://a#app']", "-- a/app/kustomization.yaml --\nresources: [../../../secret.yaml]\n", "../../../secret.yaml is outside of the repository of this base"},
		"file of fleet": {"resources: ['https://a#app']", "-- a/app/kustomization.yaml --\nconfigMapGenerator: [{name: a, files: [../../../secret.yaml]}]\n", "../../../secret.yaml is outside of the repository of this base"},
		"other place":   {"resources: ['https://b#b', 'https://a#app']", "-- b/b/kustomization.yaml --\nnamePrefix: a\nresources: [x.yaml]\n-- b/b/x.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n-- a/app/kustomization.yaml --\nresources: [../../example.com_b@v1/b]\n", "../../example.com_b@v1/b is outside of the repository of this base"},
		"by its place":  {"resources: ['https://a#x.yaml', ../fleetc-remote/example.com_a@v1/y.yaml]", "-- a/x.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n-- a/y.yaml --\n{}\n", "../fleetc-remote/example.com_a@v1/y.yaml is outside of the fleet's directory"},
		"not YAML":      {"resources: ['https://a#x.yaml']", "-- a/x.yaml --\nkind: [\n", "did not find expected node content [FL1403]\n" + at + remoteFile},
		"missing there": {"resources: ['https://a#app']", "-- a/app/kustomization.yaml --\nresources: [x.yaml]\n", "x.yaml does not exist [FL1405]\n" + at + remoteFile},
		"component":     {"components: ['https://a#app']", "-- a/app/kustomization.yaml --\nnamePrefix: a\n", "is not a component [FL1403]"},
		"patch":         {"resources: [../secret.yaml]\npatches: [{path: 'https://a#x.yaml'}]", "-- a/x.yaml --\n{}\n", "https://a#x.yaml is remote, and a build fetches nothing"},
		"itself":        {"resources: ['https://a#app']", "-- a/app/kustomization.yaml --\nresources: ['https://a#app']\n", "kustomizations include each other"},
		"chart":         {"resources: ['https://a#app']", "-- a/app/kustomization.yaml --\nhelmCharts: [{name: a}]\n", "this kustomization renders a Helm chart [FL1403]"},
	} {
		local := "-- app/kustomization.yaml --\n" + test.local + "\n-- secret.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: secret}}\n"
		objs, _, err := BuildKustomization(t.Context(), unpack(t, []byte(local)), "app", release(), KustomizeInputs{Remotes: remotePlaces(test.remote)})
		if err == nil || len(objs) > 0 {
			t.Errorf("%s: no fault", name)
		} else if got := faults(t, err); !strings.Contains(got, test.want) {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}

// TestEndlessRemotes has an endless chain of remote bases.
func TestEndlessRemotes(t *testing.T) {
	n := 0
	endless := func(_ context.Context, _ string) (*fleet.RemoteFiles, error) {
		if n++; n > 10*maxRemotes {
			return nil, errors.New("no end")
		}
		text := fmt.Sprintf("resources: ['https://a/%d']\n", n)
		return &fleet.RemoteFiles{Name: fmt.Sprint("https://a/", n), Path: ".", Files: archiveFiles{"kustomization.yaml": []byte(text)}}, nil
	}
	root := unpack(t, []byte("-- app/kustomization.yaml --\nresources: ['https://a/0']\n"))
	_, _, err := BuildKustomization(t.Context(), root, "app", release(), KustomizeInputs{Remotes: endless})
	if got := faults(t, err); n > maxRemotes || !strings.Contains(got, "more than 100 remote addresses in one kustomization") {
		t.Errorf("%d were followed:\n%s", n, got)
	}
}
