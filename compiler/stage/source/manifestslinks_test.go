//go:build unix

package source

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestLinksInDirectory(t *testing.T) {
	root := unpackManifests(t, "-- app/x.yaml --\n{apiVersion: v1, kind: A, metadata: {name: a}}\n-- other/y.yaml --\n{apiVersion: v1, kind: A, metadata: {name: b}}\n")
	link := func(links ...string) {
		t.Helper()
		for i := 0; i < len(links); i += 2 {
			if err := os.Symlink(links[i+1], filepath.Join(root, links[i])); err != nil {
				t.Fatal(err)
			}
		}
	}
	link("app/other", "../other", "app/z.yml", "../other/y.yaml", "app/broken", "no")
	objs, _, err := ReadManifests(root, "app", manifestRelease())
	if ids(objs) != "A b app/other/y.yaml:1:1, A a app/x.yaml:1:1, A b app/z.yml:1:1" || err != nil {
		t.Error(ids(objs), err)
	}
	link("app/back", ".", "app/broken.yaml", "no", "app/passwd", "/etc/passwd", "app/up", "../..")
	if err := syscall.Mkfifo(filepath.Join(root, "app/pipe.yaml"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, _, err = ReadManifests(root, "app", manifestRelease())
	want := "app/back: releases.web.manifests: a link that leads back to app [FL1405]\n" + manifestAt + "    hint: remove it\n" +
		"app/broken.yaml: releases.web.manifests: a broken link [FL1405]\n" + manifestAt + "    hint: remove it\n" +
		"app/passwd: releases.web.manifests: is outside of the fleet's directory [FL1405]\n" + manifestAt + unread +
		"app/pipe.yaml: releases.web.manifests: is not a file [FL1405]\n" + manifestAt + unread +
		"app/up: releases.web.manifests: is outside of the fleet's directory [FL1405]\n" + manifestAt + unread
	if got := faults(t, err); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
